package documents

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/statetest"
)

// A claim is one in the ledger's namespace: tenants may write Leases in their own.
func TestClaimsAreInTheLedger(t *testing.T) {
	ledger := addressLedger{namespace: "akash-net"}
	for _, namespace := range []string{"akash-net", "default", ""} {
		o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "coordination.k8s.io/v1", "kind": "Lease"}}
		o.SetName("ip--203-0-113-7")
		o.SetNamespace(namespace)
		o.SetLabels(map[string]string{state.LabelKind: string(state.Address), state.LabelOwner: statetest.Shop.Owner})
		ledger.add(o)
	}
	if len(ledger.claims) != 1 {
		t.Errorf("%d claims", len(ledger.claims))
	}
}
