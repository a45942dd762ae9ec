// Package e2e shows the program at work: the real binary, on a real API server with MetalLB's
// controller. Tests have tenants, hosts and address ranges of their own, so that they can run side
// by side on one ledger; those that compare the whole cluster before and after do not run in
// parallel.
package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/akash-net/kubectl-akash-net/hack/testbed"
	"github.com/akash-net/kubectl-akash-net/hack/testbed/programs"
)

var (
	// plane is the control plane of all tests.
	plane *testbed.ControlPlane
	// binaries is a folder with the program, and the link by which kubectl asks it for completions.
	binaries string
)

// program is the plugin's file name; kubectl looks for it when the user types akash-net.
const program = "kubectl-akash_net"

// sharedConfig is the configuration that is installed in the cluster.
const sharedConfig = `
apiVersion: net.akash.network/v1alpha1
kind: ProviderConfig
metadata: {name: provider}
spec:
  ip:
    ranges: [203.0.113.0/24, 2001:db8:cafe::/120]
`

func TestMain(m *testing.M) {
	os.Exit(testbed.Main(m, setup))
}

// setup builds the program, starts the controllers, and installs.
func setup(ctx context.Context, p *testbed.ControlPlane) error {
	plane, binaries = p, filepath.Join(p.Dir, "bin")
	gateways, err := programs.GatewayAPICRDs(ctx)
	if err != nil {
		return err
	}
	routes, err := programs.OpenShiftRouteCRDs(ctx)
	if err != nil {
		return err
	}
	records, err := programs.DNSCRDs(ctx)
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return build(ctx) })
	group.Go(func() error { return p.StartControllerManager(context.WithoutCancel(ctx)) })
	group.Go(func() error {
		if err := p.StartMetalLB(context.WithoutCancel(ctx)); err != nil {
			return err
		}
		return p.InstallCRDs(append(records, gateways, routes, filepath.Join("..", "targets", "testdata"))...)
	})
	if err := group.Wait(); err != nil {
		return err
	}
	config := filepath.Join(p.Dir, "provider.yaml")
	if err := os.WriteFile(config, []byte(sharedConfig), 0o600); err != nil {
		return err
	}
	r := user{kubeconfig: p.Kubeconfig, config: config}.execute(context.Background(), nil, "install")
	if r.code != 0 {
		return errors.New(r.String())
	}
	return nil
}

// build compiles the program as it is now.
func build(ctx context.Context) error {
	if err := os.Mkdir(binaries, 0o750); err != nil {
		return err
	}
	path := filepath.Join(binaries, program)
	out, err := exec.CommandContext(ctx, "go", "build", "-o", path, "../../cmd/kubectl-akash_net").CombinedOutput()
	if err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	return os.Symlink(program, filepath.Join(binaries, "kubectl_complete-akash_net"))
}

// user runs the program with a kubeconfig and, where it is not empty, a configuration of its own.
type user struct {
	kubeconfig, config string
}

// admin may do everything, and works by the configuration that is installed.
func admin() user { return user{kubeconfig: plane.Kubeconfig} }

// with is the same user with the configuration of a file.
func (u user) with(config string) user {
	u.config = config
	return u
}

// deadline ends what hangs; nothing that works takes as long.
const deadline = 2 * time.Minute

func (u user) command(ctx context.Context, args ...string) *exec.Cmd {
	if u.config != "" {
		args = append(args, "--config", u.config)
	}
	cmd := exec.CommandContext(ctx, filepath.Join(binaries, program), args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+u.kubeconfig)
	return cmd
}

// run runs the program to its end.
func (u user) run(t *testing.T, args ...string) result {
	t.Helper()
	return u.execute(t.Context(), nil, args...)
}

// do runs the program, which has to succeed.
func (u user) do(t *testing.T, args ...string) result {
	t.Helper()
	return u.run(t, args...).exits(t, 0)
}

func (u user) execute(ctx context.Context, stdin []byte, args ...string) result {
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	cmd := u.command(ctx, args...)
	cmd.Stdin = bytes.NewReader(stdin)
	return finish(cmd)
}

// finish runs a command and waits for its end.
func finish(cmd *exec.Cmd) result { return start(cmd)() }

// start starts a command; what it returns waits for its end.
func start(cmd *exec.Cmd) (end func() result) {
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err := cmd.Start()
	return func() result {
		if err == nil {
			err = cmd.Wait()
		}
		r := result{args: cmd.Args[1:], stdout: out.String(), stderr: errOut.String()}
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			r.code = exit.ExitCode()
		} else if err != nil {
			r.code, r.stderr = -1, r.stderr+err.Error()
		}
		return r
	}
}

// result is how the program ended and what it printed.
type result struct {
	args           []string
	code           int
	stdout, stderr string
}

func (r result) String() string {
	return fmt.Sprintf("%s: exit code %d\n--- stdout\n%s--- stderr\n%s", strings.Join(r.args, " "), r.code, r.stdout, r.stderr)
}

// exits fails the test unless the exit code is the one that is wanted.
func (r result) exits(t *testing.T, code int) result {
	t.Helper()
	if r.code != code {
		t.Fatalf("want exit code %d: %s", code, r)
	}
	return r
}

// prints fails the test unless each text is on standard output.
func (r result) prints(t *testing.T, texts ...string) result {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(r.stdout, text) {
			t.Errorf("standard output has no %q: %s", text, r)
		}
	}
	return r
}

// says fails the test unless each text is on standard error.
func (r result) says(t *testing.T, texts ...string) result {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(r.stderr, text) {
			t.Errorf("standard error has no %q: %s", text, r)
		}
	}
	return r
}
