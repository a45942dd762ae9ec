package observed_test

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/akash-net/kubectl-akash-net/state/inventory"
	"github.com/akash-net/kubectl-akash-net/state/inventory/observed"
)

// lines are objects of the rules, one with each name.
var lines = []string{
	"node n1 cpu=8 memory=8Gi disk=9Gi nvidia=2 label=akash.network=true label=nvidia.com/gpu.product=Tesla-T4",
	"node n2 cpu=8 memory=8Gi label=akash.network=true label=zone=a taint=a:NoSchedule", "node n3 cpu=9223372036854775807 memory=9Ei label=zone=b",
	"namespace a akash1a/1/1/1", "namespace b akash1a/1/1/1", "namespace c akash1c/1/1/1",
	"pod a n1 cpu=1 memory=1Gi nvidia=1", "pod a n3 cpu=9223372036854775807 memory=9Ei", "pod b n1 cpu=2 ram=1Gi", "pod b gone cpu=2", "pod c n2 cpu=3", "pod z n1 cpu=1",
	"class beta2 akash default", "class beta3 akash", "class local static", "class old default",
	"capacity beta2 10Gi zone=a", "capacity beta2 5Gi zone=b", "capacity beta3 7Ei", "capacity beta3 7Ei zone=a",
	"volume beta2 1Gi Bound a", "volume beta2 2Gi Bound z", "volume beta3 8Ei Bound c", "volume local 4Gi Available", "volume local 3Gi Released b",
	"reserved akash1a/1/1/1 n1 cpu=4 memory=2Gi nvidia=2", "reserved akash1c/1/1/1 beta2=5Gi", "reserved akash1d/1/1/1 addresses=18446744073709551615", "reserved akash1e/1/1/1 addresses=3",
	"leased akash1e/1/1/1 x", "leased akash1e/1/1/1 y", "leased akash1e/1/1/1 x", "leased akash1f/1/1/1 x",
}

func folded(t *testing.T, of []string) *observed.Fold {
	w := &world{t: t, holds: map[string]inventory.Hold{}}
	for _, line := range of {
		w.obey(strings.Fields(line))
	}
	return &w.fold
}

// Lists are read concurrently and in pages: the order of objects does not matter.
func TestTheOrderOfObjectsDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		some := rapid.SliceOfNDistinct(rapid.SampledFrom(lines), 0, len(lines), rapid.ID).Draw(r, "objects")
		f, g := folded(t, some), folded(t, rapid.Permutation(some).Draw(r, "order"))
		if diff := cmp.Diff(f.Capacity(), g.Capacity()); diff != "" {
			r.Fatal(diff)
		}
		for _, order := range []string{"akash1a/1/1/1", "akash1c/1/1/1", "akash1z/1/1/1"} {
			if diff := cmp.Diff(f.CapacityFor(order), g.CapacityFor(order)); diff != "" {
				r.Fatal(order, diff)
			}
		}
	})
}

// Nothing is left that does not exist, reservations never increase anything, and an order has at least as much as all
// others.
func TestWhatIsLeft(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		some := rapid.SliceOfNDistinct(rapid.SampledFrom(lines), 0, len(lines), rapid.ID).Draw(r, "objects")
		f := folded(t, some)
		all, own := f.Capacity(), f.CapacityFor("akash1a/1/1/1")
		room := func(c observed.Capacity) inventory.Room {
			return inventory.New(c.Cluster(), nil, inventory.Levels{}).Room()
		}
		a, b := room(all), room(own)
		for i, n := range a.Nodes {
			if n.Available.Least(n.Allocatable) != n.Available || n.Available.Least(b.Nodes[i].Available) != n.Available {
				r.Errorf("%s: left %+v of %+v, to the order %+v", n.Name, n.Available, n.Allocatable, b.Nodes[i].Available)
			}
		}
		for class, left := range a.Available.Storage {
			if left > a.Allocatable.Storage[class] || left > b.Available.Storage[class] {
				r.Errorf("class %s: left %d of %d, to the order %d", class, left, a.Allocatable.Storage[class], b.Available.Storage[class])
			}
		}
		f.Forget(observed.Reservations)
		c := room(f.Capacity())
		for i, n := range c.Nodes {
			if n.Available.Least(a.Nodes[i].Available) != a.Nodes[i].Available {
				r.Errorf("%s: without reservations %+v, with them %+v", n.Name, n.Available, a.Nodes[i].Available)
			}
		}
	})
}

// Reserved addresses add up without wrapping, minus the addresses that leases have.
func TestReservedAddresses(t *testing.T) {
	for want, of := range map[uint64]string{
		0: "", math.MaxUint64: "akash1d/1/1/1 akash1e/1/1/1", 1: "akash1e/1/1/1 akash1f/1/1/1",
	} {
		f := folded(t, []string{"leased akash1e/1/1/1 x", "leased akash1e/1/1/1 y"})
		for _, order := range strings.Fields(of) {
			f.Reserve(order, inventory.Hold{Addresses: map[string]uint64{"akash1d/1/1/1": math.MaxUint64, "akash1e/1/1/1": 3}[order]})
		}
		if got := f.Capacity().Reserved; got != want {
			t.Errorf("%s: %d, want %d", of, got, want)
		}
	}
}

// An empty cluster has nothing and no notes.
func TestNothing(t *testing.T) {
	var f observed.Fold
	if diff := cmp.Diff(observed.Capacity{}, f.Capacity()); diff != "" {
		t.Error(diff)
	}
	c := f.Capacity().Cluster()
	if c.Nodes == nil || c.Storage == nil || len(c.Nodes)+len(c.Storage) > 0 || c.NodePorts != nil {
		t.Errorf("%+v", c)
	}
	if u := f.Usage(); u.Addresses("") != 0 || u.Beyond("x", inventory.Hold{Addresses: 2}).Addresses != 2 {
		t.Errorf("%+v", u)
	}
}
