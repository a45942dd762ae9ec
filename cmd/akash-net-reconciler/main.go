// Command akash-net-reconciler is `kubectl akash-net reconcile` with what --watch needs, which would cost each other command milliseconds
// at its start. The plugin runs it.
package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/akash-net/kubectl-akash-net/plugin"
	"github.com/akash-net/kubectl-akash-net/plugin/change"
	"github.com/akash-net/kubectl-akash-net/reconcile/watch"
)

func main() {
	args := os.Args
	if strings.HasPrefix(filepath.Base(args[0]), change.Reconciler) { // else the other program has called it, with the arguments of its own
		args = append([]string{args[0], "reconcile"}, args[1:]...)
	}
	os.Exit(plugin.MainWatching(context.Background(), args, genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}, watch.Run))
}
