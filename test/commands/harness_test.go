// Package e2e shows the program at work: the real binary, on a real API server with MetalLB's
// controller. Tests have tenants, hosts and address ranges of their own, so that they can run side
// by side on one ledger; those that compare the whole cluster before and after do not run in
// parallel.
package commands

import (
	"bytes"
	"context"
	"os/exec"
	"testing"

	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// sharedConfig is the configuration that is installed in the cluster.
const sharedConfig = `
apiVersion: net.akash.network/v1alpha1
kind: ProviderConfig
metadata: {name: provider}
spec:
  ip:
    ranges: [203.0.113.0/24, 2001:db8:cafe::/120]
`

// What the tests of this package ask of the cluster, and of its tenants.
var (
	createAs, update          = harness.Create, harness.Update
	parse, parseObject        = harness.Parse, harness.ParseObject
	start, finish, kubeconfig = harness.Start, harness.Finish, harness.Kubeconfig
	newTenant, newHost        = harness.NewOwner, harness.NewHost
)

const (
	provider = harness.Provider
	deadline = harness.Deadline
)

// user runs the program with a kubeconfig and, where it is not empty, a configuration of its own.
type user struct {
	kubeconfig, config string
}

// admin may do everything, and works by the configuration that is installed.
func admin() user { return user{kubeconfig: harness.Plane.Kubeconfig} }

// with is the same user with the configuration of a file.
func (u user) with(config string) user {
	u.config = config
	return u
}

func (u user) command(ctx context.Context, args ...string) *exec.Cmd {
	if u.config != "" {
		args = append(args, "--config", u.config)
	}
	return harness.Command(ctx, u.kubeconfig, args...)
}

// run runs the program to its end.
func (u user) run(t *testing.T, args ...string) result {
	t.Helper()
	return u.execute(t.Context(), nil, args...)
}

// do runs the program, which has to succeed.
func (u user) do(t *testing.T, args ...string) result {
	t.Helper()
	return u.run(t, args...).Exits(t, 0)
}

func (u user) execute(ctx context.Context, stdin []byte, args ...string) result {
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	cmd := u.command(ctx, args...)
	cmd.Stdin = bytes.NewReader(stdin)
	return finish(cmd)
}
