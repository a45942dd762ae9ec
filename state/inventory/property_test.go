package inventory_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/akash-net/kubectl-akash-net/state/inventory"
)

// Most amounts are small, so that groups fit until one is exceeded by one; one in twenty may overflow.
var huge = []uint64{100, math.MaxInt64 - 1, math.MaxInt64, math.MaxInt64 + 1, math.MaxUint64}

func drawAmount(t *rapid.T) inventory.Amount {
	if rapid.IntRange(0, 9).Draw(t, "odd") == 0 {
		all := rapid.SampledFrom([]int64{-1, 0, 100, math.MaxInt64}).Draw(t, "allocatable")
		return inventory.Amount{Allocatable: all, Allocated: rapid.SampledFrom([]int64{0, 1, 101, math.MaxInt64}).Draw(t, "allocated")}
	}
	return inventory.Amount{Allocatable: rapid.Int64Range(2, 9).Draw(t, "allocatable"), Allocated: rapid.Int64Range(0, 2).Draw(t, "allocated")}
}

var drawWanted = rapid.Custom(func(t *rapid.T) uint64 {
	if rapid.IntRange(0, 29).Draw(t, "odd") == 0 {
		return rapid.SampledFrom(huge).Draw(t, "amount")
	}
	return rapid.Uint64Range(0, 3).Draw(t, "amount")
})

var classes = []string{"beta2", "beta2", "beta2", "beta3", "default", "ram", ""}

func drawCluster(t *rapid.T) inventory.Cluster {
	var c inventory.Cluster
	rich := rapid.Bool().Draw(t, "rich") // only storage, cards and ports are scarce
	for range rapid.SampledFrom([]int{0, 1, 2, 3, 4, 4, 4}).Draw(t, "nodes") {
		n := inventory.Node{Name: string(rune('a' + len(c.Nodes))), CPU: drawAmount(t), Memory: drawAmount(t), EphemeralStorage: drawAmount(t), GPU: drawAmount(t)}
		if rich {
			n.CPU, n.Memory = inventory.Amount{Allocatable: 99}, inventory.Amount{Allocatable: inventory.Unlimited}
		}
		n.StorageClasses = rapid.SliceOfN(rapid.SampledFrom(classes), 1, 3).Draw(t, "classes")
		for range rapid.IntRange(0, 6).Draw(t, "cards") {
			n.Cards = append(n.Cards, inventory.Card{
				Vendor: rapid.SampledFrom([]string{"nvidia", "nvidia", "nvidia", "amd", "NVIDIA"}).Draw(t, "vendor"), Name: rapid.SampledFrom([]string{"t4", "a100"}).Draw(t, "card"),
				MemorySize: rapid.SampledFrom([]string{"16Gi", "80Gi"}).Draw(t, "ram"), Interface: rapid.SampledFrom([]string{"PCIe", "SXM4"}).Draw(t, "interface"),
			})
		}
		c.Nodes = append(c.Nodes, n)
	}
	for range rapid.IntRange(1, 4).Draw(t, "storage") {
		c.Storage = append(c.Storage, inventory.Storage{Class: rapid.SampledFrom(classes).Draw(t, "class"), Amount: drawAmount(t)})
	}
	if rapid.Bool().Draw(t, "ports") {
		c.NodePorts = &inventory.Amount{Allocatable: rapid.Int64Range(0, 4).Draw(t, "all ports"), Allocated: rapid.Int64Range(0, 2).Draw(t, "given ports")}
	}
	return c
}

// wishes are likely and unlikely attributes of GPUs.
var wishes = []string{"vendor/nvidia/model/*", "vendor/nvidia/model/*", "vendor/nvidia/model/t4", "vendor/nvidia/model/a100", "vendor/amd/model/*/ram/80Gi", "vendor/nvidia/model/a100/interface/sxm",
	"vendor/nvidia/model/*/ram/16Gi/interface/pcie", "vendor/amd/model/*", "vendor/nvidia/model/t4/ram/17000Mi/colour/red", "junk"}

func drawGroup(t *rapid.T) inventory.Group {
	amount := drawWanted
	var g inventory.Group
	for range rapid.IntRange(0, 3).Draw(t, "resources") {
		r := inventory.Resource{ID: uint32(len(g.Resources) + 1), Count: rapid.Uint32Range(0, 4).Draw(t, "count"), CPU: amount.Draw(t, "cpu"), Memory: amount.Draw(t, "memory")}
		if rapid.Bool().Draw(t, "gpu") {
			r.GPU.Units = rapid.Uint64Range(0, 2).Draw(t, "units")
			r.GPU.Attributes = rapid.SliceOfN(rapid.SampledFrom(wishes), 1, 3).Draw(t, "attributes")
		}
		for range rapid.SampledFrom([]int{0, 0, 1, 2}).Draw(t, "volumes") {
			r.Storage = append(r.Storage, inventory.Volume{Size: amount.Draw(t, "size"), Attributes: inventory.VolumeAttributes{
				Class: rapid.SampledFrom(classes).Draw(t, "class"), Persistent: rapid.SampledFrom([]string{"true", "true", "false", ""}).Draw(t, "persistent")}})
		}
		for range rapid.IntRange(0, 2).Draw(t, "endpoints") {
			r.Endpoints = append(r.Endpoints, inventory.Endpoint{
				Kind: rapid.SampledFrom([]inventory.EndpointKind{inventory.LeasedIP, inventory.RandomPort}).Draw(t, "kind"), Sequence: rapid.Uint32Range(1, 3).Draw(t, "sequence"),
			})
		}
		g.Resources = append(g.Resources, r)
	}
	return g
}

// A group fits an empty cluster that has exactly as much as it requests.
func TestWhatThereIsCanBeHad(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		whole := rapid.Int64Range(0, math.MaxInt64)
		n := inventory.Node{Name: "n1", CPU: inventory.Amount{Allocatable: whole.Draw(t, "cpu")}, Memory: inventory.Amount{Allocatable: whole.Draw(t, "memory")}, EphemeralStorage: inventory.Amount{Allocatable: whole.Draw(t, "disk")}}
		r := inventory.Resource{ID: 1, Count: 1, CPU: n.CPU.Available(), Memory: n.Memory.Available(), Storage: []inventory.Volume{{Size: n.EphemeralStorage.Available()}}}
		inv := inventory.New(inventory.Cluster{Nodes: []inventory.Node{n}}, nil, inventory.Levels{})
		if _, refusal := inv.Reserve(inventory.Group{Resources: []inventory.Resource{r}}); refusal != nil {
			t.Error(refusal)
		}
		if left := inv.Room().Available.Amounts; left != (inventory.Amounts{}) {
			t.Errorf("left is %+v", left)
		}
	})
}

func TestBytes(t *testing.T) {
	for _, c := range []struct {
		n        uint64
		down, up string
	}{
		{0, "0", "0"}, {1023, "1023", "1023"}, {1024, "1Ki", "1Ki"}, {1536, "1.5Ki", "1.5Ki"}, {1 << 30, "1Gi", "1Gi"},
		{1<<30 + 1, "1Gi", "1.01Gi"}, {1<<30 - 1, "1023.99Mi", "1024Mi"}, {math.MaxUint64, "15.99Ei", "16Ei"},
	} {
		if down, up := inventory.Bytes(c.n, false), inventory.Bytes(c.n, true); down != c.down || up != c.up {
			t.Errorf("%d: %s and %s, want %s and %s", c.n, down, up, c.down, c.up)
		}
	}
}
