package capacity_test

import (
	"testing"

	"github.com/akash-net/kubectl-akash-net/state/inventory"
	"github.com/akash-net/kubectl-akash-net/state/protocol/capacity"
)

// What is bound stands as long as what is not in use of it has room. What is in use stands wherever it is.
func TestStands(t *testing.T) {
	type nodes = map[string]inventory.Amounts
	room := func(change func(*inventory.Cluster)) capacity.Room {
		c := inventory.Cluster{
			Nodes: []inventory.Node{{Name: "n1", CPU: inventory.Amount{Allocatable: 4}, GPU: inventory.Amount{Allocatable: 2, Allocated: 1},
				Cards:   []inventory.Card{{Vendor: "nvidia", Name: "t4"}, {Vendor: "nvidia", Name: "a100"}},
				Vendors: map[string]inventory.Amount{"nvidia": {Allocatable: 2, Allocated: 1}}}},
			Storage: []inventory.Storage{{Class: "beta2", Amount: inventory.Amount{Allocatable: 100}}},
		}
		change(&c)
		return capacity.Room{Cluster: c, Addresses: &inventory.Addresses{Total: 1}}
	}
	asItIs, noNode := func(*inventory.Cluster) {}, func(c *inventory.Cluster) { c.Nodes = nil }
	noClass := func(c *inventory.Cluster) { c.Storage = nil }
	hold := func(cpu, size uint64) inventory.Hold {
		return inventory.Hold{Nodes: nodes{"n1": {CPU: cpu}}, Storage: map[string]uint64{"beta2": size}}
	}
	beside := func(bound, over bool) []capacity.Claim {
		return []capacity.Claim{{Name: "b", Bound: bound, Over: over, Hold: hold(2, 0)}}
	}
	card := func(n uint64, model string) inventory.Hold {
		return inventory.Hold{Nodes: nodes{"n1": {GPU: n}}, Cards: map[string]map[string]uint64{"n1": {model: 1}}}
	}
	for name, tt := range map[string]struct {
		change func(*inventory.Cluster)
		rest   inventory.Hold
		others []capacity.Claim
		want   bool
	}{
		"as it was":                            {asItIs, hold(4, 100), nil, true},
		"the node is smaller":                  {asItIs, hold(5, 0), nil, false},
		"the node is gone, or closed":          {noNode, hold(1, 0), nil, false},
		"the node is gone, and all is in use":  {noNode, hold(0, 100), nil, true},
		"the class is gone":                    {noClass, hold(1, 1), nil, false},
		"the class is gone, and all is in use": {noClass, hold(1, 0), nil, true},
		"beside another":                       {asItIs, hold(3, 0), beside(true, false), false},
		"beside one that has expired":          {asItIs, hold(3, 0), beside(true, true), true},
		"beside one that is announced":         {asItIs, hold(3, 0), beside(false, false), true},
		"beside another, which leaves enough":  {asItIs, hold(2, 0), beside(true, false), true},
		"an address":                           {asItIs, inventory.Hold{Addresses: 1}, nil, true},
		"the range is smaller":                 {asItIs, inventory.Hold{Addresses: 2}, nil, false},
		"a GPU":                                {asItIs, card(1, "nvidia/t4"), nil, true},
		"its own GPU is in use, and the node full": {func(c *inventory.Cluster) {
			c.Nodes[0].Vendors["nvidia"] = inventory.Amount{Allocatable: 2, Allocated: 2}
		}, card(0, "nvidia/t4"), nil, true},
		"another has chosen the GPU":     {asItIs, card(1, "nvidia/t4"), []capacity.Claim{{Name: "b", Bound: true, Hold: card(0, "nvidia/t4")}}, false},
		"another has chosen another GPU": {asItIs, card(1, "nvidia/t4"), []capacity.Claim{{Name: "b", Bound: true, Hold: card(0, "nvidia/a100")}}, true},
	} {
		if got := room(tt.change).Stands(tt.rest, tt.others); got != tt.want {
			t.Errorf("%s: stands is %t", name, got)
		}
	}
}
