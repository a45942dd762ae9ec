package observed_test

import (
	"testing"

	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/statetest"
)

// Only hosts that have a ProviderHost are warned of: not paths and wildcards, and nothing while no operator runs.
func TestWarnings(t *testing.T) {
	r := state.Request{Lease: statetest.Shop, Hosts: []state.HostWant{
		{Host: "shop.example.com", Path: "/", Service: "web", Port: 80, At: lease.Place{File: "f", Line: 3, Column: 5}},
		{Host: "shop.example.com", Path: "/v1", Service: "api", Port: 80},
		{Host: "*.example.com", Path: "/", Service: "web", Port: 80},
	}}
	const want = "f:3:5: shop.example.com: lease "
	if got := (observed.Manifests{}).Warnings(r); len(got) != 1 || got.Failed() || got[0].Error()[:len(want)] != want {
		t.Errorf("got %v", got)
	}
	if got := (observed.Manifests{statetest.Shop.Namespace(): manifest("web", 1, 80, 80, true)}).Warnings(r); len(got) != 0 {
		t.Errorf("got %v, and the operator finds it", got)
	}
	if got := observed.Manifests(nil).Warnings(r); len(got) != 0 {
		t.Errorf("got %v, and no operator runs", got)
	}
}
