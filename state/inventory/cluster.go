package inventory

import "math"

// Unlimited is the allocatable amount of a resource without a limit.
const Unlimited = -1

// Amount is how much of a resource there is and how much of it is allocated, in base units: thousandths of a CPU,
// bytes, whole GPUs.
type Amount struct {
	Allocatable int64 `json:"allocatable"`
	Allocated   int64 `json:"allocated"`
}

// Available returns what is left. It is 0 if more is allocated than there is.
func (a Amount) Available() uint64 {
	all := a.Allocatable
	if all == Unlimited {
		all = math.MaxInt64
	}
	if a.Allocated < 0 || all <= a.Allocated {
		return 0
	}
	return uint64(all - a.Allocated)
}

// Take allocates n and returns true if at least n is left.
func (a *Amount) Take(n uint64) bool {
	if n > a.Available() {
		return false
	}
	a.Allocated += int64(n) // n is at most what is available, so the sum does not overflow
	return true
}

// allocate allocates n even if less is left.
func (a *Amount) allocate(n uint64) {
	a.Allocated = int64(min(Sum(uint64(max(a.Allocated, 0)), n), math.MaxInt64))
}

// Card is a GPU of a node as Akash's inventory operator describes it.
type Card struct {
	Vendor string `json:"vendor"`
	Name   string `json:"name"`
	// MemorySize is in whole Gi, for example 80Gi. It is compared as text.
	MemorySize string `json:"memory_size"`
	// Interface is, for example, PCIe or SXM4.
	Interface string `json:"interface"`
}

// Node is what a node of the cluster has.
type Node struct {
	Name string `json:"name"`
	// CPU is in thousandths.
	CPU              Amount `json:"cpu"`
	Memory           Amount `json:"memory"`
	EphemeralStorage Amount `json:"ephemeral_storage"`
	// GPU counts whole GPUs. Which of Cards are allocated is unknown, but for what Vendors and Taken say.
	GPU   Amount `json:"gpu"`
	Cards []Card `json:"gpu_info,omitempty"`
	// Vendors counts the GPUs by vendor: pods request them so. It is nil where only the sum is known, as in Akash's inventory,
	// which does not remember either which GPUs it has chosen.
	Vendors map[string]Amount `json:"-"`
	// Taken counts the GPUs that reservations have chosen, by model (VENDOR/MODEL), also those that are in use.
	Taken map[string]uint64 `json:"-"`
	// Pods counts pods. A nil value limits nothing, as in Akash's inventory.
	Pods *Amount `json:"-"`
	// StorageClasses are the classes whose volumes the node can mount.
	StorageClasses []string `json:"storage_classes,omitempty"`
}

// Storage is what the cluster has of a class of persistent volumes.
type Storage struct {
	Class string `json:"class"`
	Amount
}

// ClosedNode is a node that takes no pods of leases, and why: "it is cordoned".
type ClosedNode struct {
	Name, Why string
}

// Cluster is what can be allocated. Nodes are tried in this order.
type Cluster struct {
	Nodes []Node `json:"nodes"`
	// Closed are the nodes that take no pods of leases, in the same order.
	Closed  []ClosedNode `json:"-"`
	Storage []Storage    `json:"storage"`
	// NodePorts are the ports for Services. A nil value means an unknown number, which limits nothing, as in Akash's
	// provider.
	NodePorts *Amount `json:"node_ports,omitempty"`
}

// Addresses counts the addresses that can be leased.
type Addresses struct {
	Total uint64 `json:"total"`
	InUse uint64 `json:"in_use"`
}

// Free returns how many addresses are left besides those in use and taken more.
func (a Addresses) Free(taken uint64) uint64 { return minus(a.Total, Sum(a.InUse, taken)) }
