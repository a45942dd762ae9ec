package console

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// interrupted is the cause with which a signal ends the context.
type interrupted struct{ signal os.Signal }

func (i *interrupted) Error() string { return "interrupted by a signal: " + i.signal.String() }

// exitCode is that of a process which the signal ended, as shells count it.
func (i *interrupted) exitCode() int {
	if s, ok := i.signal.(syscall.Signal); ok {
		return 128 + int(s)
	}
	return exitInterrupted
}

// Notified is a context that the first interrupt ends; a second one ends the process.
func Notified(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		select {
		case s := <-signals:
			signal.Stop(signals)
			cancel(&interrupted{s})
		case <-ctx.Done():
			signal.Stop(signals)
		}
	}()
	return ctx, func() { cancel(nil) }
}
