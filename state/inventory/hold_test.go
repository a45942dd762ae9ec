package inventory_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/akash-net/kubectl-akash-net/state/inventory"
)

// A grant holds exactly what the inventory has less after it, and a cluster with room for the group has room for the
// hold.
func TestAHoldIsWhatWasTaken(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cluster := drawCluster(t)
		inv := inventory.New(cluster, &inventory.Addresses{Total: 3}, inventory.Levels{CPU: 2, Storage: 1.5})
		g := drawGroup(t)
		grant, refusal := inv.Reserve(g)
		if refusal != nil {
			return
		}
		h := grant.Hold(g)
		if !cluster.Has(h) {
			t.Fatalf("the cluster has no room for %+v", h)
		}
		left, want := inventory.New(cluster.Less(h), nil, inventory.Levels{}).Room(), inv.Room()
		if diff := cmp.Diff(want.Nodes, left.Nodes); diff != "" {
			t.Errorf("nodes: %s", diff)
		}
		if diff := cmp.Diff(want.Available, left.Available); diff != "" {
			t.Errorf("in all: %s", diff)
		}
	})
}

func TestHold(t *testing.T) {
	asked := inventory.Group{Resources: []inventory.Resource{{ID: 1, Count: 2, CPU: 3, Memory: 5, GPU: inventory.GPU{Units: 1, Attributes: []string{"vendor/nvidia/model/*"}}, Storage: []inventory.Volume{
		{Size: 10}, {Size: 20}, {Size: 7, Attributes: inventory.VolumeAttributes{Class: "ram", Persistent: "false"}}, {Size: 100, Attributes: inventory.VolumeAttributes{Class: "beta2", Persistent: "true"}}},
		Endpoints: []inventory.Endpoint{{Kind: inventory.RandomPort}, {Kind: inventory.SharedHTTP}, {Kind: inventory.RandomPort}}}}}
	room := inventory.Amount{Allocatable: 1000}
	node := inventory.Node{Name: "n1", CPU: room, Memory: room, EphemeralStorage: room, GPU: room, StorageClasses: []string{"beta2"}, Cards: []inventory.Card{{Vendor: "nvidia", Name: "t4"}}}
	cluster := inventory.Cluster{Nodes: []inventory.Node{node}, Storage: []inventory.Storage{{Class: "beta2", Amount: room}}, NodePorts: &inventory.Amount{Allocatable: 1000}}
	grant, refusal := inventory.New(cluster, nil, inventory.Levels{}).Reserve(asked)
	if refusal != nil {
		t.Fatal(refusal)
	}
	want := inventory.Hold{Nodes: map[string]inventory.Amounts{"n1": {CPU: 6, Memory: 24, EphemeralStorage: 60, GPU: 2, Pods: 2}}, Storage: map[string]uint64{"beta2": 200}, NodePorts: 2, Cards: map[string]map[string]uint64{"n1": {"nvidia/t4": 2}}}
	if diff := cmp.Diff(want, grant.Hold(asked)); diff != "" {
		t.Error(diff)
	}
	for name, lack := range map[string]inventory.Hold{
		"cpu": {Nodes: map[string]inventory.Amounts{"n1": {CPU: 1001}}}, "memory": {Nodes: map[string]inventory.Amounts{"n1": {Memory: 1001}}},
		"disk": {Nodes: map[string]inventory.Amounts{"n1": {EphemeralStorage: 1001}}}, "gpu": {Nodes: map[string]inventory.Amounts{"n1": {GPU: 1001}}},
		"no such node": {Nodes: map[string]inventory.Amounts{"n2": {}}}, "storage": {Storage: map[string]uint64{"beta2": 1001}}, "no such class": {Storage: map[string]uint64{"beta3": 1}},
		"node ports": {NodePorts: 1001},
	} {
		if cluster.Has(lack) {
			t.Errorf("%s: the cluster has room for %+v", name, lack)
		}
	}
	// Holds on missing nodes and classes count nothing and do not wrap.
	much := inventory.Hold{Nodes: map[string]inventory.Amounts{"n1": {CPU: 1<<64 - 1}, "n2": {CPU: 1}}, Storage: map[string]uint64{"beta2": 1<<64 - 1, "beta3": 1}}
	if left := inventory.New(cluster.Less(much, much), nil, inventory.Levels{}).Room().Available; left.CPU != 0 || left.Storage["beta2"] != 0 || left.Memory != 1000 {
		t.Errorf("left is %+v", left)
	}
}
