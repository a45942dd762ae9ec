package apply

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/state"
)

// manyLeases is a snapshot of n leases that Akash's provider has declared too: each with a host, an address,
// a filter, and the ProviderHost and ProviderLeasedIP that are not ours.
func manyLeases(n int) (*observed.Snapshot, []lease.Group) {
	s := observed.NewSnapshot()
	lists := map[string][]*unstructured.Unstructured{}
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
			lists[kind.Plural] = append(lists[kind.Plural], o)
		}
		add(kinds.ProviderHost, host, map[string]any{"hostname": host})
		add(kinds.ProviderLeasedIP, lease.LeasedIPName(key, lease.TCP, 80), map[string]any{"sharing_key": key, "external_port": int64(80), "protocol": "TCP"})
		for _, kind := range kinds.Filters {
			add(kind, fmt.Sprintf("web-%d", i), nil)
		}
	}
	s.AddClaims(claims)
	s.Index(claims, lists)
	return s, groups
}

// askOf asks what a release asks of a snapshot for one lease.
func askOf(s *observed.Snapshot, objects []observed.Owned, group lease.Group) (theirs, claims int) {
	for _, o := range objects {
		claims += len(s.ClaimsNear(o))
	}
	return s.WrittenByOthers(group), claims
}

// ofGroup are all objects of a group, whoever wrote them.
func ofGroup(s *observed.Snapshot, group lease.Group) (objects []observed.Owned) {
	for _, kind := range append([]kinds.Kind{kinds.ProviderHost, kinds.ProviderLeasedIP}, kinds.Filters...) {
		for o := range s.Of(kind) {
			if id, ok := lease.IDFromLabels(o.GetLabels()); ok && id.Group() == group {
				objects = append(objects, observed.Owned{Kind: kind, Live: o, Group: group})
			}
		}
	}
	return objects
}

// The work on a lease does not grow with the number of leases.
func TestWorkOnALeaseIsItsOwn(t *testing.T) {
	allocations := func(n int) float64 {
		s, groups := manyLeases(n)
		objects := ofGroup(s, groups[0])
		if len(objects) < 3 {
			t.Fatalf("%d objects", len(objects))
		}
		if theirs, claims := askOf(s, objects, groups[0]); theirs != len(objects) || claims != 2 {
			t.Errorf("of %d leases: %d objects of others, want %d; %d claims, want those on the host and the address", n, theirs, len(objects), claims)
		}
		return testing.AllocsPerRun(10, func() { askOf(s, objects, groups[0]) })
	}
	few, many := allocations(20), allocations(200)
	if many > 2*few {
		t.Errorf("%.0f allocations for one of 20 leases, %.0f for one of 200", few, many)
	}
}

// What a transfer names is found at once, however many claims there are.
func TestWorkOnAThingIsItsOwn(t *testing.T) {
	allocations := func(n int) float64 {
		s, _ := manyLeases(n)
		r := &transfer{to: someLease(someOwner, 1)}
		things := []string{"SHOP-0.example.com", "10.0.0.1", "public0", "endpoint/public1", lease.SharingKey(someOwner, "public2"), "10.0.0.001", "free.example.com"}
		var names []string
		find := func() {
			names = nil
			for _, thing := range things {
				for _, c := range r.claims(s, thing) {
					names = append(names, c.Thing)
				}
			}
		}
		find()
		names = slices.Compact(names) // an endpoint and its address
		if want := []string{"shop-0.example.com", "10.0.0.1", "10.0.0.2", "10.0.0.3"}; !slices.Equal(names, want) {
			t.Errorf("of %d leases: %q, want %q", n, names, want)
		}
		return testing.AllocsPerRun(10, find)
	}
	few, many := allocations(20), allocations(200)
	if many > 2*few {
		t.Errorf("%.0f allocations for what is named among 20 leases, %.0f among 200", few, many)
	}
}

func BenchmarkReleaseQuestions(b *testing.B) {
	for _, n := range []int{200, 2000} {
		s, groups := manyLeases(n)
		objects := map[lease.Group][]observed.Owned{}
		for _, kind := range []kinds.Kind{kinds.ProviderHost, kinds.ProviderLeasedIP} {
			for o := range s.Of(kind) {
				id, _ := lease.IDFromLabels(o.GetLabels())
				objects[id.Group()] = append(objects[id.Group()], observed.Owned{Kind: kind, Live: o, Group: id.Group()})
			}
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				for _, g := range groups {
					askOf(s, objects[g], g)
				}
			}
		})
	}
}

// A panic in the release of one lease is its error; the other leases are released.
func TestFaultInAReleaseIsItsError(t *testing.T) {
	s, c := newServer(t, 1)
	first, second := someLease(someOwner, 1), someLease(someOwner, 2)
	a, _ := applier(t, c)
	if err := a.Apply(t.Context(), []*lease.Definition{withHosts(first, "a.example.com"), withHosts(second, "b.example.com")}); err != nil {
		t.Fatal(err)
	}
	a.Command.Options.Report = func(e report.Event) {
		if e.Action == report.Deleted && e.Lease.Group() == first.Group() {
			panic("broken")
		}
	}
	err := a.Release(t.Context(), []lease.Group{first.Group(), second.Group()})
	if _, ok := errors.AsType[*parallel.FaultError](err); !ok {
		t.Errorf("got %v", err)
	}
	if s.objects[claimPath+state.HostName("b.example.com")] != nil {
		t.Error("the other lease was not released")
	}
	if s.objects[claimPath+state.HostName("a.example.com")] == nil {
		t.Error("the claim is gone, though the release of its lease has failed")
	}
}
