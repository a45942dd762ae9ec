// Package console prints what a command does: events, errors with their exit codes, and the progress of leases on a terminal.
package console

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/files"
	"github.com/akash-net/kubectl-akash-net/lease/thing"
	"github.com/akash-net/kubectl-akash-net/plugin/history"
	"github.com/akash-net/kubectl-akash-net/plugin/terminal"
	"github.com/akash-net/kubectl-akash-net/reconcile/events"
)

// Console has the streams of a command, and the state that its errors and exit code depend on.
type Console struct {
	genericiooptions.IOStreams
	// Stdin is standard input itself, which may be a terminal. In reads it until the context ends.
	Stdin io.Reader
	// Text is standard output for text. Out is the same stream for data, which is not escaped.
	Text io.Writer
	// out is standard output; it keeps its first write error.
	out *terminal.Output
	// CommandPath is the command as the user calls it, for the hint about its help.
	CommandPath string
	// running is true after the command line has been parsed. Earlier errors are usage errors.
	running bool
	// readOnly is true if the command writes nothing to the cluster, or only in a dry run.
	readOnly bool
	// claims is true if "release LEASE" undoes the command for a lease that had nothing before.
	claims bool
	// Terminal is true if standard output is a terminal.
	Terminal bool
	// width returns the number of columns of standard error, outWidth that of standard output; nil or 0 if it is no terminal.
	width, outWidth func() int
	// Color says when to print colours.
	Color terminal.Color
	// view shows leases on a terminal; nil otherwise.
	view   *leaseView
	status *terminal.Status
	// tally counts what a dry run would do; nil if the numbers are not printed.
	tally *report.Tally
	// story writes what happens to leases into their namespaces; nil for a command that changes none.
	story *history.Recorder
	// states are the leases of which text has said that they are done, each with its state, such as "live". suffix ends lines of a dry run.
	states map[lease.Group]string
	suffix string
	// begun is when the command began.
	begun time.Time
	// Leases is the number of leases that the command processes separately; 0 if it is unknown.
	Leases int
}

// New returns a console with these streams. Reads from its input end when the context does.
func New(ctx context.Context, streams genericiooptions.IOStreams) Console {
	status, out := terminal.NewStatus(streams), &terminal.Output{Out: streams.Out}
	return Console{
		IOStreams: genericiooptions.IOStreams{
			In: files.Interruptible(ctx, streams.In), Out: out, ErrOut: &terminal.SafeWriter{Out: status.Wrap(streams.ErrOut)},
		},
		Stdin: streams.In, Text: &terminal.SafeWriter{Out: status.Wrap(out)}, out: out,
		Terminal: terminal.IsTerminal(streams.Out), width: terminal.Width(streams.ErrOut), outWidth: terminal.Width(streams.Out), status: status,
	}
}

// Begin starts a command whose command line has been parsed. readOnly is true if it writes nothing to the cluster, or only in
// a dry run; claims is true if "release LEASE" undoes it for a lease that had nothing before.
func (c *Console) Begin(readOnly, claims bool) {
	c.running, c.readOnly, c.claims, c.begun = true, readOnly, claims, time.Now()
	if !readOnly {
		terminal.IgnoreSIGPIPE()
	}
}

// Record lets the events of a command that changes leases be written into their namespaces as well, until the command ends. ledger is the
// ledger's namespace.
func (c *Console) Record(ctx context.Context, to *cluster.Cluster, ledger string) {
	if !c.readOnly {
		c.story = history.New(ctx, to, ledger)
	}
}

// Tell adds an event to the story of its lease. Events.Report does so as well.
func (c *Console) Tell(e report.Event) { c.story.Report(e) }

// NoProblems prints that state and repair have found no problems.
func (c *Console) NoProblems() { fmt.Fprintln(c.ErrOut, "No problems.") }

// say prints a message on standard error, in lines of its width.
func (c *Console) say(format string, args ...any) {
	fmt.Fprintln(c.ErrOut, terminal.FoldLines(c.shorten(fmt.Sprintf(format, args...)), c.columns()))
}

// Note prints a note on standard error: a sentence without the last full stop.
func (c *Console) Note(format string, args ...any) { c.say("Note: "+format, args...) }

// shorten shortens the names of leases in a text for standard error if that is a terminal.
func (c *Console) shorten(text string) string {
	if c.columns() == 0 {
		return text
	}
	return thing.ShortenLeases(text)
}

// columns returns the number of columns of standard error, 0 if it is no terminal.
func (c *Console) columns() int {
	if c.width == nil {
		return 0
	}
	return c.width()
}

// Columns returns the number of columns of standard output, 0 if it is no terminal.
func (c *Console) Columns() int {
	if c.outWidth == nil {
		return 0
	}
	return c.outWidth()
}

// Confirm asks the user a question, and reports whether the answer is yes. The command's time does not run while it waits.
func (c *Console) Confirm(question string) bool {
	asked := time.Now()
	fmt.Fprintf(c.ErrOut, "%s [y/N] ", question)
	line, _ := bufio.NewReader(c.In).ReadString('\n') // an error means no
	if !strings.HasSuffix(line, "\n") {
		fmt.Fprintln(c.ErrOut) // ends the line of the question
	}
	c.begun = c.begun.Add(time.Since(asked))
	answer := strings.ToLower(strings.TrimSpace(line))
	return answer == "y" || answer == "yes"
}

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

// jsonAck is the JSON form of an acknowledgement: the last event of the lease, and which line asked for it.
type jsonAck struct {
	jsonEvent
	Line  int    `json:"line"`
	Type  string `json:"type,omitempty"`
	Retry bool   `json:"retry,omitempty"`
}

// ackSchema is the version of jsonAck. It changes with every incompatible change.
const ackSchema = "net.akash.network/acks/v1"

// Acknowledge prints what has become of an event of an event bus, as a line of JSON.
func (e *Events) Acknowledge(a events.Ack) error {
	l := jsonAck{jsonEvent: e.jsonOf(a.Result), Line: a.Line, Type: string(a.Type), Retry: a.Retry}
	l.Schema = ackSchema
	return json.NewEncoder(e.c.Out).Encode(l)
}

// ForData returns the same console for a command that prints data on standard output: what people read goes to standard error.
func (c *Console) ForData() *Console {
	out := *c
	out.Text, out.Terminal = c.ErrOut, false
	return &out
}
