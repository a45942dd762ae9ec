// Package soak_test leaves the ledger to many tenants at once: random commands, as processes of the
// real program against a real API server with MetalLB, some of them killed. When it is over the
// ledger is audited by a reading of its own, next to what the program says of itself, then mended.
//
// SOAK says for how long (`make soak`: ten minutes); without it the soak is short.
package soak_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"k8s.io/client-go/dynamic"

	"github.com/akash-net/kubectl-akash-net/hack/testbed"
	"github.com/akash-net/kubectl-akash-net/hack/testbed/programs"
)

var (
	plane   *testbed.ControlPlane
	objects dynamic.Interface
	// program is the path of the program, built as users get it.
	program string
)

func TestMain(m *testing.M) {
	os.Exit(testbed.Main(m, func(ctx context.Context, p *testbed.ControlPlane) (err error) {
		plane, program = p, filepath.Join(p.Dir, "kubectl-akash_net")
		if objects, err = dynamic.NewForConfig(p.Config); err != nil {
			return err
		}
		if out, err := exec.CommandContext(ctx, "go", "build", "-o", program, "../../cmd/kubectl-akash_net").CombinedOutput(); err != nil {
			return fmt.Errorf("go build: %w\n%s", err, out)
		}
		if err := p.StartMetalLB(context.WithoutCancel(ctx)); err != nil {
			return err
		}
		gateways, err := programs.GatewayAPICRDs(ctx)
		if err != nil {
			return err
		}
		if err := p.InstallCRDs(gateways); err != nil {
			return err
		}
		settings := filepath.Join(p.Dir, "config.yaml")
		if err := os.WriteFile(settings, []byte(configuration), 0o600); err != nil {
			return err
		}
		if out, err := command(ctx, "install", "--config", settings).CombinedOutput(); err != nil {
			return fmt.Errorf("install: %w\n%s", err, out)
		}
		return nil
	}))
}

// command is the program with arguments, for the control plane.
func command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+plane.Kubeconfig)
	return cmd
}
