//go:build linux

package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/akash-net/kubectl-akash-net/hack/testbed/programs"
)

// tools are the paths of the programs that are compared.
type tools struct {
	plugin, kubectl, helm, kustomize, flux, startup, measure string
}

// build builds what is compared with: each tool from the wrapper module in the folder of its name,
// which pins its version. go build does nothing where nothing has changed. plugin is the program
// that is measured; where it is empty, the one that `make build` made.
func build(ctx context.Context, root, plugin string, others bool) (tools, error) {
	bin := filepath.Join(root, ".cache", "bin")
	t := tools{
		plugin:    cmp.Or(plugin, filepath.Join(root, "bin", "kubectl-akash_net")),
		helm:      filepath.Join(bin, "helm"),
		kustomize: filepath.Join(bin, "kustomize"),
		flux:      filepath.Join(bin, "flux"),
		startup:   filepath.Join(bin, "startup"),
		measure:   filepath.Join(bin, "measure"),
	}
	if _, err := os.Stat(t.plugin); err != nil {
		return t, fmt.Errorf("%w: build it with: make build", err)
	}
	var err error
	if t.kubectl, err = programs.Path("kubectl"); err != nil {
		return t, err
	}
	type target struct{ dir, pkg, to string }
	targets := []target{{".", "./bench/startup", t.startup}, {".", "./bench/measure", t.measure}}
	if others {
		fmt.Fprintln(os.Stderr, "building helm, kustomize and flux's ssa from their Go modules; the first time takes about 7 minutes")
		targets = append(targets, target{"bench/helm", "helm.sh/helm/v4/cmd/helm", t.helm},
			target{"bench/kustomize", "sigs.k8s.io/kustomize/kustomize/v5", t.kustomize}, target{"bench/flux", ".", t.flux})
	}
	for _, b := range targets {
		cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", b.to, b.pkg) //nolint:gosec // fixed arguments
		cmd.Dir = filepath.Join(root, b.dir)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
		cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
		if err := cmd.Run(); err != nil {
			return t, fmt.Errorf("go build %s: %w", b.pkg, err)
		}
	}
	return t, nil
}
