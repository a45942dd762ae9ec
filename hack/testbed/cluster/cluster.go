//go:build unix

// Package cluster runs a control plane that outlives the command which started it: for the demo, and for trying things by
// hand.
package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/akash-net/kubectl-akash-net/hack/testbed"
	"github.com/akash-net/kubectl-akash-net/hack/testbed/programs"
)

// Cluster is a control plane that a process of its own serves, until that is ended. What it has lies in one folder; several
// clusters run side by side.
type Cluster struct {
	Dir string
}

// Kubeconfig is the path of the administrator's kubeconfig, which is there once the cluster is ready.
func (c Cluster) Kubeconfig() string { return filepath.Join(c.Dir, "kubeconfig") }

// path names something in the cluster's folder.
func (c Cluster) path(name string) string { return filepath.Join(c.Dir, name) }

// Up starts a process that serves the cluster, by this program's command "serve", and returns when the cluster is ready. A
// cluster that runs is left as it is.
func (c Cluster) Up(ctx context.Context, w io.Writer) error {
	if pid, err := c.server(); err != nil || pid != 0 {
		fmt.Fprintf(w, "the cluster in %s runs already\n", c.Dir)
		return err
	}
	if err := errors.Join(c.Down(w), os.MkdirAll(c.Dir, 0o700)); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	log, err := os.Create(c.path("log"))
	if err != nil {
		return err
	}
	defer log.Close() //nolint:errcheck // the process has its own handle
	start := time.Now()
	serve := exec.Command(self, "-dir", c.Dir, "serve") //nolint:gosec // this program
	serve.Env = append(os.Environ(), "TMPDIR="+c.Dir)
	serve.Stdout, serve.Stderr = log, log
	serve.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := serve.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- serve.Wait() }()
	err = wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true, func(context.Context) (bool, error) {
		select {
		case err := <-ended:
			return false, fmt.Errorf("the cluster ended: %w (see %s)", err, log.Name())
		default:
			_, err := os.Stat(c.Kubeconfig())
			return err == nil, nil
		}
	})
	if err != nil {
		_ = serve.Process.Signal(syscall.SIGTERM)
		return err
	}
	fmt.Fprintf(w, "the cluster in %s is ready, %s\n", c.Dir, time.Since(start).Round(100*time.Millisecond))
	return nil
}

// Serve runs etcd, kube-apiserver, kube-controller-manager and MetalLB's controller, with the CRDs of MetalLB and the
// Gateway API, until the context ends.
func (c Cluster) Serve(ctx context.Context) (err error) {
	lock, err := os.Create(c.path("lock"))
	if err != nil {
		return err
	}
	defer lock.Close() //nolint:errcheck // only locked
	if err := syscall.FcntlFlock(lock.Fd(), syscall.F_SETLK, &syscall.Flock_t{Type: syscall.F_WRLCK}); err != nil {
		return fmt.Errorf("another process serves %s: %w", c.Dir, err)
	}
	plane, err := testbed.Start(ctx)
	defer func() { err = errors.Join(err, plane.Stop()) }()
	if err != nil {
		return err
	}
	gateways, err := programs.GatewayAPICRDs(ctx)
	if err != nil {
		return err
	}
	err = errors.Join(plane.StartControllerManager(ctx), plane.StartMetalLB(ctx), plane.InstallCRDs(gateways))
	if err != nil {
		return err
	}
	if err := os.Rename(plane.Kubeconfig, c.Kubeconfig()); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// server returns the process that serves the cluster, which holds a lock; 0 if there is none.
func (c Cluster) server() (int, error) {
	lock, err := os.OpenFile(c.path("lock"), os.O_RDWR, 0)
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer lock.Close() //nolint:errcheck // only asked
	held := syscall.Flock_t{Type: syscall.F_WRLCK}
	if err := syscall.FcntlFlock(lock.Fd(), syscall.F_GETLK, &held); err != nil || held.Type == syscall.F_UNLCK {
		return 0, err
	}
	return int(held.Pid), nil
}

// Down ends the process that serves the cluster, which ends what it has started, and removes the cluster's data.
func (c Cluster) Down(w io.Writer) error {
	pid, err := c.server()
	if err != nil {
		return err
	}
	if pid != 0 {
		fmt.Fprintf(w, "ending the cluster in %s (process %d)\n", c.Dir, pid)
		if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
			return err
		}
		err := wait.PollUntilContextTimeout(context.Background(), 20*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
			pid, err := c.server()
			return pid == 0, err
		})
		if err != nil {
			return fmt.Errorf("process %d does not end: %w", pid, err)
		}
	}
	// Only what Up made: the folder may have been named by hand.
	for _, made := range []string{"log", "lock", "kubeconfig"} {
		if err := os.RemoveAll(c.path(made)); err != nil {
			return err
		}
	}
	_ = os.Remove(c.Dir) // stays when something else is in it
	return nil
}
