// Package appliers_test delivers rendered files by the programs that apply files: kubectl, and Flux and Argo CD by their own
// packages. It shows what each of them does to the objects of leases when it prunes, forces, or finds an empty folder.
package appliers_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/akash-net/kubectl-akash-net/hack/testbed/programs"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

func TestMain(m *testing.M) {
	if !harness.Long() {
		fmt.Println("skipped: kubectl, Flux, Argo CD and kustomize apply what is rendered with LONG=1 only, as make test-long does")
		os.Exit(0)
	}
	os.Exit(harness.Main(m, harness.Setup{Controllers: true, Pools: true, Binary: true, Then: func(ctx context.Context) error {
		if r := harness.Run(ctx, "install", "--guard", "--config", example("provider-config.yaml")); r.Code != 0 {
			return errors.New(r.String())
		}
		pools := harness.Run(ctx, "render", "pools", "--config", example("provider-config.yaml"))
		if pools.Code != 0 {
			return errors.New(pools.String())
		}
		if err := harness.Kubectl(ctx, pools.Stdout, nil, "apply", "--server-side", "-f", "-"); err != nil {
			return err
		}
		for _, args := range [][]string{
			{"apply", "--server-side", "-f", example("applyset/crd.yaml")},
			{"wait", "--for=condition=Established", "crd/applysets.pipeline.example.com"},
			{"apply", "--server-side", "--field-manager=kubectl-applyset", "-f", example("applyset/leases.yaml")},
		} {
			if err := harness.Kubectl(ctx, "", nil, args...); err != nil {
				return err
			}
		}
		return nil
	}}))
}

func example(name string) string { return filepath.Join("..", "..", "manifests", "examples", name) }

// applier is a program that makes the cluster have the objects in a folder, and prunes.
type applier struct {
	name string
	// namespaces is true if the files may have the leases' namespaces: the program does not prune them.
	namespaces bool
	apply      func(t *testing.T, folder string) error
}

// appliers returns the programs, each with nothing applied yet.
func appliers(t *testing.T) []applier {
	t.Helper()
	inventory, application := filepath.Join(t.TempDir(), "inventory.json"), fmt.Sprint("leases-", harness.Number())
	return []applier{
		{"kubectl", false, func(t *testing.T, folder string) error {
			t.Helper()
			return harness.Kubectl(t.Context(), "", []string{"KUBECTL_APPLYSET=true"},
				"apply", "--server-side", "--prune", "--applyset=applysets.pipeline.example.com/leases", "-R", "-f", folder)
		}},
		{"Flux", true, func(t *testing.T, folder string) error {
			t.Helper()
			return run(t, "flux", "-f", folder, "-inventory", inventory)
		}},
		{"Argo CD", true, func(t *testing.T, folder string) error {
			t.Helper()
			return run(t, "argocd", "-f", folder, "-app", application)
		}},
	}
}

// run runs a program of the testbed as the administrator.
func run(t *testing.T, name string, args ...string) error {
	t.Helper()
	path, err := programs.Path(name)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), path, args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+harness.Plane.Kubeconfig)
	return harness.Succeed(cmd)
}

// repository is a clone of the Git repository of a provider: definitions, and what the pipeline has rendered from them.
type repository struct{ leases, rendered string }

func clone(t *testing.T) repository {
	t.Helper()
	dir := t.TempDir()
	r := repository{leases: filepath.Join(dir, "leases"), rendered: filepath.Join(dir, "rendered")}
	for _, folder := range []string{r.leases, r.rendered} {
		if err := os.Mkdir(folder, 0o750); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// define writes the definition of a lease with a host and an IP endpoint.
func (r repository) define(t *testing.T, id lease.ID, host string) {
	t.Helper()
	r.write(t, r.definition(id), fmt.Sprintf(`apiVersion: net.akash.network/v1alpha1
kind: LeaseDefinition
metadata: {name: test}
spec:
  lease: {owner: %s, dseq: %d, gseq: %d, oseq: %d, provider: %s}
  services:
  - name: web
    expose:
    - {port: 8080, as: 80, global: true, hosts: [%s]}
    - {port: 8443, as: 443, global: true, ip: public}
  ipEndpoints:
  - name: public
`, id.Owner, id.DSeq, id.GSeq, id.OSeq, id.Provider, host))
}

// definition and file are the paths of a lease's definition and of its rendered objects.
func (r repository) definition(id lease.ID) string {
	return filepath.Join(r.leases, id.Owner+".yaml")
}

func (r repository) file(id lease.ID) string {
	return filepath.Join(r.rendered, fmt.Sprintf("%s-%d-%d.yaml", id.Owner, id.DSeq, id.GSeq))
}

func (r repository) write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (r repository) remove(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

// reserve and render are the steps of the pipeline before its files are applied.
func (r repository) reserve(t *testing.T) harness.Result {
	t.Helper()
	return harness.Run(t.Context(), "reserve", "-R", "-f", r.leases)
}

func (r repository) render(t *testing.T, a applier) harness.Result {
	t.Helper()
	args := []string{"render", "-R", "-f", r.leases, "--ledger", "cluster", "--output-dir", r.rendered, "--prune"}
	if a.namespaces {
		args = append(args, "--with-namespace")
	}
	return harness.Run(t.Context(), args...)
}

// deliver runs the whole pipeline; it has to succeed. A program that would prune the namespaces gets them otherwise.
func (r repository) deliver(t *testing.T, a applier) {
	t.Helper()
	r.reserve(t).Exits(t, 0)
	r.render(t, a).Exits(t, 0)
	if !a.namespaces {
		all := harness.Run(t.Context(), "render", "-R", "-f", r.leases, "--ledger", "cluster", "--with-namespace").Exits(t, 0)
		if err := harness.Kubectl(t.Context(), all.Stdout, nil, "apply", "--server-side", "-l", "akash.network/namespace", "-f", "-"); err != nil {
			t.Fatal(err)
		}
	}
	r.apply(t, a)
}

func (r repository) apply(t *testing.T, a applier) {
	t.Helper()
	if err := a.apply(t, r.rendered); err != nil {
		t.Fatal(err)
	}
}

// tenant returns a lease of a new owner, and a host for it.
func tenant(t *testing.T) (id lease.ID, host string) {
	return harness.LeaseOf(harness.NewOwner(t), 1), harness.NewHost("shop")
}
