//go:build unix

package change

import (
	"os"

	"golang.org/x/sys/unix"
)

// replaceBy runs a program in place of this one.
func replaceBy(path string, args []string) error { return unix.Exec(path, args, os.Environ()) }
