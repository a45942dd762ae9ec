// Package inventory decides whether a group of resources fits a cluster, where, and why not. It follows the inventory
// of Akash's provider (akash-network/provider: cluster/inventory.go and cluster/kube/operators/clients/inventory) node
// by node, except for two defects: a node without room does not narrow a GPU request, and a request for nothing stays
// nothing under a commit level. docs/orders.md explains it. The package is pure: package observed reads a
// cluster for it, package cases reads files.
package inventory

import (
	"math"

	"github.com/akash-net/kubectl-akash-net/lease/resources"
)

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

// Group is what a deployment group requests.
type Group struct {
	Name      string     `json:"name"`
	Resources []Resource `json:"resources"`
}

// Resource is what each replica of a service requests. The order of the volumes matters: a refusal names the first that
// has no room.
type Resource struct {
	// ID identifies the resource within its group. The services of a lease refer to it.
	ID uint32 `json:"id"`
	// Count is the number of replicas.
	Count uint32 `json:"count"`
	// CPU is in thousandths, Memory in bytes.
	CPU       uint64     `json:"cpu"`
	Memory    uint64     `json:"memory"`
	GPU       GPU        `json:"gpu"`
	Storage   []Volume   `json:"storage,omitempty"`
	Endpoints []Endpoint `json:"endpoints,omitempty"`
}

// GPU is a request for GPUs.
type GPU struct {
	Units uint64 `json:"units"`
	// Attributes are the accepted models: vendor/<v>/model/<m>[/ram/<size>][/interface/<i>], with * for any model.
	Attributes []string `json:"attributes,omitempty"`
}

// Volume is a request for storage. Size is in bytes.
type Volume struct {
	Name       string           `json:"name"`
	Size       uint64           `json:"size"`
	Attributes VolumeAttributes `json:"attributes,omitzero"`
}

// VolumeAttributes are the kind of a volume.
type VolumeAttributes struct {
	Class string `json:"class,omitempty"`
	// Persistent is "true" for volumes that outlive their pod.
	Persistent string `json:"persistent,omitempty"`
}

// ClassRAM is the class of volumes in a node's memory.
const ClassRAM = "ram"

// Endpoint is a way to reach a service.
type Endpoint struct {
	Kind EndpointKind `json:"kind"`
	// Sequence identifies a leased address. Endpoints with the same number share one address.
	Sequence uint32 `json:"sequence_number,omitempty"`
}

// EndpointKind is what an endpoint needs.
type EndpointKind string

// The kinds of endpoint. Shared HTTP has no limit. Random ports have one only if their number is known.
const (
	SharedHTTP EndpointKind = "SHARED_HTTP"
	RandomPort EndpointKind = "RANDOM_PORT"
	LeasedIP   EndpointKind = "LEASED_IP"
)

// NodePorts returns how many node ports a group requests: one per RANDOM_PORT endpoint. Replicas share them.
func (g Group) NodePorts() (ports uint64) {
	for _, r := range g.Resources {
		for _, e := range r.Endpoints {
			if e.Kind == RandomPort {
				ports++
			}
		}
	}
	return ports
}

// Addresses returns how many addresses a group requests: the number of different sequence numbers of its LEASED_IP
// endpoints. Replicas share them.
func (g Group) Addresses() uint64 {
	seen := map[uint32]bool{}
	for _, r := range g.Resources {
		for _, e := range r.Endpoints {
			if e.Kind == LeasedIP {
				seen[e.Sequence] = true
			}
		}
	}
	return uint64(len(seen))
}

// GroupOf converts a deployment group's resources to a Group.
func GroupOf(asked resources.Group) Group {
	g := Group{Name: asked.Name}
	for _, u := range asked.Units {
		r := Resource{ID: u.ID, Count: u.Count, CPU: u.CPU, Memory: u.Memory, GPU: GPU{Units: u.GPU.Units}}
		for _, a := range u.GPU.Attributes {
			r.GPU.Attributes = append(r.GPU.Attributes, a.Key)
		}
		for _, v := range u.Volumes {
			r.Storage = append(r.Storage, Volume{Name: v.Name, Size: v.Size, Attributes: VolumeAttributes{
				Class: v.Class(), Persistent: v.Attribute(resources.AttributePersistent)}})
		}
		for _, e := range u.Endpoints {
			r.Endpoints = append(r.Endpoints, Endpoint{Kind: EndpointKind(e.Kind.String()), Sequence: e.Sequence})
		}
		g.Resources = append(g.Resources, r)
	}
	return g
}
