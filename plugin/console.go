package plugin

import (
	"context"
	"io"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/akash-net/kubectl-akash-net/plugin/files"
	"github.com/akash-net/kubectl-akash-net/plugin/terminal"
)

// console is where a command is told what to do and tells what it did, and what its last words are chosen by.
type console struct {
	genericiooptions.IOStreams
	// stdin is standard input itself, which may be a terminal; In reads it until the command is interrupted.
	stdin io.Reader
	// people is standard output where it is for people, and not data.
	people io.Writer
	// out is standard output, which remembers why it could not be written.
	out *terminal.Output
	// running is true once the words of the command line have been understood: what goes wrong
	// earlier is wrong usage.
	running bool
	// keepsNothing is true for a command that writes nothing, or whose writes are a dry run's; claims for one that
	// "release LEASE" undoes.
	keepsNothing, claims bool
	// terminal is true where people look on standard output; view is what they see of leases, status the
	// line that is written over.
	terminal bool
	view     *leaseView
	status   *terminal.Status
	// leases is how many leases the command works on, each for itself; 0 where that is not known.
	leases int
}

// newConsole is the console of a process with the streams; what it reads ends when the context does.
func newConsole(ctx context.Context, streams genericiooptions.IOStreams) console {
	status, out := terminal.NewStatus(streams), &terminal.Output{Out: streams.Out}
	return console{
		IOStreams: genericiooptions.IOStreams{In: files.Interruptible(ctx, streams.In), Out: out, ErrOut: &terminal.People{Out: status.Before(streams.ErrOut)}},
		stdin:     streams.In, people: &terminal.People{Out: status.Before(out)}, out: out,
		terminal: terminal.IsTerminal(streams.Out), status: status,
	}
}

// begin notes that the words of the command line have been understood, whether the command keeps nothing of what it does,
// and whether it claims what "release LEASE" gives up.
func (c *console) begin(keepsNothing, claims bool) {
	c.running, c.keepsNothing, c.claims = true, keepsNothing, claims
	if !keepsNothing {
		terminal.OutliveReaders()
	}
}
