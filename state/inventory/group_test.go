package inventory_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/akash-net/kubectl-akash-net/lease/resources"
	"github.com/akash-net/kubectl-akash-net/state/inventory"
)

func TestGroupOf(t *testing.T) {
	asked := resources.Group{Name: "dc", Units: []resources.Unit{{Count: 2, Resources: resources.Resources{
		ID: 3, CPU: 500, Memory: 1 << 30, GPU: resources.GPU{Units: 1, Attributes: []resources.Attribute{{Key: "vendor/nvidia/model/t4", Value: "true"}}},
		Volumes: []resources.Volume{{Name: "default", Size: 7}, {Name: "data", Size: 8, Attributes: []resources.Attribute{
			{Key: "class", Value: "beta2"}, {Key: "persistent", Value: "true"}}}},
		Endpoints: []resources.Endpoint{{Kind: resources.SharedHTTP}, {Kind: resources.LeasedIP, Sequence: 4}},
	}}}}
	want := inventory.Group{Name: "dc", Resources: []inventory.Resource{{ID: 3, Count: 2, CPU: 500, Memory: 1 << 30,
		GPU:       inventory.GPU{Units: 1, Attributes: []string{"vendor/nvidia/model/t4"}},
		Storage:   []inventory.Volume{{Name: "default", Size: 7}, {Name: "data", Size: 8, Attributes: inventory.VolumeAttributes{Class: "beta2", Persistent: "true"}}},
		Endpoints: []inventory.Endpoint{{Kind: inventory.SharedHTTP}, {Kind: inventory.LeasedIP, Sequence: 4}},
	}}}
	if diff := cmp.Diff(want, inventory.GroupOf(asked)); diff != "" {
		t.Error(diff)
	}
}

// Words lists the amounts that are not 0, summed over all nodes.
func TestHoldWords(t *testing.T) {
	one := inventory.Hold{
		Nodes:   map[string]inventory.Amounts{"a": {CPU: 500, Memory: 64 << 20, GPU: 1}, "b": {CPU: 500, EphemeralStorage: 1 << 30}},
		Storage: map[string]uint64{"beta3": 2 << 30, "beta2": 1}, Addresses: 1,
	}
	for want, c := range map[string]struct {
		hold   inventory.Hold
		models []string
	}{
		"": {},
		"1 CPU, 64Mi memory, 1Gi disk, 1 GPU, 1 beta2, 2Gi beta3, 1 address":                {one, nil},
		"1 CPU, 64Mi memory, 1Gi disk, 1 nvidia/t4 or amd/x, 1 beta2, 2Gi beta3, 1 address": {one, []string{"nvidia/t4", "amd/x"}},
		"2 addresses": {inventory.Hold{Addresses: 2, Storage: map[string]uint64{"beta2": 0}}, nil},
	} {
		if got := c.hold.Words(c.models); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
