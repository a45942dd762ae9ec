package reservation

import (
	"maps"
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/inventory"
	"github.com/akash-net/kubectl-akash-net/state/inventory/observed"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// What can still be given out follows the configuration's commit levels, and what reservations hold of the addresses is
// not free.
func TestRoom(t *testing.T) {
	cfg := config.Default()
	cfg.CommitLevels = config.CommitLevels{CPU: 2, GPU: 4, Memory: 2, Storage: 2}
	cfg.IP.Ranges.Include = ranges(t, "203.0.113.0/31", "203.0.113.8/31")
	claims := []*state.Claim{{Kind: state.Address, Thing: "203.0.113.8"}, {Kind: state.Address, Thing: "198.51.100.1"}}
	room := Room{Capacity: observed.Capacity{Reserved: 1, Nodes: []observed.Node{{Name: "n1", Allocatable: inventory.Amounts{CPU: 1000, GPU: 1, Memory: 10, EphemeralStorage: 10},
		Cards: []inventory.Card{{Vendor: "nvidia", Name: "t4"}}}}}, Addresses: addressRoom(cfg, view.Contents{}, claims)}
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
	if addressRoom(config.Default(), view.Contents{}, claims) != nil {
		t.Error("without pools there are addresses")
	}
}

func ranges(t *testing.T, texts ...string) (out []config.Range) {
	t.Helper()
	for _, text := range texts {
		r, err := config.ParseRange(text)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, r)
	}
	return out
}

// An order whose lease has claimed an endpoint has one address fewer reserved; one whose claim cannot be read has not.
func TestLeasesOf(t *testing.T) {
	id := lease.ID{Owner: "akash1a", DSeq: 7, GSeq: 1, OSeq: 2, Provider: "akash1p"}
	parts := []state.Part{{Lease: id}, {Lease: id}}
	got := leasesOf([]*state.Claim{{SharingKey: "k", Parts: parts}, {SharingKey: "l", Parts: parts, Unreadable: "why"}, {SharingKey: "m"}})
	if want := map[[2]string]bool{{"akash1a/7/1/2", "k"}: true}; !maps.Equal(got, want) {
		t.Errorf("they are %v", got)
	}
}
