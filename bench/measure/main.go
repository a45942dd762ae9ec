//go:build linux

// Command measure runs a program and writes what it took to file descriptor 3, as one JSON object.
//
// It is a process of its own because Linux counts the memory of the process that starts a program
// in the program's peak: this one is small, so that what it says is about the program.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "measure:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	cmd := exec.Command(args[0], args[1:]...) //nolint:gosec // running what it is told is its work
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	start := time.Now()
	if err := cmd.Run(); err != nil {
		return err
	}
	wall := time.Since(start)
	usage := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	return json.NewEncoder(os.NewFile(3, "result")).Encode(map[string]int64{
		"wall": int64(wall),
		"cpu":  int64(cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()),
		"peak": usage.Maxrss << 10, // Linux counts in KiB
	})
}
