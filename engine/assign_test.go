package engine_test

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/akash-net/kubectl-akash-net/engine"
	ot "github.com/akash-net/kubectl-akash-net/engine/observed/observedtest"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
)

// A lease whose IP endpoint names no address may get the one that its sharing key has: it is served after a lease before it that names that
// address, which here waits for the host that the last one gives up. One that names another address does not ask for it.
func TestAssignSharesAddresses(t *testing.T) {
	last, of := lease.ID{Owner: ot.Blog.Owner, DSeq: ot.Blog.DSeq + 1, GSeq: 1, OSeq: 1, Provider: ot.Blog.Provider}, netip.MustParseAddr
	for name, tt := range map[string]struct {
		names []netip.Addr
		order []int
	}{
		"no address":      {nil, []int{2, 0, 1}},
		"another address": {[]netip.Addr{of("203.0.113.8")}, []int{1, 2, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			w := engine.NewWorld()
			w.ReadAll(ot.Snapshot([]*state.Claim{ot.Address(ot.Shop, "203.0.113.7", 80), ot.Host(last, "a.example.com")}), w.Send())
			endpoint := func(id lease.ID, addresses ...netip.Addr) []state.EndpointWant {
				return []state.EndpointWant{{Name: "public", SharingKey: ot.Key(id), Addresses: addresses}}
			}
			plan := engine.Assign(w, engine.Settings{}, []engine.Want{
				{Request: state.Request{
					Lease: ot.Blog, Endpoints: endpoint(ot.Blog, of("203.0.113.7")),
					Hosts: []state.HostWant{{Host: "a.example.com", Path: "/", Service: "web", Port: 80}},
				}},
				{Request: state.Request{Lease: ot.Shop, Endpoints: endpoint(ot.Shop, tt.names...)}},
				{Request: state.Request{Lease: last}, Prune: true},
			})
			if got := plan.Order(); !slices.Equal(got, tt.order) {
				t.Errorf("order %v, want %v", got, tt.order)
			}
		})
	}
}
