//go:build !unix

package change

import (
	"os"
	"os/exec"
)

// replaceBy runs a program, and ends as that does: it gets the interrupts of the console by itself.
func replaceBy(path string, args []string) error {
	cmd := exec.Command(path)
	cmd.Args, cmd.Stdin, cmd.Stdout, cmd.Stderr = args, os.Stdin, os.Stdout, os.Stderr
	err := cmd.Run()
	if cmd.ProcessState != nil {
		os.Exit(cmd.ProcessState.ExitCode())
	}
	return err
}
