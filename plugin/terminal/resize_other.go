//go:build !unix

package terminal

import "os"

// Resized returns a channel that receives nothing: this system does not tell when the size of the terminal has changed.
func Resized() (changed <-chan os.Signal, stop func()) { return nil, func() {} }
