// Command startup is the least that a plugin of kubectl can be: cobra, and cli-runtime's
// connection flags. The benchmarks compare the program's start with its.
package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
)

func main() {
	root := &cobra.Command{Use: "startup"}
	genericclioptions.NewConfigFlags(true).AddFlags(root.PersistentFlags())
	root.AddCommand(&cobra.Command{Use: "version", Run: func(*cobra.Command, []string) { fmt.Println("v0") }})
	if root.Execute() != nil {
		os.Exit(1)
	}
}
