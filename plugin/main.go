// Package plugin assembles the command line and runs it.
package plugin

import (
	"context"
	"io"
	"path/filepath"
	"strings"

	"github.com/go-logr/logr"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/klog/v2"

	"github.com/akash-net/kubectl-akash-net/plugin/change"
	"github.com/akash-net/kubectl-akash-net/plugin/console"
	"github.com/akash-net/kubectl-akash-net/plugin/session"
)

// completionName is the beginning of the name of the program that kubectl runs to complete a plugin's arguments.
const completionName = "kubectl_complete-"

// Main runs the command line args, where args[0] is the program's name, and returns the exit code. A program with the name
// kubectl_complete-akash_net completes arguments for kubectl, so completion needs only a link to the program.
//
// The first interrupt cancels requests and undoes claims that are not in use yet. The second one ends the process.
func Main(ctx context.Context, args []string, streams genericiooptions.IOStreams) (code int) {
	return MainWatching(ctx, args, streams, nil)
}

// MainWatching is Main of the program that can run "reconcile --watch" itself. Another one, whose watch is nil, leaves that to it.
func MainWatching(ctx context.Context, args []string, streams genericiooptions.IOStreams, watch change.Watch) (code int) {
	klog.SetLogger(logr.Discard()) // errors include what client-go logs
	ctx, stop := console.NotifyContext(ctx)
	defer stop()
	c := session.New(ctx, streams)
	defer func() {
		if r := recover(); r != nil {
			code = c.ReportPanic(r)
		}
	}()
	root := newRoot(c, watch)
	arguments := args[1:]
	if strings.HasPrefix(filepath.Base(args[0]), completionName) {
		arguments = append([]string{"__complete"}, arguments...)
		root.SetErr(io.Discard) // kubectl prints the program's stderr on the terminal
	}
	root.SetArgs(arguments)
	cmd, err := root.ExecuteContextC(ctx)
	c.CommandPath = cmd.CommandPath()
	return c.End(ctx, err)
}
