package inventory

import (
	"math"
	"slices"
)

// Inventory is a cluster with what has been reserved of it. It is no value: Reserve changes it.
type Inventory struct {
	cluster   Cluster
	addresses *Addresses
	levels    Levels
	// reserved is how many addresses reservations take that are not yet in use.
	reserved uint64
	// pending and active count reservations.
	pending, active int
}

// New is the inventory of a cluster of which nothing is reserved. Addresses are nil where none can be leased. The
// cluster is not changed.
func New(cluster Cluster, addresses *Addresses, levels Levels) *Inventory {
	return &Inventory{cluster: cluster.copied(), addresses: addresses, levels: levels}
}

// copied has amounts of its own; what is never changed is shared.
func (c Cluster) copied() Cluster {
	out := Cluster{Nodes: slices.Clone(c.Nodes), Storage: slices.Clone(c.Storage)}
	if c.NodePorts != nil {
		ports := *c.NodePorts
		out.NodePorts = &ports
	}
	return out
}

// Reservation was made earlier.
type Reservation struct {
	State ReservationState `json:"state"`
	// AddressesConfirmed is true where its addresses count as in use already.
	AddressesConfirmed bool `json:"ips_confirmed,omitempty"`
	// Group is as it was asked for, before commit levels.
	Group Group `json:"group"`
}

// ReservationState says whether a reservation's pods run.
type ReservationState string

// The states of a reservation. What active ones use is in the cluster's amounts already.
const (
	Pending ReservationState = "pending"
	Active  ReservationState = "active"
)

// Count counts an earlier reservation. A pending one is fitted; where it no longer fits it takes nothing, and the
// refusal says why. An active one is in the cluster's amounts already.
func (i *Inventory) Count(r Reservation) (Grant, *Refusal) {
	if !r.AddressesConfirmed {
		i.reserved = Sum(i.reserved, r.Group.Addresses())
	}
	if r.State == Active {
		i.active++
		return Grant{}, nil
	}
	i.pending++
	return i.fit(i.levels.commit(r.Group))
}

// Reserve takes what a group asks for, all of it, or nothing and says why. Addresses are looked at first.
func (i *Inventory) Reserve(g Group) (Grant, *Refusal) {
	wanted := g.Addresses()
	if refusal := i.lackOfAddresses(wanted); refusal != nil {
		return Grant{}, refusal
	}
	grant, refusal := i.fit(i.levels.commit(g))
	if refusal == nil {
		grant.Addresses = wanted
		i.reserved = Sum(i.reserved, wanted)
		i.pending++
	}
	return grant, refusal
}

func (i *Inventory) lackOfAddresses(wanted uint64) *Refusal {
	switch {
	case wanted == 0:
		return nil
	case i.addresses == nil:
		return &Refusal{Reason: NoLeasedIPs, Lack: Lack{What: LackAddresses, Wanted: wanted}}
	case wanted > i.freeAddresses():
		return &Refusal{Reason: InsufficientIPs, Lack: Lack{What: LackAddresses, Wanted: wanted, Left: i.freeAddresses()}}
	}
	return nil
}

func (i *Inventory) freeAddresses() uint64 {
	if i.addresses == nil {
		return 0
	}
	return i.addresses.Free(i.reserved)
}

// fit places a group whose amounts are committed. It works on a copy, which becomes the inventory if all fits.
func (i *Inventory) fit(g Group) (Grant, *Refusal) {
	trial := i.cluster.copied()
	grant := Grant{Resources: make([]Granted, len(g.Resources)), NodePorts: g.NodePorts()}
	if ports := trial.NodePorts; ports != nil && !ports.Take(grant.NodePorts) {
		return Grant{}, &Refusal{Reason: InsufficientCapacity, Lack: Lack{What: LackNodePorts, Wanted: grant.NodePorts, Left: ports.Available()}}
	}
	for n := len(g.Resources) - 1; n >= 0; n-- { // from the last to the first, as Akash's provider does
		granted, refusal := trial.place(g.Resources[n])
		if refusal != nil {
			return Grant{}, refusal
		}
		grant.Resources[n] = granted
	}
	i.cluster = trial
	return grant, nil
}

// place places all replicas of a resource: as many as fit on the first node, then the others on the next. A failure
// leaves the cluster half changed.
func (c *Cluster) place(r Resource) (Granted, *Refusal) {
	out := Granted{ID: r.ID, Count: r.Count, CPU: r.CPU, Memory: r.Memory, GPUUnits: r.GPU.Units, GPUAttributes: r.GPU.Attributes}
	for _, v := range r.Storage {
		out.Storage = append(out.Storage, v.Size)
	}
	refusal := &Refusal{Reason: InsufficientCapacity, Resource: r.ID, Count: r.Count}
	wanted := readWish(r.GPU)
	for n := range c.Nodes {
		node := &c.Nodes[n]
		for uint32(len(out.Nodes)) < r.Count {
			chosen, lack := c.placeReplica(node, r, wanted)
			if lack != nil {
				refusal.add(NodeLack{Node: node.Name, Lack: *lack})
				if lack.everywhere() {
					refusal.Lack, refusal.Placed = *lack, uint32(len(out.Nodes))
					return Granted{}, refusal
				}
				break
			}
			if out.Nodes = append(out.Nodes, node.Name); chosen != nil {
				// All further replicas get the same model.
				wanted = wish{units: wanted.units, models: []model{*chosen}, text: chosen.String()}
				out.GPUAttributes, out.Params = []string{chosen.attribute()}, chosen.params()
			}
		}
	}
	if uint32(len(out.Nodes)) < r.Count || len(c.Nodes) == 0 { // also nothing needs a node to be found on
		refusal.Placed = uint32(len(out.Nodes))
		return Granted{}, refusal
	}
	return out, nil
}

// params are the scheduler's for a model: only NVIDIA's cards have a runtime class of their own.
func (m model) params() *SchedulerParams {
	p := &SchedulerParams{Resources: SchedulerResources{GPU: SchedulerGPU{Vendor: m.vendor, Model: m.name}}}
	if m.vendor == "nvidia" {
		p.RuntimeClass = "nvidia"
	}
	return p
}

// Sum adds; what is more than 2^64-1 is 2^64-1.
func Sum(a, b uint64) uint64 {
	if a > math.MaxUint64-b {
		return math.MaxUint64
	}
	return a + b
}

// minus subtracts, down to nothing.
func minus(a, b uint64) uint64 {
	if a < b {
		return 0
	}
	return a - b
}
