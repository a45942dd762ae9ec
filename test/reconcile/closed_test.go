package reconcile_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// LeaseFails of a lease that fails goes away when that is closed, however it is closed: its file or its Manifest goes, an event or a person
// ends it, and also while no reconciler runs.
func TestClosedLeasesFailNoMore(t *testing.T) { // alone: it heals what other tests have
	harness.Run(t.Context(), "release", "--all", "--yes", "--force").Exits(t, 0)
	dir, owner, theirs := newFolder(t), harness.NewOwner(t), harness.NewHost("theirs")
	filed, later, deployed := harness.LeaseOf(owner, 1), harness.LeaseOf(owner, 2), harness.LeaseOf(owner, 3)
	told, typed := harness.LeaseOf(owner, 4), harness.LeaseOf(owner, 5)
	harness.Run(t.Context(), "reserve", theirs, "--lease", harness.LeaseOf(harness.NewOwner(t), 1).String()).Exits(t, 0)
	dir.define(t, harness.LeaseOf(owner, 6), harness.NewHost("stays"))
	dir.define(t, filed, theirs)
	dir.define(t, later, theirs)
	deploy(t, harness.LeaseOf(owner, 7), "web", serves(harness.NewHost("stays"), ""))
	deploy(t, deployed, "web", serves(theirs, ""))
	one, two := harness.NewHost("told"), harness.NewHost("typed")
	acks, _ := tells(t, received(told, one))
	wantAcks(t, acks, "1 ManifestReceived done")
	harness.Run(t.Context(), "apply", "--wait=false", "-f", harness.Define(t, typed, []string{"{name: web, expose: [{port: 80, global: true, hosts: [" + two + "]}]}"}, nil)).Exits(t, 0)
	strangerTakes(t, told, one)
	strangerTakes(t, typed, two)
	args := []string{"-f", dir.path, "--source", "closed", "--from-cluster", "--heal", "--leader-elect=false"}
	w := watch(t, args...)
	all := []lease.ID{filed, later, deployed, told, typed}
	for _, id := range all {
		showsProblem(t, state.LeaseFails+"/"+id.String(), true)
	}
	dir.remove(t, filed)
	harness.Remove(t, kinds.Manifest.Resource(), "lease", deployed.Namespace())
	acks, _ = tells(t, closed(told))
	wantAcks(t, acks, "1 LeaseClosed done released")
	harness.Run(t.Context(), "release", typed.Group().String()).Exits(t, 0)
	for _, id := range []lease.ID{filed, deployed, told, typed} {
		showsProblem(t, state.LeaseFails+"/"+id.String(), false)
	}
	showsProblem(t, state.LeaseFails+"/"+later.String(), true)
	w.Kill()
	dir.remove(t, later)
	watch(t, args...)
	showsProblem(t, state.LeaseFails+"/"+later.String(), false)
}

// strangerTakes lets another program apply a field of a lease's route.
func strangerTakes(t *testing.T, id lease.ID, host string) {
	t.Helper()
	o := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "networking.k8s.io/v1", "kind": "Ingress",
		"metadata": map[string]any{"name": host, "annotations": map[string]any{readTimeout: "7"}},
	}}
	if _, err := harness.Objects.Resource(ingresses).Namespace(id.Namespace()).Apply(t.Context(), host, o, metav1.ApplyOptions{FieldManager: "stranger", Force: true}); err != nil {
		t.Fatal(err)
	}
}
