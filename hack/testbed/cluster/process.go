//go:build unix

package cluster

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/akash-net/kubectl-akash-net/hack/testbed/programs"
)

// order is that of the start; the end goes the other way.
var order = []string{"etcd", "kube-apiserver", "kube-controller-manager", "metallb-controller"}

// process is what is recorded of a started program. Its command line names the cluster's folder
// or its ports, so a process that has got the same number later is not taken for it.
type process struct {
	PID     int
	Command []string
}

// run starts a program in a session of its own, so that it goes on when its starter ends. The
// context it returns ends with the program: a wait for its readiness need not last longer.
func (c Cluster) run(ctx context.Context, name string, flags ...string) (context.Context, error) {
	path, err := programs.Path(name)
	if err != nil {
		return nil, err
	}
	log, err := os.Create(c.path("logs/" + name + ".log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()                   //nolint:errcheck // the child has its own handle
	cmd := exec.Command(path, flags...) //nolint:gosec // a program that Build made
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	running, ended := context.WithCancelCause(ctx)
	go func() { ended(fmt.Errorf("%s ended: %w", name, cmp.Or(cmd.Wait(), errors.New("exit code 0")))) }()
	record, err := json.Marshal(process{PID: cmd.Process.Pid, Command: cmd.Args})
	if err != nil {
		return nil, err
	}
	return running, os.WriteFile(c.path("processes/"+name), record, 0o600)
}

func (c Cluster) recorded(name string) (process, bool) {
	var p process
	record, err := os.ReadFile(c.path("processes/" + name))
	if err != nil || json.Unmarshal(record, &p) != nil || p.PID <= 1 {
		return process{}, false
	}
	return p, true
}

// alive tells whether the process with this number is still the program that was started.
func (p process) alive() bool {
	line, err := os.ReadFile("/proc/" + strconv.Itoa(p.PID) + "/cmdline")
	if err == nil {
		return string(line) == strings.Join(p.Command, "\x00")+"\x00"
	}
	if _, err := os.Stat("/proc/self"); err == nil {
		return false
	}
	out, err := exec.Command("ps", "-ww", "-o", "args=", "-p", strconv.Itoa(p.PID)).Output() //nolint:gosec // a number
	return err == nil && strings.TrimSpace(string(out)) == strings.Join(p.Command, " ")
}

// Down ends the processes that Up started, and only those, and removes the cluster's data.
func (c Cluster) Down(w io.Writer) error {
	if _, err := os.Stat(c.Dir); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	for _, name := range slices.Backward(order) {
		p, ok := c.recorded(name)
		if !ok || !p.alive() {
			continue
		}
		fmt.Fprintf(w, "ending %s (process %d)\n", name, p.PID)
		if err := p.end(); err != nil {
			return fmt.Errorf("ending %s: %w", name, err)
		}
	}
	// Only what Up made: the folder may have been named by hand.
	for _, made := range []string{"logs", "certificates", "processes", "etcd", "kubeconfig"} {
		if err := os.RemoveAll(c.path(made)); err != nil {
			return err
		}
	}
	_ = os.Remove(c.Dir) // stays when something else is in it
	return nil
}

// end asks the process to end, and after ten seconds ends it.
func (p process) end() error {
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		if err := syscall.Kill(p.PID, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
			return err
		}
		for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
			if !p.alive() {
				return nil
			}
		}
	}
	return fmt.Errorf("process %d does not end", p.PID)
}
