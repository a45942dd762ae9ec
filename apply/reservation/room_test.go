package reservation

import (
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/state/inventory"
	"github.com/akash-net/kubectl-akash-net/state/inventory/observed"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// What can still be given out follows the configuration's commit levels, and what reservations hold of the addresses is
// not free.
func TestRoom(t *testing.T) {
	cfg := config.Default()
	cfg.CommitLevels = config.CommitLevels{CPU: 2, GPU: 4, Memory: 2, Storage: 2}
	room := Room{Capacity: observed.Capacity{Reserved: 1, Nodes: []observed.Node{{Name: "n1", Allocatable: inventory.Amounts{CPU: 1000, GPU: 1, Memory: 10, EphemeralStorage: 10},
		Cards: []inventory.Card{{Vendor: "nvidia", Name: "t4"}}}}}, Addresses: addressRoom([]view.PoolRow{{Addresses: 2, Used: 1}, {Addresses: 2}})}
	asked := inventory.Resource{ID: 1, Count: 1, CPU: 2000, Memory: 20, GPU: inventory.GPU{Units: 4, Attributes: []string{"vendor/nvidia/model/*"}},
		Storage: []inventory.Volume{{Size: 20}}, Endpoints: []inventory.Endpoint{{Kind: inventory.LeasedIP, Sequence: 1}}}
	left := room.Inventory(cfg)
	if _, refusal := left.Reserve(inventory.Group{Resources: []inventory.Resource{asked}}); refusal != nil {
		t.Fatal(refusal)
	}
	if a := left.Room().Available.Amounts; a != (inventory.Amounts{}) {
		t.Errorf("left is %+v", a)
	}
	address := inventory.Group{Resources: []inventory.Resource{{Endpoints: asked.Endpoints}}}
	if _, refusal := left.Reserve(address); refusal != nil || room.Addresses.InUse != 1 {
		t.Error("the last address is not given, or what was read has changed: ", refusal)
	}
	if _, refusal := left.Reserve(address); refusal == nil || refusal.Reason != inventory.InsufficientIPs {
		t.Errorf("a third address: %v", refusal)
	}
	if addressRoom(nil) != nil {
		t.Error("without pools there are addresses")
	}
}
