package apply

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/engine/observed"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/listed"
	"github.com/akash-net/kubectl-akash-net/state"
)

// manyLeases is a snapshot of n leases that Akash's provider has declared too: each with a host, an address,
// a filter, and the ProviderHost and ProviderLeasedIP that are not ours.
func manyLeases(n int) (*observed.Snapshot, []lease.Group) {
	s := observed.NewSnapshot()
	lists := map[string][]*listed.Object{}
	var claims []*state.Claim
	groups := make([]lease.Group, n)
	for i := range n {
		id := someLease(someOwner, uint64(i+1))
		groups[i] = id.Group()
		host, address := fmt.Sprintf("shop-%d.example.com", i), fmt.Sprintf("10.0.%d.%d", i/200, i%200+1)
		key := lease.SharingKey(id.Owner, fmt.Sprintf("public%d", i))
		part := []state.Part{{Lease: id}}
		claims = append(claims,
			&state.Claim{Kind: state.Host, Thing: host, Owner: id.Owner, Parts: part},
			&state.Claim{Kind: state.Address, Thing: address, Owner: id.Owner, SharingKey: key, Parts: part})
		add := func(kind kinds.Kind, name string, spec map[string]any) {
			o := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
			o.SetGroupVersionKind(kind.GroupVersionKind)
			o.SetNamespace(id.Namespace())
			o.SetName(name)
			labels := map[string]string{"external-port": "80", "proto": "tcp"}
			maps.Copy(labels, state.LeaseNamespaceLabels(id))
			o.SetLabels(labels)
			lists[kind.Plural] = append(lists[kind.Plural], listed.New("", o))
		}
		add(kinds.ProviderHost, host, map[string]any{"hostname": host})
		add(kinds.ProviderLeasedIP, lease.LeasedIPName(key, lease.TCP, 80), map[string]any{"sharing_key": key, "external_port": int64(80), "protocol": "TCP"})
		for _, kind := range kinds.Filters {
			add(kind, fmt.Sprintf("web-%d", i), nil)
		}
	}
	s.AddClaims(claims)
	s.Index(lists)
	return s, groups
}

// The work on a lease, and on a thing that a transfer names, does not grow with the number of leases.
func TestWorkOnALeaseIsItsOwn(t *testing.T) {
	things := []string{"SHOP-0.example.com", "10.0.0.1", "public0", "endpoint/public1", lease.SharingKey(someOwner, "public2"), "10.0.0.001", "free.example.com"}
	allocations := func(n int) (release, transfers float64) {
		s, groups := manyLeases(n)
		var objects []observed.Object
		for _, kind := range append([]kinds.Kind{kinds.ProviderHost, kinds.ProviderLeasedIP}, kinds.Filters...) {
			for o := range s.Of(kind) {
				if id, ok := lease.IDFromLabels(o.GetLabels()); ok && id.Group() == groups[0] {
					objects = append(objects, observed.Object{Kind: kind, Live: o, Group: groups[0]})
				}
			}
		}
		ask := func() (theirs, claims int) {
			for _, o := range objects {
				claims += len(s.Near(o))
			}
			return s.WrittenByOthers(groups[0]), claims
		}
		find := func() (names []string) {
			for _, thing := range things {
				for _, c := range (&transfer{to: someLease(someOwner, 1)}).claims(s, thing) {
					names = append(names, c.Thing)
				}
			}
			return slices.Compact(names) // an endpoint and its address
		}
		if theirs, claims := ask(); len(objects) < 3 || theirs != len(objects) || claims != 2 {
			t.Errorf("of %d leases: %d objects of others, want %d; %d claims, want those on the host and the address", n, theirs, len(objects), claims)
		}
		if got, want := find(), []string{"shop-0.example.com", "10.0.0.1", "10.0.0.2", "10.0.0.3"}; !slices.Equal(got, want) {
			t.Errorf("of %d leases: %q, want %q", n, got, want)
		}
		return testing.AllocsPerRun(10, func() { ask() }), testing.AllocsPerRun(10, func() { find() })
	}
	release, transfers := allocations(20)
	many, more := allocations(200)
	if many > 2*release || more > 2*transfers {
		t.Errorf("%.0f and %.0f allocations for one of 20 leases, %.0f and %.0f for one of 200", release, transfers, many, more)
	}
}
