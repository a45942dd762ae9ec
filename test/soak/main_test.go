// Package soak_test leaves the ledger to many tenants at once: random commands, as processes of the
// real program against a real API server with MetalLB, some of them killed. When it is over the
// ledger is audited by a reading of its own, next to what the program says of itself, then mended.
//
// SOAK says for how long (`make soak`: ten minutes); without it the soak is short.
package soak_test

import (
	"context"
	"os"
	"os/exec"
	"testing"

	"github.com/akash-net/kubectl-akash-net/test/harness"
)

func TestMain(m *testing.M) {
	os.Exit(harness.Main(m, harness.Setup{MetalLB: true, Gateways: true, Binary: true, Reconciler: true, Install: true, Config: configuration}))
}

// command is the program with arguments, for the control plane.
func command(ctx context.Context, args ...string) *exec.Cmd {
	return harness.Command(ctx, harness.Plane.Kubeconfig, args...)
}
