package console

import (
	"fmt"
	"os"
	"runtime/debug"

	"github.com/akash-net/kubectl-akash-net/lease/parallel"
	"github.com/akash-net/kubectl-akash-net/plugin/terminal"
	"github.com/akash-net/kubectl-akash-net/plugin/version"
)

// debugVariable is the environment variable that adds the stack trace to the report of a panic.
const debugVariable = "AKASH_NET_DEBUG"

// ReportPanic prints a panic and how to report it, and returns the exit code.
func (c *Console) ReportPanic(recovered any) int {
	c.view.flush()
	f, ok := recovered.(*parallel.FaultError)
	if !ok {
		f = &parallel.FaultError{Value: recovered, Trace: debug.Stack()}
	}
	info := version.Of()
	fmt.Fprintf(c.ErrOut, "Error: this is a fault of kubectl akash-net, and not of its input: %s\n"+
		"Please report it, with this text and what you typed, at https://github.com/akash-net/kubectl-akash-net/issues "+
		"(version %s, %s, %s).\n",
		terminal.OneLine(fmt.Sprint(f.Value), 1000), info.Version, info.GoVersion, info.Platform)
	if os.Getenv(debugVariable) != "" {
		fmt.Fprintf(c.ErrOut, "%s", f.Trace)
	} else {
		fmt.Fprintf(c.ErrOut, "With the environment variable %s=1 the command prints where it failed.\n", debugVariable)
	}
	return exitFailed
}
