// Package usage has the error type for invalid command lines. These errors have their own exit code.
package usage

import (
	"fmt"
	"strings"

	"github.com/akash-net/kubectl-akash-net/engine/report"
)

// Error is an invalid command line.
type Error struct{ error }

// ExitCode says how a command ends with the error.
func (*Error) ExitCode() int { return report.ExitUsage }

// Errorf formats a usage error.
func Errorf(format string, args ...any) error { return &Error{fmt.Errorf(format, args...)} }

// Unknown is the error for an argument that is no command of cmd, with what may be meant.
func Unknown(cmd, typed string, meant []string) error {
	if len(meant) == 0 {
		return Errorf("unknown command %q for %q", typed, cmd)
	}
	return Errorf("unknown command %q for %q; did you mean this?\n  %s", typed, cmd, strings.Join(meant, "\n  "))
}

// Wrap turns err into a usage error.
func Wrap(err error) error { return &Error{err} }
