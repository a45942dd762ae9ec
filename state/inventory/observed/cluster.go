// Package observed computes the capacity of a cluster for package inventory from its nodes, pods, storage and
// reservations. It is pure: package apply/capacity reads the objects, of which this package keeps only sums.
// docs/orders.md has the rules.
package observed

import (
	"maps"
	"math"
	"slices"

	"github.com/akash-net/kubectl-akash-net/state/inventory"
)

// Cluster returns the capacity in the form in which package inventory places groups: the nodes that accept leases, by
// name, with what is in use and reserved allocated.
func (c Capacity) Cluster() inventory.Cluster {
	out := inventory.Cluster{Nodes: []inventory.Node{}, Storage: []inventory.Storage{}}
	for _, n := range c.Nodes {
		if n.Closed != "" {
			out.Closed = append(out.Closed, inventory.ClosedNode{Name: n.Name, Why: n.Closed})
			continue
		}
		given := n.InUse.Plus(n.Reserved)
		out.Nodes = append(out.Nodes, inventory.Node{
			Name:             n.Name,
			CPU:              amount(n.Allocatable.CPU, given.CPU),
			Memory:           amount(n.Allocatable.Memory, given.Memory),
			EphemeralStorage: amount(n.Allocatable.EphemeralStorage, given.EphemeralStorage),
			GPU:              amount(n.Allocatable.GPU, given.GPU),
			Cards:            n.Cards, StorageClasses: n.Classes, Taken: n.ReservedCards, Vendors: n.vendors(), Pods: n.pods(given),
		})
	}
	for _, s := range c.Storage {
		a := amount(s.Allocatable, inventory.Sum(s.InUse, s.Reserved))
		if s.Unlimited {
			a.Allocatable = inventory.Unlimited
		}
		out.Storage = append(out.Storage, inventory.Storage{Class: s.Class, Amount: a})
	}
	if p := c.NodePorts; p != nil {
		ports := amount(p.Total, inventory.Sum(p.InUse, p.Reserved))
		out.NodePorts = &ports
	}
	return out
}

// vendors returns the GPUs by vendor, with what is in use and reserved allocated.
func (n Node) vendors() map[string]inventory.Amount {
	out := map[string]inventory.Amount{}
	for vendor, all := range n.GPUs {
		out[vendor] = amount(all, inventory.Sum(n.GPUsInUse[vendor], n.ReservedGPUs[vendor]))
	}
	return out
}

// pods returns how many pods the node runs, or nil if it names no limit.
func (n Node) pods(given inventory.Amounts) *inventory.Amount {
	if n.Allocatable.Pods == 0 {
		return nil
	}
	pods := amount(n.Allocatable.Pods, given.Pods)
	return &pods
}

func amount(all, given uint64) inventory.Amount {
	return inventory.Amount{Allocatable: int64(min(all, math.MaxInt64)), Allocated: int64(min(given, math.MaxInt64))}
}

// anyClass is the class of volumes for which the cluster chooses a class.
const anyClass = "default"

// Asked returns the group with the cluster's default class for volumes of class default. It changes nothing if a class
// has that name.
func (c Capacity) Asked(g inventory.Group) inventory.Group {
	_, named := slices.BinarySearchFunc(c.Storage, anyClass, byClass)
	if c.DefaultClass == "" || named {
		return g
	}
	g.Resources = slices.Clone(g.Resources)
	for i := range g.Resources {
		volumes := slices.Clone(g.Resources[i].Storage)
		for k := range volumes {
			if volumes[k].Attributes.Class == anyClass {
				volumes[k].Attributes.Class = c.DefaultClass
			}
		}
		g.Resources[i].Storage = volumes
	}
	return g
}

// Usage is what leases use, by order.
type Usage struct {
	used   map[string]map[string]inventory.Amounts
	stored map[string]map[string]uint64
	ports  map[string]uint64
	leased map[string]map[string]bool
}

// Usage computes what leases use.
func (f *Fold) Usage() Usage {
	u := Usage{
		used: map[string]map[string]inventory.Amounts{}, stored: map[string]map[string]uint64{},
		ports: map[string]uint64{}, leased: f.leased,
	}
	for k, a := range f.used {
		if order, ok := f.orders[k.namespace]; ok {
			inner(u.used, order)[k.of] = u.used[order][k.of].Plus(a)
		}
	}
	for k, size := range f.stored {
		if order, ok := f.orders[k.namespace]; ok {
			inner(u.stored, order)[k.of] = inventory.Sum(u.stored[order][k.of], size)
		}
	}
	for namespace, ports := range f.ports {
		if order, ok := f.orders[namespace]; ok {
			u.ports[order] += f.inRange(ports)
		}
	}
	return u
}

// WithLeases returns the usage with other IP endpoints that leases have claimed, as pairs of an order and a sharing key
// (see Fold.Lease).
func (u Usage) WithLeases(leases map[[2]string]bool) Usage {
	u.leased = map[string]map[string]bool{}
	for l := range leases {
		inner(u.leased, l[0])[l[1]] = true
	}
	return u
}

// Addresses returns how many addresses the lease of an order has: one per IP endpoint.
func (u Usage) Addresses(order string) uint64 { return uint64(len(u.leased[order])) }

// Beyond returns what the reservation of an order holds beyond what its lease uses.
func (u Usage) Beyond(order string, h inventory.Hold) inventory.Hold {
	rest := h.Minus(inventory.Hold{Storage: u.stored[order], Addresses: u.Addresses(order), NodePorts: u.ports[order]})
	rest.Nodes = beyond(h.Nodes, u.used[order])
	rest.Cards = nil
	for node := range h.Cards {
		// A pod requests GPUs of a vendor and does not say which: those that its reservation has chosen stay chosen.
		limit := inventory.Sum(rest.Nodes[node].GPU, u.used[order][node].GPU)
		if cards := h.CardsWithin(node, limit); cards != nil {
			set(&rest.Cards, node, cards)
		}
	}
	return rest
}

func inner[V any](m map[string]map[string]V, key string) map[string]V {
	if m[key] == nil {
		m[key] = map[string]V{}
	}
	return m[key]
}

// beyond returns what a reservation holds beyond what the pods of its lease request. Together the two are the larger of
// both. Pods may run on other nodes than the reserved ones: what they request there is subtracted from the reserved
// nodes, starting with the last.
func beyond(reserved, used map[string]inventory.Amounts) map[string]inventory.Amounts {
	left := inventory.Hold{Nodes: reserved}.Total().Minus(inventory.Hold{Nodes: used}.Total())
	out := map[string]inventory.Amounts{}
	for _, name := range slices.Sorted(maps.Keys(reserved)) {
		rest := reserved[name].Minus(used[name]).Least(left)
		left = left.Minus(rest)
		out[name] = rest
	}
	return out
}
