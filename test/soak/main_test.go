// Package soak_test leaves the ledger to many tenants at once: random commands, as processes of the
// real program against a real API server with MetalLB, some of them killed. When it is over the
// ledger is audited by a reading of its own, next to what the program says of itself, then mended.
//
// SOAK says for how long (`make soak`: ten minutes). With LONG alone the soak is short, and without either only the audit is tested.
package soak_test

import (
	"context"
	"os"
	"os/exec"
	"testing"

	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// asked reports whether the control plane is to be left to the tenants.
func asked() bool { return os.Getenv("SOAK") != "" || os.Getenv("LONG") != "" }

// onPlane skips a test that needs the control plane, unless it is asked for.
func onPlane(t *testing.T) {
	t.Helper()
	if !asked() {
		t.Skip("with LONG=1, or at length with SOAK=10m (make soak)")
	}
}

func TestMain(m *testing.M) {
	if !asked() {
		os.Exit(m.Run())
	}
	os.Exit(harness.Main(m, harness.Setup{MetalLB: true, Gateways: true, Binary: true, Reconciler: true, Install: true, Config: configuration}))
}

// command is the program with arguments, for the control plane.
func command(ctx context.Context, args ...string) *exec.Cmd {
	return harness.Command(ctx, harness.Plane.Kubeconfig, args...)
}
