package guard_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// Reconcilers may elect one in the ledger's namespace. The Lease by which they do so is judged as any other once it looks like a claim.
func TestElection(t *testing.T) {
	installGuard(t, config.Default(), true)
	ledger := harness.Objects.Resource(leases).Namespace("akash-net")
	for name, tt := range map[string]struct {
		meta    map[string]any
		refused bool
	}{
		"an election":            {map[string]any{"name": "akash-net-reconciler"}, false},
		"with a claim's label":   {map[string]any{"name": "akash-net-reconciler", "labels": map[string]any{"net.akash.network/kind": "host"}}, true},
		"with a part of a claim": {map[string]any{"name": "akash-net-reconciler", "annotations": map[string]any{"route.net.akash.network/x": "{}"}}, true},
		"failing leases":         {map[string]any{"name": "akash-net-reconciler-failing", "annotations": map[string]any{"net.akash.network/failing": "{}"}}, false},
		"with a claim's holder":  {map[string]any{"name": "akash-net-reconciler-failing", "annotations": map[string]any{"net.akash.network/bound": "{}"}}, true},
		"of another name":        {map[string]any{"name": "akash-net-reconciler-2"}, true},
	} {
		_, err := ledger.Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": tt.meta, "spec": map[string]any{"holderIdentity": "somebody"},
		}}, metav1.CreateOptions{DryRun: dryRun})
		if refused := refusedBy(err, "akash-net-claims"); refused != tt.refused || err != nil && !refused {
			t.Errorf("%s: refused %v, want %v: %v", name, refused, tt.refused, err)
		}
	}
}
