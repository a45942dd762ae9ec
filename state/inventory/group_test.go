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
