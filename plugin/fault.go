package plugin

import (
	"context"
	"fmt"
	"os"
	"runtime/debug"

	"github.com/akash-net/kubectl-akash-net/lease/parallel"
	"github.com/akash-net/kubectl-akash-net/plugin/terminal"
)

// debugVariable is the environment variable that adds the trace to the report of a fault.
const debugVariable = "AKASH_NET_DEBUG"

// abandonable does work that nothing can interrupt, such as the parsing of a large document. When the
// context ends it is left to itself. A panic goes on in the caller's goroutine.
func abandonable[T any](ctx context.Context, work func() (T, error)) (T, error) {
	type outcome struct {
		value T
		err   error
		// fault is a panic of the work.
		fault error
	}
	done := make(chan outcome, 1)
	go func() {
		var o outcome
		o.fault = parallel.Guard(func() error {
			o.value, o.err = work()
			return nil
		})
		done <- o
	}()
	select {
	case o := <-done:
		if o.fault != nil {
			panic(o.fault)
		}
		return o.value, o.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

// report tells of a panic: one sentence, and what whoever mends it has to know.
func (c *console) report(recovered any) int {
	c.view.flush()
	f, ok := recovered.(*parallel.FaultError)
	if !ok {
		f = &parallel.FaultError{Value: recovered, Trace: debug.Stack()}
	}
	info := versionOf()
	fmt.Fprintf(c.ErrOut, "Error: this is a fault of kubectl akash-net, and not of its input: %s\n", terminal.OneLine(fmt.Sprint(f.Value), 1000))
	fmt.Fprintf(c.ErrOut, "Please report it, with this text and what you typed, at https://github.com/akash-net/kubectl-akash-net/issues (version %s, %s, %s).\n",
		info.Version, info.GoVersion, info.Platform)
	if os.Getenv(debugVariable) != "" {
		fmt.Fprintf(c.ErrOut, "%s", f.Trace)
	} else {
		fmt.Fprintf(c.ErrOut, "With the environment variable %s=1 the command prints where it failed.\n", debugVariable)
	}
	return exitFailed
}
