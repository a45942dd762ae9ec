package apply

import (
	"net/netip"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	ot "github.com/akash-net/kubectl-akash-net/engine/observed/observedtest"
	"github.com/akash-net/kubectl-akash-net/state"
)

// An address that MetalLB has chosen has no claim: the endpoint is named.
func TestGrantedTo(t *testing.T) {
	endpoint, service := []*state.Claim{ot.Address(ot.Shop, "", 80)}, ot.Service(ot.Shop, 80, "")
	if err := unstructured.SetNestedSlice(service.Object, []any{map[string]any{"ip": "203.0.113.7"}}, "status", "loadBalancer", "ingress"); err != nil {
		t.Fatal(err)
	}
	const address = "203.0.113.7"
	chosen := state.NewChoice([]string{address})
	if got := grantedTo(ot.Shop.Group(), chosen, ot.Snapshot(endpoint, service)); got[netip.MustParseAddr(address)] != endpoint[0] {
		t.Errorf("the address is that of %v", got)
	}
	claims := []*state.Claim{ot.Address(ot.Shop, address, 80)}
	if got := grantedTo(ot.Shop.Group(), chosen, ot.Snapshot(claims, ot.Service(ot.Shop, 80, address))); len(got) > 0 {
		t.Errorf("a claimed address is that of %v", got)
	}
}
