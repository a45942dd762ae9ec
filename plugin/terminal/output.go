package terminal

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// Output is standard output. It remembers why it could not be written, for commands that go on with their work all the
// same and tell it in the end.
type Output struct {
	Out io.Writer

	mu     sync.Mutex
	failed error
}

func (o *Output) Write(p []byte) (int, error) {
	n, err := o.Out.Write(p)
	if err != nil {
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.failed == nil {
			o.failed = err
		}
	}
	return n, err
}

// Lost is why something that the command has told is lost. Whoever closed a pipe wants no more of it, and that is no error.
func (o *Output) Lost() error {
	if o == nil {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.failed == nil || errors.Is(o.failed, syscall.EPIPE) {
		return nil
	}
	return fmt.Errorf("the work was completed, but standard output cannot be written: %w", o.failed)
}

// Plain is the stream itself, for other programs and for questions about terminals.
func Plain(w io.Writer) io.Writer {
	if o, ok := w.(*Output); ok {
		return o.Out
	}
	return w
}

// OutliveReaders lets a command that writes to the cluster finish its work when nobody reads its output any more. A process
// that writes to a broken pipe is ended by a signal otherwise, as those are that only print.
func OutliveReaders() {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
}
