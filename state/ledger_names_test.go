package state_test

import (
	"net/netip"
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/kept"
	"github.com/akash-net/kubectl-akash-net/state/reserved"
)

// No host has a name that the program writes into the ledger's namespace for something else.
func TestNamesOfTheLedger(t *testing.T) {
	id := lease.ID{Owner: "akash1n44zc8l6gfm0hpydldndpg8n05xjjwmuahc6nn", DSeq: 1, GSeq: 1, OSeq: 1}
	for what, name := range map[string]string{
		"an address":        state.AddressName(netip.MustParseAddr("203.0.113.7")),
		"an IPv6 address":   state.AddressName(netip.MustParseAddr("2001:db8::1")),
		"an endpoint":       state.EndpointName("key"),
		"a wildcard":        state.HostName("*.example.com"),
		"a reservation":     reserved.Name(id.Order()),
		"a kept definition": kept.Name(id.Group()),
		"an announcement":   (&state.Announcement{Nonce: "abcdefghijklm"}).Name(),
		"an election":       state.ElectionName([]string{"prod"}),
		"a record":          state.FailingName([]string{"prod"}),
		"another record":    state.ReleasedName("prod"),
	} {
		if lease.CheckHost(name) == nil {
			t.Errorf("%s is %s, which a host may have", what, name)
		}
	}
	if state.ElectionName([]string{"prod"}) == state.ElectionName([]string{"test"}) || state.ElectionName(nil) == state.FailingName(nil) {
		t.Error("two sets of sources elect by one Lease")
	}
	for _, host := range []string{"akash-net-reconciler", "akash-net-reconciler-failing", "eleven.example.com"} {
		if err := lease.CheckHost(host); err != nil {
			t.Error(err)
		}
	}
}
