package inventory

import (
	"maps"
	"math"
	"slices"

	"github.com/akash-net/kubectl-akash-net/lease"
)

// Inventory is a cluster and what is reserved of it. Reserve and Count change it.
type Inventory struct {
	cluster   Cluster
	addresses *Addresses
	levels    Levels
	// reserved counts the reserved addresses that are not in use yet.
	reserved uint64
	// pending and active count reservations.
	pending, active int
}

// New returns the inventory of a cluster without reservations. addresses is nil if none can be leased. New does not
// change the cluster.
func New(cluster Cluster, addresses *Addresses, levels Levels) *Inventory {
	return &Inventory{cluster: cluster.clone(), addresses: addresses, levels: levels}
}

// clone copies the amounts. Fields that never change are shared.
func (c Cluster) clone() Cluster {
	out := Cluster{Nodes: slices.Clone(c.Nodes), Closed: c.Closed, Storage: slices.Clone(c.Storage)}
	for i := range out.Nodes {
		out.Nodes[i] = out.Nodes[i].clone()
	}
	if c.NodePorts != nil {
		ports := *c.NodePorts
		out.NodePorts = &ports
	}
	return out
}

// clone copies the amounts of a node.
func (n Node) clone() Node {
	n.Vendors, n.Taken = maps.Clone(n.Vendors), maps.Clone(n.Taken)
	if n.Pods != nil {
		pods := *n.Pods
		n.Pods = &pods
	}
	return n
}

// Reservation is an earlier reservation.
type Reservation struct {
	State ReservationState `json:"state"`
	// AddressesConfirmed is true if its addresses count as in use already.
	AddressesConfirmed bool `json:"ips_confirmed,omitempty"`
	// Group is the requested group, before commit levels.
	Group Group `json:"group"`
}

// ReservationState is whether the pods of a reservation run.
type ReservationState string

// The states of a reservation. The cluster's amounts already include what active ones use.
const (
	Pending ReservationState = "pending"
	Active  ReservationState = "active"
)

// Count adds an earlier reservation. A pending one takes its place; if it no longer fits, it takes nothing and Count
// returns the refusal. An active one is already in the cluster's amounts.
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

// Reserve takes everything that a group asks for, or takes nothing and returns the refusal. It checks addresses first.
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

// fit places a group with committed amounts. It works on a copy, which becomes the inventory if everything fits.
func (i *Inventory) fit(g Group) (Grant, *Refusal) {
	trial := i.cluster.clone()
	grant := Grant{Resources: make([]Granted, len(g.Resources)), NodePorts: g.NodePorts()}
	if ports := trial.NodePorts; ports != nil && !ports.Take(grant.NodePorts) {
		lack := Lack{What: LackNodePorts, Wanted: grant.NodePorts, Left: ports.Available()}
		return Grant{}, &Refusal{Reason: InsufficientCapacity, Lack: lack}
	}
	for n := len(g.Resources) - 1; n >= 0; n-- { // from the last to the first, like Akash's provider
		granted, refusal := trial.place(g.Resources[n])
		if refusal != nil {
			return Grant{}, refusal
		}
		grant.Resources[n] = granted
	}
	i.cluster = trial
	return grant, nil
}

// place places all replicas of a resource: as many as fit on the first node, the others on the next nodes. A refusal
// leaves the cluster partly changed.
func (c *Cluster) place(r Resource) (Granted, *Refusal) {
	out := Granted{
		ID: r.ID, Count: r.Count, CPU: r.CPU, Memory: r.Memory, GPUUnits: r.GPU.Units, GPUAttributes: r.GPU.Attributes,
	}
	for _, v := range r.Storage {
		out.Storage = append(out.Storage, v.Size)
	}
	refusal := &Refusal{Reason: InsufficientCapacity, Resource: r.ID, Count: r.Count}
	wanted := parseGPU(r.GPU)
	for n := range c.Nodes {
		node := &c.Nodes[n]
		for uint32(len(out.Nodes)) < r.Count {
			chosen, cards, lack := c.placeReplica(node, r, wanted)
			if lack != nil {
				refusal.add(NodeLack{Node: node.Name, Lack: *lack})
				if lack.everywhere() {
					refusal.Lack, refusal.Placed = *lack, uint32(len(out.Nodes))
					return Granted{}, refusal
				}
				break
			}
			out.Cards = append(out.Cards, cards)
			if out.Nodes = append(out.Nodes, node.Name); chosen != nil {
				// All other replicas must get the same model.
				wanted = gpuRequest{units: wanted.units, models: []model{*chosen}, text: chosen.String()}
				out.GPUAttributes, out.Params = []string{chosen.attribute()}, chosen.params()
			}
		}
	}
	if uint32(len(out.Nodes)) < r.Count || len(c.Nodes) == 0 { // also nothing needs a node to be found on
		refusal.Placed = uint32(len(out.Nodes))
		if len(c.Nodes) == 0 {
			refusal.closed = c.Closed
		}
		return Granted{}, refusal
	}
	return out, nil
}

// params returns the scheduler parameters for a model. Only NVIDIA GPUs have a runtime class.
func (m model) params() *lease.SchedulerParams {
	p := &lease.SchedulerParams{Resources: &lease.SchedulerResources{GPU: &lease.SchedulerGPU{Vendor: m.vendor, Model: m.name}}}
	if m.vendor == "nvidia" {
		p.RuntimeClass = "nvidia"
	}
	return p
}

// Sum returns a+b, at most 2^64-1.
func Sum(a, b uint64) uint64 {
	if a > math.MaxUint64-b {
		return math.MaxUint64
	}
	return a + b
}

// minus returns a-b, at least 0.
func minus(a, b uint64) uint64 {
	if a < b {
		return 0
	}
	return a - b
}
