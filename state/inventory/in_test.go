package inventory_test

import (
	"testing"

	"github.com/akash-net/kubectl-akash-net/state/inventory"
)

// The cases of Akash's inventory about leased addresses, by their numbers.

// wants returns a group with an endpoint for each sequence number.
func wants(sequences ...uint32) inventory.Group {
	r := inventory.Resource{ID: 1, Count: 1}
	for _, n := range sequences {
		r.Endpoints = append(r.Endpoints, inventory.Endpoint{Kind: inventory.LeasedIP, Sequence: n})
	}
	return inventory.Group{Resources: []inventory.Resource{r}}
}

func withAddresses(a *inventory.Addresses) *inventory.Inventory {
	return inventory.New(inventory.Cluster{Nodes: []inventory.Node{{Name: "n1"}}}, a, inventory.Levels{})
}

func reason(inv *inventory.Inventory, g inventory.Group) inventory.Reason {
	_, refusal := inv.Reserve(g)
	if refusal == nil {
		return ""
	}
	return refusal.Reason
}

func TestIN1NoOperator(t *testing.T) {
	if got := reason(withAddresses(nil), wants(1)); got != inventory.NoLeasedIPs {
		t.Errorf("got %q", got)
	}
}

func TestIN2AllInUse(t *testing.T) {
	if got := reason(withAddresses(&inventory.Addresses{Total: 7, InUse: 7}), wants(1)); got != inventory.InsufficientIPs {
		t.Errorf("got %q", got)
	}
}

func TestIN3OneFree(t *testing.T) {
	usage := &inventory.Addresses{Total: 7, InUse: 6}
	inv := withAddresses(usage)
	if got := reason(inv, wants(1)); got != "" {
		t.Errorf("first: got %q", got)
	}
	if got := reason(inv, wants(1)); got != inventory.InsufficientIPs {
		t.Errorf("second: got %q", got)
	}
	// Once the first group is deployed, its address counts as in use instead of reserved; here another address became
	// free.
	inv = withAddresses(usage)
	inv.Count(inventory.Reservation{State: inventory.Active, AddressesConfirmed: true, Group: wants(1)})
	if got := reason(inv, wants(1)); got != "" {
		t.Errorf("after the first was deployed: got %q", got)
	}
}

func TestIN4Mixed(t *testing.T) {
	inv := withAddresses(&inventory.Addresses{Total: 10, InUse: 4})
	inv.Count(inventory.Reservation{State: inventory.Active, Group: wants(1, 2)})
	inv.Count(inventory.Reservation{State: inventory.Active, AddressesConfirmed: true, Group: wants(1, 2, 3)})
	inv.Count(inventory.Reservation{State: inventory.Pending, Group: wants(1)})
	if got, want := inv.Room().Addresses, (inventory.AddressRoom{Capacity: 10, Allocated: 7, Available: 3}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestIN5AboveTotal(t *testing.T) {
	inv := withAddresses(&inventory.Addresses{Total: 3, InUse: 2})
	inv.Count(inventory.Reservation{State: inventory.Pending, Group: wants(1, 2, 3, 4)})
	if got, want := inv.Room().Addresses, (inventory.AddressRoom{Capacity: 3, Allocated: 6, Available: 0}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func quantity(t *testing.T, g inventory.Group, want uint64) {
	t.Helper()
	grant, refusal := withAddresses(&inventory.Addresses{Total: 99}).Reserve(g)
	if refusal != nil || grant.Addresses != want || g.Addresses() != want {
		t.Errorf("got %d addresses (%v), want %d", grant.Addresses, refusal, want)
	}
}

func TestIN6OneEndpoint(t *testing.T) { quantity(t, wants(1367), 1) }

func TestIN7TwoEndpoints(t *testing.T) { quantity(t, wants(1367, 1368), 2) }

func TestIN8CountDoesNotMatter(t *testing.T) {
	g := wants(1367, 1368)
	g.Resources[0].Count = 33
	quantity(t, g, 2)
}

func TestIN9OneSequenceNumberTwice(t *testing.T) {
	g := wants(7, 7)
	g.Resources = append(g.Resources, g.Resources[0])
	quantity(t, g, 1)
}
