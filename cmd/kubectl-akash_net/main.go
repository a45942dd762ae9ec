// Command kubectl-akash_net is the kubectl plugin `kubectl akash-net`. Its name has an underscore
// because kubectl looks for one where the user types a dash.
package main

import (
	"context"
	"os"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/akash-net/kubectl-akash-net/plugin"
)

func main() {
	os.Exit(plugin.Main(context.Background(), os.Args, genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}))
}
