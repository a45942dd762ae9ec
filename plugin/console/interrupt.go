package console

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// interrupted is the cause of a context that a signal has canceled.
type interrupted struct{ signal os.Signal }

func (i *interrupted) Error() string { return "interrupted by a signal: " + i.signal.String() }

// exitCode returns 128 plus the signal's number, the exit code that shells use.
func (i *interrupted) exitCode() int {
	if s, ok := i.signal.(syscall.Signal); ok {
		return 128 + int(s)
	}
	return exitInterrupted
}

// NotifyContext returns a context that the first interrupt cancels, or the end of the terminal. A second interrupt ends the process.
func NotifyContext(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
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
