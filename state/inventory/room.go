package inventory

import "math"

// Amounts are the amounts of a node or of all nodes, in base units. An amount without a limit is 2^64-1.
type Amounts struct {
	CPU              uint64 `json:"cpu"`
	GPU              uint64 `json:"gpu"`
	Memory           uint64 `json:"memory"`
	EphemeralStorage uint64 `json:"storage_ephemeral"`
	// Pods counts pods. Akash's inventory does not.
	Pods uint64 `json:"-"`
}

// Totals are the amounts of the whole cluster.
type Totals struct {
	Amounts
	// Storage is by class. If a class is listed twice, the last entry counts.
	Storage map[string]uint64 `json:"storage"`
}

// NodeRoom is what a node has and what of it is left.
type NodeRoom struct {
	Name        string  `json:"name"`
	Allocatable Amounts `json:"allocatable"`
	Available   Amounts `json:"available"`
}

// AddressRoom counts the addresses that can be leased.
type AddressRoom struct {
	Capacity  uint64
	Allocated uint64
	Available uint64
}

// Room is what an inventory has left.
type Room struct {
	Nodes                  []NodeRoom
	Allocatable, Available Totals
	// Reserved counts the reserved addresses that are not in use yet.
	Reserved  uint64
	Addresses AddressRoom
	// Pending and Active count reservations.
	Pending, Active int
}

// Room returns what is left.
func (i *Inventory) Room() Room {
	r := Room{Nodes: []NodeRoom{}, Reserved: i.reserved, Pending: i.pending, Active: i.active}
	r.Allocatable.Storage, r.Available.Storage = map[string]uint64{}, map[string]uint64{}
	for _, n := range i.cluster.Nodes {
		room := NodeRoom{
			Name: n.Name,
			Allocatable: Amounts{CPU: n.CPU.total(), GPU: n.GPU.total(), Memory: n.Memory.total(),
				EphemeralStorage: n.EphemeralStorage.total()},
			Available: Amounts{CPU: n.CPU.Available(), GPU: n.GPU.Available(), Memory: n.Memory.Available(),
				EphemeralStorage: n.EphemeralStorage.Available()},
		}
		r.Nodes = append(r.Nodes, room)
		r.Allocatable.Amounts = r.Allocatable.Plus(room.Allocatable)
		r.Available.Amounts = r.Available.Plus(room.Available)
	}
	for _, s := range i.cluster.Storage {
		r.Allocatable.Storage[s.Class], r.Available.Storage[s.Class] = s.total(), s.Available()
	}
	r.Addresses.Allocated = i.reserved
	if i.addresses != nil {
		r.Addresses.Capacity = i.addresses.Total
		r.Addresses.Allocated = Sum(i.addresses.InUse, i.reserved)
	}
	r.Addresses.Available = i.freeAddresses()
	return r
}

// total returns the allocatable amount, or 2^64-1 if it has no limit.
func (a Amount) total() uint64 {
	if a.Allocatable == Unlimited {
		return math.MaxUint64
	}
	return uint64(max(a.Allocatable, 0))
}

// Plus returns the sum of each amount, at most 2^64-1.
func (a Amounts) Plus(b Amounts) Amounts {
	return Amounts{CPU: Sum(a.CPU, b.CPU), GPU: Sum(a.GPU, b.GPU), Memory: Sum(a.Memory, b.Memory),
		EphemeralStorage: Sum(a.EphemeralStorage, b.EphemeralStorage), Pods: Sum(a.Pods, b.Pods)}
}

// Minus returns the difference of each amount, at least 0.
func (a Amounts) Minus(b Amounts) Amounts {
	return Amounts{CPU: minus(a.CPU, b.CPU), GPU: minus(a.GPU, b.GPU), Memory: minus(a.Memory, b.Memory),
		EphemeralStorage: minus(a.EphemeralStorage, b.EphemeralStorage), Pods: minus(a.Pods, b.Pods)}
}

// Least returns the lesser of each amount.
func (a Amounts) Least(b Amounts) Amounts {
	return Amounts{CPU: min(a.CPU, b.CPU), GPU: min(a.GPU, b.GPU), Memory: min(a.Memory, b.Memory),
		EphemeralStorage: min(a.EphemeralStorage, b.EphemeralStorage), Pods: min(a.Pods, b.Pods)}
}
