package inventory_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/akash-net/kubectl-akash-net/state/inventory"
	"github.com/akash-net/kubectl-akash-net/test/golden"
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

// A refusal counts the other nodes and says only what is true of all of them; nodes that take no pods of leases are not called none, it says
// why each of them takes none: testdata/refusals.txt. A line has how many CPUs nodes have left or why they take no pods, "6x0" of six.
func TestRefusals(t *testing.T) {
	repeated := func(words []string) (out []string) {
		for _, word := range words {
			n, what, many := strings.Cut(word, "x")
			if times, err := strconv.Atoi(n); many && err == nil {
				out = append(out, slices.Repeat([]string{what}, times)...)
			} else {
				out = append(out, word)
			}
		}
		return out
	}
	golden.Rules{
		"left": func(line string) string {
			var left []uint64
			for _, word := range repeated(strings.Fields(line)) {
				n, err := strconv.ParseUint(word, 10, 64)
				if err != nil {
					t.Fatal(err)
				}
				left = append(left, n)
			}
			return refused(t, left).String()
		},
		"closed": func(line string) string {
			var c inventory.Cluster
			for i, why := range repeated(strings.Split(line, "; ")) {
				if why == "open" {
					c.Nodes = append(c.Nodes, inventory.Node{Name: "a"})
					continue
				}
				c.Closed = append(c.Closed, inventory.ClosedNode{Name: fmt.Sprintf("n%d", i), Why: why})
			}
			_, refusal := inventory.New(c, nil, inventory.Levels{}).Reserve(inventory.Group{Resources: []inventory.Resource{{ID: 1, Count: 1, CPU: 1000}}})
			return refusal.String()
		},
	}.Check(t, "testdata/refusals.txt")
}
