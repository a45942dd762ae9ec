package inventory_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/akash-net/kubectl-akash-net/state/inventory"
)

// refused asks a cluster of nodes with the given numbers of CPUs for one CPU more than any node has.
func refused(t interface{ Fatal(...any) }, left []uint64) *inventory.Refusal {
	var c inventory.Cluster
	for i, n := range left {
		c.Nodes = append(c.Nodes, inventory.Node{Name: fmt.Sprintf("n%d", i), CPU: inventory.Amount{Allocatable: int64(n)}})
	}
	wanted := uint64(1)
	if len(left) > 0 {
		wanted += slices.Max(left)
	}
	_, refusal := inventory.New(c, nil, inventory.Levels{}).Reserve(inventory.Group{Resources: []inventory.Resource{{ID: 1, Count: 1, CPU: wanted}}})
	if refusal == nil {
		t.Fatal("it fits")
	}
	return refusal
}

// In a large cluster a refusal names few nodes, those with something left first, each kind in the order of the cluster,
// and counts all of them.
func TestARefusalNamesFewNodes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		left := rapid.SliceOfN(rapid.SampledFrom([]uint64{0, 0, 1, 2000}), 0, 60).Draw(t, "left")
		r := refused(t, left)
		var want []string
		for _, empty := range []bool{false, true} {
			for i, n := range left {
				if (n == 0) == empty {
					want = append(want, fmt.Sprintf("n%d", i))
				}
			}
		}
		var got []string
		for _, n := range r.Nodes {
			got = append(got, n.Node)
		}
		if want = want[:min(len(want), 10)]; !slices.Equal(got, want) {
			t.Errorf("named are %v, want %v", got, want)
		}
		empty := len(left) - len(slices.DeleteFunc(slices.Clone(left), func(n uint64) bool { return n == 0 }))
		if r.Tried != len(left) || r.Empty != empty {
			t.Errorf("%d tried and %d empty, want %d and %d", r.Tried, r.Empty, len(left), empty)
		}
		if n := strings.Count(r.String(), "node n"); n > 5 || n == 0 && len(left) > 0 {
			t.Errorf("%d nodes are told: %s", n, r)
		}
	})
}

// Nodes that take no pods of leases are not called none: the refusal says why each of them takes none.
func TestARefusalWithoutAnOpenNodeSaysWhy(t *testing.T) {
	closed := func(whys ...string) inventory.Cluster {
		var c inventory.Cluster
		for i, why := range whys {
			c.Closed = append(c.Closed, inventory.ClosedNode{Name: fmt.Sprintf("n%d", i), Why: why})
		}
		return c
	}
	const needs = "resource 1 needs a node, and "
	open := closed("it is cordoned")
	open.Nodes = []inventory.Node{{Name: "a"}}
	for want, c := range map[string]inventory.Cluster{
		needs + "the cluster has none":                                                     {},
		needs + "none takes pods of leases: node n0 is cordoned":                           closed("it is cordoned"),
		needs + "none takes pods of leases: node n0 is not ready, node n1 has the taint a": closed("it is not ready", "it has the taint a"),
		needs + "none takes pods of leases: " + fiveCordoned + ", 1 other takes none":      closed(slices.Repeat([]string{"it is cordoned"}, 6)...),
		needs + "none takes pods of leases: " + fiveCordoned + ", 35 others take none":     closed(slices.Repeat([]string{"it is cordoned"}, 40)...),
		"no node has 1 CPU: node a has 0 left":                                             open,
	} {
		_, refusal := inventory.New(c, nil, inventory.Levels{}).Reserve(inventory.Group{Resources: []inventory.Resource{{ID: 1, Count: 1, CPU: 1000}}})
		if got := refusal.String(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

const fiveCordoned = "node n0 is cordoned, node n1 is cordoned, node n2 is cordoned, node n3 is cordoned, node n4 is cordoned"

// A refusal counts the other nodes and says only what is true of all of them.
func TestTheOthersAreCounted(t *testing.T) {
	times := func(n int, left uint64) []uint64 { return slices.Repeat([]uint64{left}, n) }
	for _, c := range []struct {
		left []uint64
		want string
	}{
		{nil, "resource 1 needs a node, and the cluster has none"},
		{times(1, 0), "no node has 1m CPU: node n0 has 0 left"},
		{times(5, 0), "no node has 1m CPU: node n0 has 0 left, node n1 has 0 left, node n2 has 0 left, node n3 has 0 left, node n4 has 0 left"},
		{times(6, 0), "no node has 1m CPU: node n0 has 0 left, node n1 has 0 left, node n2 has 0 left, node n3 has 0 left, node n4 has 0 left, 1 other has none"},
		{times(40, 0), "no node has 1m CPU: node n0 has 0 left, node n1 has 0 left, node n2 has 0 left, node n3 has 0 left, node n4 has 0 left, 35 others have none"},
		{append(times(3, 0), 7), "no node has 8m CPU: node n3 has 7m left, 3 others have none"},
		{append(times(30, 0), 7, 7), "no node has 8m CPU: node n30 has 7m left, node n31 has 7m left, 30 others have none"},
		{times(6, 7), "no node has 8m CPU: node n0 has 7m left, node n1 has 7m left, node n2 has 7m left, node n3 has 7m left, node n4 has 7m left, 1 other has too little"},
		{append(times(6, 7), 0), "no node has 8m CPU: node n0 has 7m left, node n1 has 7m left, node n2 has 7m left, node n3 has 7m left, node n4 has 7m left, 2 others have too little"},
		{append(times(5, 7), 0), "no node has 8m CPU: node n0 has 7m left, node n1 has 7m left, node n2 has 7m left, node n3 has 7m left, node n4 has 7m left, 1 other has none"},
	} {
		if got := refused(t, c.left).String(); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}
