package inventory

import "math"

// Unlimited is the allocatable amount of what has no limit.
const Unlimited = -1

// Amount is what there is of a resource, and what of it has been given out, in base units: thousandths of a CPU,
// bytes, whole GPUs.
type Amount struct {
	Allocatable int64 `json:"allocatable"`
	Allocated   int64 `json:"allocated"`
}

// Available is what is left: never less than nothing, also where more was given out than there is.
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

// Take gives out n, if as much is left. Exactly what is left can be had.
func (a *Amount) Take(n uint64) bool {
	if n > a.Available() {
		return false
	}
	a.Allocated += int64(n) // at most what is available, so the sum has room
	return true
}

// give gives out n, whether or not as much is left.
func (a *Amount) give(n uint64) {
	a.Allocated = int64(min(Sum(uint64(max(a.Allocated, 0)), n), math.MaxInt64))
}

// Card is a GPU of a node, as Akash's inventory operator describes it.
type Card struct {
	Vendor string `json:"vendor"`
	Name   string `json:"name"`
	// MemorySize is in whole Gi, such as 80Gi. It is compared as text.
	MemorySize string `json:"memory_size"`
	// Interface is such as PCIe or SXM4.
	Interface string `json:"interface"`
}

// Node is what a node of the cluster has.
type Node struct {
	Name string `json:"name"`
	// CPU is in thousandths.
	CPU              Amount `json:"cpu"`
	Memory           Amount `json:"memory"`
	EphemeralStorage Amount `json:"ephemeral_storage"`
	// GPU counts whole cards; which of Cards are given out is not known.
	GPU   Amount `json:"gpu"`
	Cards []Card `json:"gpu_info,omitempty"`
	// StorageClasses are those of the volumes that can be mounted here.
	StorageClasses []string `json:"storage_classes,omitempty"`
}

// Storage is what the cluster has of a class of persistent volumes.
type Storage struct {
	Class string `json:"class"`
	Amount
}

// Cluster is what there is to give out. Nodes are tried in their order.
type Cluster struct {
	Nodes   []Node    `json:"nodes"`
	Storage []Storage `json:"storage"`
	// NodePorts are those that Services can get; nil where nobody says how many there are, which limits nothing, as with
	// Akash's provider.
	NodePorts *Amount `json:"node_ports,omitempty"`
}

// Addresses are those that can be leased.
type Addresses struct {
	Total uint64 `json:"total"`
	InUse uint64 `json:"in_use"`
}

// Free is how many are left beside those that are taken.
func (a Addresses) Free(taken uint64) uint64 { return minus(a.Total, Sum(a.InUse, taken)) }
