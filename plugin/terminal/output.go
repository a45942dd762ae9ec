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

// Output is standard output. It keeps its first write error, so that a command can finish its work and report the error at
// the end.
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

// Err returns the first write error. A closed pipe is not an error, because its reader wants no more output.
func (o *Output) Err() error {
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

// Unwrap returns the stream of an Output, and any other writer itself.
func Unwrap(w io.Writer) io.Writer {
	if o, ok := w.(*Output); ok {
		return o.Out
	}
	return w
}

// IgnoreSIGPIPE lets a command that writes to the cluster finish its work if nobody reads its output any more. Otherwise the
// signal ends a process that writes to a closed pipe.
func IgnoreSIGPIPE() {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
}
