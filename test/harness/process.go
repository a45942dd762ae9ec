package harness

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// Output is what a process has printed so far.
type Output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// Process is a process that a test waits for and stops.
type Process struct {
	Cmd *exec.Cmd
	// Out and Err are its standard output, unless the test reads that itself, and its standard error.
	Out, Err Output
}

// Launch starts a process. The test kills it at the end.
func Launch(t *testing.T, cmd *exec.Cmd) *Process {
	t.Helper()
	p := &Process{Cmd: cmd}
	if cmd.Stderr = &p.Err; cmd.Stdout == nil {
		cmd.Stdout = &p.Out
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Kill()
		if t.Failed() {
			t.Logf("%s", p)
		}
	})
	return p
}

func (p *Process) String() string {
	return fmt.Sprintf("%s\n--- stdout\n%s--- stderr\n%s", strings.Join(p.Cmd.Args[1:], " "), &p.Out, &p.Err)
}

// Says waits until the process has printed a text.
func (p *Process) Says(t *testing.T, text string) {
	t.Helper()
	Eventually(t, fmt.Sprintf("%q is to be printed", text), func(context.Context) (bool, error) {
		return strings.Contains(p.String(), text), nil
	})
}

// Kill kills the process, and waits for its end.
func (p *Process) Kill() {
	_ = p.Cmd.Process.Kill() // it may have ended
	_ = p.Cmd.Wait()         // it was killed
}

// Stops stops the process by SIGTERM, and fails the test unless it ends with 0.
func (p *Process) Stops(t *testing.T) {
	t.Helper()
	if err := p.Cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := p.Cmd.Wait(); err != nil {
		t.Errorf("%v\n%s", err, p)
	}
}
