package reconcile_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// send writes a Manifest as Akash's provider does.
func send(t *testing.T, id lease.ID, host string) {
	t.Helper()
	labels, err := json.Marshal(id.Labels())
	if err != nil {
		t.Fatal(err)
	}
	harness.Create(t, "provider-services", kinds.Manifest.Resource(), fmt.Sprintf(`{apiVersion: akash.network/v2beta2, kind: Manifest,
		metadata: {name: %s, namespace: lease, labels: %s},
		spec: {lease_id: {owner: %s, dseq: "%d", gseq: 1, oseq: %d, provider: %s},
		group: {name: dcloud, services: [{name: web, image: nginx, count: 1, expose: [
		{port: 8080, external_port: 80, proto: TCP, global: true, hosts: [%s], endpoint_sequence_number: 0}]}]}}}`,
		id.Namespace(), labels, id.Owner, id.DSeq, id.OSeq, id.Provider, host))
}

// Leases follow the Manifests in the cluster. One that cannot be read keeps its lease as it is, and no other one from its end.
func TestManifests(t *testing.T) {
	owner := harness.NewOwner()
	first, second, third := harness.LeaseOf(owner, 1), harness.LeaseOf(owner, 2), harness.LeaseOf(owner, 3)
	one, two, three := harness.NewHost("one"), harness.NewHost("two"), harness.NewHost("three")
	send(t, first, one)
	send(t, second, two)
	harness.RunAs(t.Context(), reconciler, "reconcile", "--from-cluster").Exits(t, 0)
	routed(t, first, one, true)
	w := watch(t, "--from-cluster", "--leader-elect=false")
	send(t, third, three)
	routed(t, third, three, true)

	harness.Edit(t, "provider-services", kinds.Manifest.Resource(), "lease", first.Namespace(), func(o *unstructured.Unstructured) {
		services, _, _ := unstructured.NestedSlice(o.Object, "spec", "group", "services")
		expose := services[0].(map[string]any)["expose"].([]any)[0].(map[string]any)
		expose["hosts"] = []any{"UPPER." + one}
		if err := unstructured.SetNestedSlice(o.Object, services, "spec", "group", "services"); err != nil {
			t.Fatal(err)
		}
	})
	w.Says(t, "is not lower case")
	harness.Remove(t, kinds.Manifest.Resource(), "lease", second.Namespace())
	routed(t, second, two, false)
	if route(t, first, one) == nil {
		t.Error("the lease whose Manifest cannot be read has lost its route")
	}
	harness.Remove(t, kinds.Manifest.Resource(), "lease", first.Namespace())
	released(t, first)
	w.Stops(t)

	harness.Remove(t, kinds.Manifest.Resource(), "lease", third.Namespace())
	harness.RunAs(t.Context(), reconciler, "reconcile", "--from-cluster").Exits(t, 0)
	routed(t, third, three, true) // a source without leases is not complete
	harness.RunAs(t.Context(), reconciler, "reconcile", "--from-cluster", "--allow-empty").Exits(t, 0)
	routed(t, third, three, false)
}
