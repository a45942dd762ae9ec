package inventory_test

import (
	"maps"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/akash-net/kubectl-akash-net/state/inventory"
)

var drawHold = rapid.Custom(func(t *rapid.T) inventory.Hold {
	n := rapid.OneOf(rapid.Uint64Range(0, 4), rapid.SampledFrom([]uint64{math.MaxInt64, math.MaxUint64 - 1, math.MaxUint64}))
	var h inventory.Hold
	if rapid.Bool().Draw(t, "nodes") {
		h.Nodes = rapid.MapOfN(rapid.SampledFrom([]string{"a", "b", "gone"}), rapid.Custom(func(t *rapid.T) inventory.Amounts {
			return inventory.Amounts{CPU: n.Draw(t, "cpu"), GPU: n.Draw(t, "gpu"), Memory: n.Draw(t, "memory"), EphemeralStorage: n.Draw(t, "disk")}
		}), 0, 3).Draw(t, "on nodes")
	}
	if rapid.Bool().Draw(t, "storage") {
		h.Storage = rapid.MapOfN(rapid.SampledFrom([]string{"beta2", "beta3"}), n, 0, 2).Draw(t, "classes")
	}
	h.Addresses, h.NodePorts = n.Draw(t, "addresses"), n.Draw(t, "ports")
	return h
})

// same compares holds. An amount of 0 equals a missing one.
func same(a, b inventory.Hold) bool { return covers(a, b) && covers(b, a) }

// covers reports whether a holds at least as much as b of everything.
func covers(a, b inventory.Hold) bool {
	for name, x := range b.Nodes {
		if y := a.Nodes[name]; y.CPU < x.CPU || y.GPU < x.GPU || y.Memory < x.Memory || y.EphemeralStorage < x.EphemeralStorage {
			return false
		}
	}
	for class, x := range b.Storage {
		if a.Storage[class] < x {
			return false
		}
	}
	return a.Addresses >= b.Addresses && a.NodePorts >= b.NodePorts
}

// An order that moves holds the larger of what it has and what it moves to, in either order: no less, so that none of
// it is sold meanwhile, and no more, so that nobody is refused needlessly.
func TestLargerIsTheLeastThatCoversBoth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := drawHold.Draw(t, "a"), drawHold.Draw(t, "b"), drawHold.Draw(t, "c")
		both := a.Larger(b)
		if !covers(both, a) || !covers(both, b) {
			t.Errorf("%+v does not cover %+v and %+v", both, a, b)
		}
		if covers(c, a) && covers(c, b) && !covers(c, both) {
			t.Errorf("%+v covers both, and not %+v", c, both)
		}
		if !same(both, b.Larger(a)) || !same(both.Larger(c), a.Larger(b.Larger(c))) || !same(a.Larger(a), a) || !same(a.Larger(inventory.Hold{}), a) {
			t.Error("it depends on the order, or grows by itself")
		}
		if !same(both.Minus(a), b.Minus(a)) || !same(a.Minus(a), inventory.Hold{}) || !same(a.Minus(inventory.Hold{}), a) {
			t.Error("what it is beyond one is not what the other is beyond it")
		}
	})
}

// Computations do not change their holds and clusters: a run uses one cluster again and again.
func TestHoldsAndClustersAreValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cluster, a, b := drawCluster(t), drawHold.Draw(t, "a"), drawHold.Draw(t, "b")
		nodes, storage := append([]inventory.Node{}, cluster.Nodes...), append([]inventory.Storage{}, cluster.Storage...)
		ports := inventory.Amount{}
		if cluster.NodePorts != nil {
			ports = *cluster.NodePorts
		}
		copyOf := inventory.Hold{Nodes: maps.Clone(a.Nodes), Storage: maps.Clone(a.Storage), Addresses: a.Addresses, NodePorts: a.NodePorts}
		for range 2 {
			a.Larger(b)
			b.Larger(a).Minus(a).Total()
			cluster.Less(a, b).Has(a)
			inventory.New(cluster, nil, inventory.Levels{}).Count(inventory.Reservation{State: inventory.Pending, Group: drawGroup(t)})
		}
		if diff := cmp.Diff(copyOf, a); diff != "" {
			t.Error(diff)
		}
		if !cmp.Equal(nodes, append([]inventory.Node{}, cluster.Nodes...)) || !cmp.Equal(storage, append([]inventory.Storage{}, cluster.Storage...)) ||
			cluster.NodePorts != nil && ports != *cluster.NodePorts {
			t.Error("the cluster has changed")
		}
	})
}

// Holds are subtracted from a cluster in any order. What it has room for can be subtracted to the byte; if it has no
// room, 0 is left.
func TestLessAndHas(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cluster, a, b := drawCluster(t), drawHold.Draw(t, "a"), drawHold.Draw(t, "b")
		room := func(c inventory.Cluster) inventory.Room { return inventory.New(c, nil, inventory.Levels{}).Room() }
		if diff := cmp.Diff(room(cluster.Less(a, b)), room(cluster.Less(b, a))); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(room(cluster.Less(a, b)), room(cluster.Less(a).Less(b))); diff != "" {
			t.Error(diff)
		}
		before, after := room(cluster), room(cluster.Less(a))
		fits := true
		for i, n := range before.Nodes {
			held := a.Nodes[n.Name]
			if diff := cmp.Diff(n.Available.Minus(held), after.Nodes[i].Available); diff != "" {
				t.Errorf("on %s: %s", n.Name, diff)
			}
			fits = fits && n.Available.Least(held) == held
		}
		for name := range a.Nodes {
			fits = fits && containsNode(cluster, name)
		}
		for class, size := range a.Storage {
			first, there := inventory.Storage{}, false
			for _, s := range cluster.Storage {
				if s.Class == class && !there {
					first, there = s, true
				}
			}
			fits = fits && there && size <= first.Available()
		}
		fits = fits && (cluster.NodePorts == nil || a.NodePorts <= cluster.NodePorts.Available())
		if cluster.Has(a) != fits {
			t.Errorf("the cluster has room is %t, want %t", !fits, fits)
		}
	})
}

func containsNode(c inventory.Cluster, name string) bool {
	for _, n := range c.Nodes {
		if n.Name == name {
			return true
		}
	}
	return false
}
