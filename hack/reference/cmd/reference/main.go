// Command reference writes the reference of the commands into the repository's documentation.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/akash-net/kubectl-akash-net/hack/reference"
	"github.com/akash-net/kubectl-akash-net/hack/testbed/programs"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "reference:", err)
		os.Exit(1)
	}
}

func run() error {
	root, err := programs.Root()
	if err != nil {
		return err
	}
	text, err := reference.Markdown()
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(root, filepath.FromSlash(reference.File)), []byte(text), 0o644) //nolint:gosec // a file of the repository
}
