//go:build linux

// Command measure runs a program and writes what it took to file descriptor 3: seconds, seconds of processor time, and the
// largest resident set in MiB.
//
// It is a process of its own because Linux counts the memory of the process that starts a program
// in the program's peak: this one is small, so that what it says is about the program.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

func main() {
	cmd := exec.Command(os.Args[1], os.Args[2:]...) //nolint:gosec // running what it is told is its work
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	start := time.Now()
	if err := cmd.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "measure:", err)
		os.Exit(1)
	}
	wall, state := time.Since(start), cmd.ProcessState
	peak := float64(state.SysUsage().(*syscall.Rusage).Maxrss) / 1024 // Linux counts in KiB
	fmt.Fprintln(os.NewFile(3, "result"), wall.Seconds(), (state.UserTime() + state.SystemTime()).Seconds(), peak)
}
