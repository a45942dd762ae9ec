package observed

import (
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
