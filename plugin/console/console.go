// Package console is where a command tells what it does: events, errors with their exit codes, and what a terminal shows
// of leases.
package console

import (
	"context"
	"fmt"
	"io"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/akash-net/kubectl-akash-net/plugin/files"
	"github.com/akash-net/kubectl-akash-net/plugin/terminal"
)

// Console is where a command is told what to do and tells what it did, and what its last words are chosen by.
type Console struct {
	genericiooptions.IOStreams
	// Stdin is standard input itself, which may be a terminal; In reads it until the command is interrupted.
	Stdin io.Reader
	// People is standard output where it is for people, and not data.
	People io.Writer
	// out is standard output, which remembers why it could not be written.
	out *terminal.Output
	// CommandPath is how the command is called, for where its help is.
	CommandPath string
	// running is true once the words of the command line have been understood: what goes wrong
	// earlier is wrong usage.
	running bool
	// keepsNothing is true for a command that writes nothing, or whose writes are a dry run's; claims for one that
	// "release LEASE" undoes.
	keepsNothing, claims bool
	// Terminal is true where people look on standard output; view is what they see of leases, status the
	// line that is written over.
	Terminal bool
	view     *leaseView
	status   *terminal.Status
	// Leases is how many leases the command works on, each for itself; 0 where that is not known.
	Leases int
}

// New is the console of a process with the streams; what it reads ends when the context does.
func New(ctx context.Context, streams genericiooptions.IOStreams) Console {
	status, out := terminal.NewStatus(streams), &terminal.Output{Out: streams.Out}
	return Console{
		IOStreams: genericiooptions.IOStreams{In: files.Interruptible(ctx, streams.In), Out: out, ErrOut: &terminal.People{Out: status.Before(streams.ErrOut)}},
		Stdin:     streams.In, People: &terminal.People{Out: status.Before(out)}, out: out,
		Terminal: terminal.IsTerminal(streams.Out), status: status,
	}
}

// Begin notes that the words of the command line have been understood, whether the command keeps nothing of what it does,
// and whether it claims what "release LEASE" gives up.
func (c *Console) Begin(keepsNothing, claims bool) {
	c.running, c.keepsNothing, c.claims = true, keepsNothing, claims
	if !keepsNothing {
		terminal.OutliveReaders()
	}
}

// NoProblems says that there are none.
func (c *Console) NoProblems() { fmt.Fprintln(c.ErrOut, "No problems.") }
