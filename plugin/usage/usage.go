// Package usage has the error type for invalid command lines. These errors have their own exit code.
package usage

import "fmt"

// Error is an invalid command line.
type Error struct{ error }

// Errorf formats a usage error.
func Errorf(format string, args ...any) error { return &Error{fmt.Errorf(format, args...)} }

// Wrap turns err into a usage error.
func Wrap(err error) error { return &Error{err} }
