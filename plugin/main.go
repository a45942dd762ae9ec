// Package plugin is the command line: it puts the commands together and runs them.
package plugin

import (
	"context"
	"io"
	"path/filepath"
	"strings"

	"github.com/go-logr/logr"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/klog/v2"

	"github.com/akash-net/kubectl-akash-net/plugin/console"
	"github.com/akash-net/kubectl-akash-net/plugin/session"
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
	ctx, stop := console.Notified(ctx)
	defer stop()
	c := session.New(ctx, streams)
	defer func() {
		if r := recover(); r != nil {
			code = c.Report(r)
		}
	}()
	root := newRoot(c)
	arguments := args[1:]
	if strings.HasPrefix(filepath.Base(args[0]), completionName) {
		arguments = append([]string{"__complete"}, arguments...)
		root.SetErr(io.Discard) // kubectl passes its stderr on to the terminal
	}
	root.SetArgs(arguments)
	cmd, err := root.ExecuteContextC(ctx)
	c.CommandPath = cmd.CommandPath()
	return c.End(ctx, err)
}
