// Package plugin is the command line: commands, their flags, and what they print. Nothing else in
// the project knows cobra.
package plugin

import (
	"context"
	"io"
	"path/filepath"
	"strings"

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
	c := newSession(ctx, streams)
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
