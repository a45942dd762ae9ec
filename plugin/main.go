// Package plugin is the command line: commands, their flags, and what they print. Nothing else in
// the project knows cobra.
package plugin

import (
	"context"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/akash-net/kubectl-akash-net/plugin/files"
	"github.com/akash-net/kubectl-akash-net/plugin/terminal"
	"github.com/go-logr/logr"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/klog/v2"
)

// completionName begins the name under which kubectl asks a plugin for completions.
const completionName = "kubectl_complete-"

// Main runs the command line args (args[0] is the program's name) and returns the exit code.
// Started as kubectl_complete-akash_net it answers kubectl's completion protocol, so that a link
// to the program is all that completion needs.
//
// An interrupt ends the request under way and gives back what is not in use yet; a second one
// ends the process at once.
func Main(ctx context.Context, args []string, streams genericiooptions.IOStreams) (code int) {
	klog.SetLogger(logr.Discard()) // what client-go logs is told in errors
	ctx, stop := notified(ctx)
	defer stop()
	status, out := terminal.NewStatus(streams), &terminal.Output{Out: streams.Out}
	c := &cli{connection: connection{console: console{
		IOStreams: genericiooptions.IOStreams{In: files.Interruptible(ctx, streams.In), Out: out, ErrOut: &terminal.People{Out: status.Before(streams.ErrOut)}},
		stdin:     streams.In, people: &terminal.People{Out: status.Before(out)}, out: out,
		terminal: terminal.IsTerminal(streams.Out), status: status,
	}}}
	defer func() {
		if r := recover(); r != nil {
			code = c.report(r)
		}
	}()
	root := newRoot(c)
	arguments := args[1:]
	if strings.HasPrefix(filepath.Base(args[0]), completionName) {
		arguments = append([]string{"__complete"}, arguments...)
		root.SetErr(io.Discard) // kubectl passes its stderr on to the terminal
	}
	root.SetArgs(arguments)
	return c.end(ctx, root.ExecuteContext(ctx))
}

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

// notified is a context that the first interrupt ends; a second one ends the process.
func notified(ctx context.Context) (context.Context, func()) {
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
