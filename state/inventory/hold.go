package inventory

import (
	"maps"
	"slices"
	"strings"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/resources"
)

// Hold is what a group takes of a cluster, after commit levels. A reservation stores it.
type Hold struct {
	// Nodes is what it takes of each node, Storage what it takes of each class of persistent volumes, in bytes.
	Nodes   map[string]Amounts `json:"nodes,omitempty"`
	Storage map[string]uint64  `json:"storage,omitempty"`
	// Addresses and NodePorts count the addresses and node ports that it takes.
	Addresses uint64 `json:"addresses,omitempty"`
	NodePorts uint64 `json:"nodePorts,omitempty"`
	// Cards are the GPUs that it has chosen of each node, by model (VENDOR/MODEL). Nodes has their sums.
	Cards map[string]map[string]uint64 `json:"-"`
}

// Hold returns what the group takes. asked is the requested group.
func (g Grant) Hold(asked Group) Hold {
	h := Hold{Nodes: map[string]Amounts{}, Storage: map[string]uint64{}, Addresses: g.Addresses, NodePorts: g.NodePorts}
	for i, r := range g.Resources {
		one := Amounts{CPU: r.CPU, Memory: r.Memory, GPU: r.GPUUnits, Pods: 1}
		for k, v := range asked.Resources[i].Storage {
			switch size := r.Storage[k]; {
			case v.Attributes.Persistent == "true":
				for range r.Nodes {
					h.Storage[v.Attributes.Class] = Sum(h.Storage[v.Attributes.Class], size)
				}
			case v.Attributes.Class == ClassRAM:
				one.Memory = Sum(one.Memory, size)
			default:
				one.EphemeralStorage = Sum(one.EphemeralStorage, size)
			}
		}
		for k, n := range r.Nodes {
			h.Nodes[n] = h.Nodes[n].Plus(one)
			h.addCards(n, r.Cards[k])
		}
	}
	return h
}

// addCards adds GPUs of a node.
func (h *Hold) addCards(node string, cards map[string]uint64) {
	for name, count := range cards {
		if h.Cards == nil {
			h.Cards = map[string]map[string]uint64{}
		}
		if h.Cards[node] == nil {
			h.Cards[node] = map[string]uint64{}
		}
		h.Cards[node][name] = Sum(h.Cards[node][name], count)
	}
}

// CardsWithin returns the GPUs of a node that the hold has chosen, at most limit of them.
func (h Hold) CardsWithin(node string, limit uint64) map[string]uint64 {
	var out map[string]uint64
	for _, name := range slices.Sorted(maps.Keys(h.Cards[node])) {
		if count := min(h.Cards[node][name], limit); count > 0 {
			limit -= count
			if out == nil {
				out = map[string]uint64{}
			}
			out[name] = count
		}
	}
	return out
}

// Vendors counts GPUs of models (VENDOR/MODEL) by vendor, at most limit of each.
func Vendors(cards map[string]uint64, limit uint64) map[string]uint64 {
	out := map[string]uint64{}
	for name, count := range cards {
		vendor, _, _ := strings.Cut(name, "/")
		out[vendor] = min(Sum(out[vendor], count), limit)
	}
	return out
}

// Less returns the cluster without what is held of it. It ignores holds on nodes and classes that the cluster does not
// have.
func (c Cluster) Less(holds ...Hold) Cluster {
	c = c.clone()
	for _, h := range holds {
		for i := range c.Nodes {
			n := &c.Nodes[i]
			if a, ok := h.Nodes[n.Name]; ok {
				n.CPU.allocate(a.CPU)
				n.Memory.allocate(a.Memory)
				n.EphemeralStorage.allocate(a.EphemeralStorage)
				n.GPU.allocate(a.GPU)
				if n.Pods != nil {
					n.Pods.allocate(a.Pods)
				}
				n.reserve(h.Cards[n.Name], a.GPU)
			}
		}
		for _, class := range slices.Sorted(maps.Keys(h.Storage)) {
			if i := slices.IndexFunc(c.Storage, func(s Storage) bool { return s.Class == class }); i >= 0 {
				c.Storage[i].allocate(h.Storage[class])
			}
		}
		if c.NodePorts != nil {
			c.NodePorts.allocate(h.NodePorts)
		}
	}
	return c
}

// reserve counts the GPUs that a hold has chosen as taken, by model. Of each vendor it allocates what the hold takes beyond what
// is in use: at most rest.
func (n *Node) reserve(cards map[string]uint64, rest uint64) {
	if n.Vendors == nil {
		return
	}
	for name, count := range cards {
		if n.Taken == nil {
			n.Taken = map[string]uint64{}
		}
		n.Taken[name] = Sum(n.Taken[name], count)
	}
	for vendor, count := range Vendors(cards, rest) {
		if of, known := n.Vendors[vendor]; known {
			of.allocate(count)
			n.Vendors[vendor] = of
		}
	}
}

// Has reports whether each node and each class has room for the hold.
func (c Cluster) Has(h Hold) bool {
	if c.NodePorts != nil && h.NodePorts > c.NodePorts.Available() {
		return false
	}
	for name, a := range h.Nodes {
		i := slices.IndexFunc(c.Nodes, func(n Node) bool { return n.Name == name })
		if i < 0 || !c.Nodes[i].has(a) || !c.Nodes[i].hasCards(h.Cards[name], a.GPU) {
			return false
		}
	}
	for class, size := range h.Storage {
		i := slices.IndexFunc(c.Storage, func(s Storage) bool { return s.Class == class })
		if i < 0 || size > c.Storage[i].Available() {
			return false
		}
	}
	return true
}

func (n Node) has(a Amounts) bool {
	return a.CPU <= n.CPU.Available() && a.Memory <= n.Memory.Available() &&
		a.EphemeralStorage <= n.EphemeralStorage.Available() && a.GPU <= n.GPU.Available() &&
		(n.Pods == nil || a.Pods <= n.Pods.Available())
}

// hasCards reports whether the GPUs are left, by model and by vendor. At most rest of them are beyond what is in use.
func (n Node) hasCards(cards map[string]uint64, rest uint64) bool {
	if n.Vendors == nil {
		return true
	}
	there := map[string]uint64{}
	for _, card := range n.Cards {
		there[card.Vendor+"/"+card.Name]++
	}
	for name, count := range cards {
		if count > minus(there[name], n.Taken[name]) {
			return false
		}
	}
	for vendor, count := range Vendors(cards, rest) {
		if of, known := n.Vendors[vendor]; known && count > of.Available() {
			return false
		}
	}
	return true
}

// Left returns the hold without the nodes and classes of which it takes nothing.
func (h Hold) Left() Hold {
	h.Nodes, h.Storage = maps.Clone(h.Nodes), maps.Clone(h.Storage)
	maps.DeleteFunc(h.Nodes, func(_ string, a Amounts) bool { return a == Amounts{} })
	maps.DeleteFunc(h.Storage, func(_ string, size uint64) bool { return size == 0 })
	return h
}

// Larger returns the larger of each amount of both holds.
func (h Hold) Larger(other Hold) Hold {
	return h.plus(other.Minus(h))
}

// Minus returns what the hold takes beyond another one.
func (h Hold) Minus(other Hold) Hold {
	out := Hold{
		Nodes: map[string]Amounts{}, Storage: map[string]uint64{},
		Addresses: minus(h.Addresses, other.Addresses), NodePorts: minus(h.NodePorts, other.NodePorts),
	}
	for name, a := range h.Nodes {
		out.Nodes[name] = a.Minus(other.Nodes[name])
	}
	for class, size := range h.Storage {
		out.Storage[class] = minus(size, other.Storage[class])
	}
	for node, cards := range h.Cards {
		for name, count := range cards {
			if rest := minus(count, other.Cards[node][name]); rest > 0 {
				out.addCards(node, map[string]uint64{name: rest})
			}
		}
	}
	return out
}

func (h Hold) plus(other Hold) Hold {
	out := Hold{
		Nodes: maps.Clone(h.Nodes), Storage: maps.Clone(h.Storage),
		Addresses: Sum(h.Addresses, other.Addresses), NodePorts: Sum(h.NodePorts, other.NodePorts),
	}
	for name, a := range other.Nodes {
		if out.Nodes == nil {
			out.Nodes = map[string]Amounts{}
		}
		out.Nodes[name] = out.Nodes[name].Plus(a)
	}
	for class, size := range other.Storage {
		if out.Storage == nil {
			out.Storage = map[string]uint64{}
		}
		out.Storage[class] = Sum(out.Storage[class], size)
	}
	for _, from := range []Hold{h, other} {
		for node, cards := range from.Cards {
			out.addCards(node, cards)
		}
	}
	return out
}

// Total returns the sum over all nodes.
func (h Hold) Total() Amounts {
	var all Amounts
	for _, a := range h.Nodes {
		all = all.Plus(a)
	}
	return all
}

// Grant is what a group that fits gets.
type Grant struct {
	// Resources are in the order of the group's resources.
	Resources []Granted
	// Addresses and NodePorts count the addresses and node ports that the group takes.
	Addresses, NodePorts uint64
}

// Granted is what one resource of a group gets, after commit levels.
type Granted struct {
	ID            uint32   `json:"id"`
	Count         uint32   `json:"count"`
	CPU           uint64   `json:"cpu"`
	Memory        uint64   `json:"memory"`
	GPUUnits      uint64   `json:"gpu_units"`
	GPUAttributes []string `json:"gpu_attributes,omitempty"`
	Storage       []uint64 `json:"storage,omitempty"`
	// Nodes are the nodes of the replicas, in the order of placement.
	Nodes []string `json:"-"`
	// Cards are the GPUs of each replica, by model (VENDOR/MODEL).
	Cards []map[string]uint64 `json:"-"`
	// Params is nil without GPUs.
	Params *lease.SchedulerParams `json:"-"`
}

// Placement returns the nodes of the replicas by resource ID. It joins resources with the same ID in the order of
// placement, from the last to the first.
func (g Grant) Placement() map[uint32][]string {
	out := map[uint32][]string{}
	for i := len(g.Resources) - 1; i >= 0; i-- {
		if r := g.Resources[i]; len(r.Nodes) > 0 {
			out[r.ID] = append(out[r.ID], r.Nodes...)
		}
	}
	return out
}

// SchedulerParams returns the parameters of each resource with replicas, by ID. If several resources have the same ID,
// the first one counts.
func (g Grant) SchedulerParams() map[uint32]*lease.SchedulerParams {
	out := map[uint32]*lease.SchedulerParams{}
	for i := len(g.Resources) - 1; i >= 0; i-- {
		if r := g.Resources[i]; len(r.Nodes) > 0 {
			out[r.ID] = r.Params
		}
	}
	return out
}

// Levels are how much may be leased per unit that exists: 2 allows twice as much. Levels up to 1 change nothing.
type Levels struct {
	CPU     float64 `json:"cpu"`
	GPU     float64 `json:"gpu"`
	Memory  float64 `json:"memory"`
	Storage float64 `json:"storage"`
}

// commit returns the group with the amounts that it takes of nodes.
func (l Levels) commit(g Group) Group {
	units := make([]Resource, len(g.Resources))
	for i, r := range g.Resources {
		r.CPU, r.Memory = resources.Commit(l.CPU, r.CPU), resources.Commit(l.Memory, r.Memory)
		r.GPU.Units = resources.Commit(l.GPU, r.GPU.Units)
		r.Storage = slices.Clone(r.Storage)
		for k, v := range r.Storage {
			r.Storage[k].Size = resources.Commit(l.Storage, v.Size)
		}
		units[i] = r
	}
	g.Resources = units
	return g
}
