//go:build unix

package terminal

import (
	"os"
	"os/signal"
	"syscall"
)

// Resized returns a channel that receives when the size of the terminal has changed, until stop is called.
func Resized() (changed <-chan os.Signal, stop func()) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGWINCH)
	return signals, func() { signal.Stop(signals) }
}
