package plugin

import (
	"io"

	"k8s.io/cli-runtime/pkg/genericiooptions"

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
