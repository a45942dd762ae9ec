package state

import (
	"net/netip"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
)

// The addresses of a node are in use: no lease is given one.
func TestNodeUses(t *testing.T) {
	entry := func(kind, address string) any { return map[string]any{"type": kind, "address": address} }
	node := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": "g1"},
		"status": map[string]any{"addresses": []any{entry("InternalIP", "203.0.113.0"), entry("Hostname", "203.0.113.2"),
			entry("ExternalIP", "::ffff:203.0.113.1"), entry("InternalIP", "g1"), entry("InternalIP", "2001:db8::1"), "odd"}},
	}}
	uses := NodeUses(node)
	var got []string
	for _, u := range uses {
		got = append(got, u.String()+" "+u.Address.String())
	}
	want := []string{"node g1 203.0.113.0", "node g1 203.0.113.1", "node g1 2001:db8::1"}
	if len(got) != 3 || got[0] != want[0] || got[1] != want[1] || got[2] != want[2] {
		t.Errorf("got %q, want %q", got, want)
	}
	ranges := config.Ranges{Include: []config.Range{{First: netip.MustParseAddr("203.0.113.0"), Last: netip.MustParseAddr("203.0.113.3")}}}
	known := NewAddresses(nil, uses)
	if a, ok := known.Next("akash1a", "key", config.IPv4, ranges, nil); !ok || a != netip.MustParseAddr("203.0.113.2") {
		t.Errorf("the lease gets %s, %t", a, ok)
	}
	if f := (Judge{Adopt: true, Group: lease.Group{Owner: "akash1a"}}).Decide(Hold{Kind: Address, Thing: "203.0.113.0"}, "k", nil, known.Foreign(uses[0].Address, "key")); f.Verdict != Held || f.By.Object != "node g1" {
		t.Errorf("by name it is %+v", f)
	}
	if len(known.InUse()) > 0 {
		t.Errorf("pools keep %s", known.InUse())
	}
}
