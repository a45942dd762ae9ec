// Package usage tells wrong words of a command line from other errors: they have an exit code of their own.
package usage

import "fmt"

// Error is a command line that cannot be understood.
type Error struct{ error }

// Errorf formats the error of a command line that cannot be understood.
func Errorf(format string, args ...any) error { return &Error{fmt.Errorf(format, args...)} }

// Wrap makes an error one of a command line that cannot be understood.
func Wrap(err error) error { return &Error{err} }
