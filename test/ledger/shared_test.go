package ledger_test

import (
	"net/netip"
	"testing"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// The leases of one command that share a claim write it one after the other: each knows what the one before has left.
func TestLeasesOfOneCommandShareAnAddress(t *testing.T) {
	c := newClient(t, settings(t, "203.0.113.112/30"))
	var requests []state.Request
	var groups []lease.Group
	for i := range uint16(24) {
		id := leaseOf("shares an address", uint64(i+1))
		groups = append(groups, id.Group())
		requests = append(requests, state.Request{Lease: id, Endpoints: []state.EndpointWant{{
			Name: "public", SharingKey: lease.SharingKey(id.Owner, "public"), Addresses: []netip.Addr{netip.MustParseAddr("203.0.113.113")},
			Ports: []state.PortWant{{Protocol: lease.TCP, ExternalPort: 1000 + i, Service: "web", Port: 80}},
		}}})
	}
	c.opts.Concurrency = len(requests)
	if err := c.applier().Reserve(t.Context(), requests); err != nil {
		t.Fatal(err)
	}
	if err := c.applier().Release(t.Context(), groups); err != nil {
		t.Error(err)
	}
	if left := harness.List(t, cluster.Leases, state.LabelOwner+"="+groups[0].Owner); len(left) > 0 {
		t.Errorf("%d claims are left", len(left))
	}
}
