package observed

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/akash-net/kubectl-akash-net/state/inventory"
)

// Fold collects what there is in a cluster. The order in which objects are added does not matter. The zero value is
// ready.
type Fold struct {
	nodes   map[string]*node
	classes map[string]class
	// reports are what drivers say is free, and volumes the sizes of all volumes, by class.
	reports map[string]*report
	volumes map[string]uint64
	// orders are whose namespaces are leases', by namespace.
	orders map[string]string
	// used is what pods request, by namespace and node; stored what volumes have, by namespace and class.
	used   map[key]inventory.Amounts
	stored map[key]uint64
	// nodePorts are the node ports that there are; 0 where nobody says so. ports are those of NodePort Services, by
	// namespace, and otherPorts those of all other Services.
	nodePorts  [2]int32
	ports      map[string][]int32
	otherPorts []int32
	// reserved is what reservations hold, and leased which addresses or endpoints leases have claimed, by order.
	reserved map[string]inventory.Hold
	leased   map[string]map[string]bool
}

// key is a namespace, and a node or a class.
type key struct{ namespace, of string }

// Namespace says that a namespace belongs to the lease of an order, OWNER/DSEQ/GSEQ/OSEQ.
func (f *Fold) Namespace(name, order string) {
	if f.orders == nil {
		f.orders = map[string]string{}
	}
	f.orders[name] = order
}

// Reserve adds what the reservation of an order holds.
func (f *Fold) Reserve(order string, h inventory.Hold) {
	if f.reserved == nil {
		f.reserved = map[string]inventory.Hold{}
	}
	f.reserved[order] = h
}

// Lease adds that the lease of an order has claimed an IP endpoint, by its sharing key: its address is in use.
func (f *Fold) Lease(order, sharingKey string) {
	if f.leased == nil {
		f.leased = map[string]map[string]bool{}
	}
	inner(f.leased, order)[sharingKey] = true
}

// Kind is a kind of object that a Fold is given.
type Kind int

// The kinds of objects.
const (
	Nodes Kind = iota
	Namespaces
	Pods
	StorageClasses
	CSICapacities
	Volumes
	Services
	Reservations
)

// Forget takes back all objects of a kind, so that they can be given anew.
func (f *Fold) Forget(k Kind) {
	switch k {
	case Nodes:
		f.nodes = nil
	case Namespaces:
		f.orders = nil
	case Pods:
		f.used = nil
	case StorageClasses:
		f.classes = nil
	case CSICapacities:
		f.reports = nil
	case Volumes:
		f.volumes, f.stored = nil, nil
	case Services:
		f.ports, f.otherPorts = nil, nil
	case Reservations:
		f.reserved, f.leased = nil, nil
	}
}

// Capacity is what there is in a cluster, and what of it is in use and reserved.
type Capacity struct {
	// Nodes are sorted by name. Those that take no leases are among them.
	Nodes []Node
	// Storage is sorted by class.
	Storage []Storage
	// DefaultClass is the class of volumes that name none, as Kubernetes chooses it; empty where there is none.
	DefaultClass string
	// NodePorts are those that Services can get; nil where nobody says how many there are.
	NodePorts *Counted
	// Reserved is how many addresses reservations hold.
	Reserved uint64
	// Notes say what could not be told, for people.
	Notes []string
}

// Node is what a node has.
type Node struct {
	Name string
	// Closed says why the node takes no leases; empty where it does.
	Closed string
	// Allocatable is what pods may request, InUse what they request, and Reserved what reservations hold beyond what
	// their leases' pods request.
	Allocatable, InUse, Reserved inventory.Amounts
	Cards                        []inventory.Card
	Classes                      []string
}

// Counted is what there is of something that is given out one by one.
type Counted struct {
	Total, InUse, Reserved uint64
}

// Storage is what there is of a class.
type Storage struct {
	Class string
	// Unlimited is true where nobody says how much there is.
	Unlimited                    bool
	Allocatable, InUse, Reserved uint64
}

// Capacity computes what there is.
func (f *Fold) Capacity() Capacity {
	c := f.there()
	usage := f.Usage()
	f.addInUse(&c, "")
	for _, order := range slices.Sorted(maps.Keys(f.reserved)) {
		c.reserve(usage.Beyond(order, f.reserved[order]))
	}
	return c
}

// CapacityFor computes what there is for the reservation of an order, apart from all reservations: what its own lease's
// pods and volumes have counts as free.
func (f *Fold) CapacityFor(order string) Capacity {
	c := f.there()
	f.addInUse(&c, order)
	return c
}

// there is what there is to give out.
func (f *Fold) there() Capacity {
	var c Capacity
	labelled := f.labelled()
	for _, name := range slices.Sorted(maps.Keys(f.nodes)) {
		n := f.nodes[name]
		out := Node{Name: name, Closed: n.closed, Allocatable: n.allocatable, Cards: n.cards, Classes: f.classesOf(n)}
		if out.Closed == "" && labelled && !n.labelled {
			out.Closed = "it lacks the label akash.network=true, which other nodes have"
		}
		if n.allocatable.GPU > 0 && len(n.cards) == 0 && out.Closed == "" {
			c.Notes = append(c.Notes, fmt.Sprintf("node %s has GPUs (%d), and no label says of what model; no wish for a GPU fits there", name, n.allocatable.GPU))
		}
		c.Nodes = append(c.Nodes, out)
	}
	f.storage(&c)
	if first, last := f.nodePorts[0], f.nodePorts[1]; first > 0 {
		c.NodePorts = &Counted{Total: uint64(last-first) + 1}
	}
	return c
}

// labelled is true where Akash's inventory operator has labelled nodes: then workloads, which ask for that label, come to
// no others.
func (f *Fold) labelled() bool {
	for _, n := range f.nodes {
		if n.labelled {
			return true
		}
	}
	return false
}

// addInUse adds what pods and volumes use, without those of an order's lease.
func (f *Fold) addInUse(c *Capacity, without string) {
	others := func(namespace string) bool { order, ok := f.orders[namespace]; return !ok || order != without }
	for k, a := range f.used {
		if i, ok := slices.BinarySearchFunc(c.Nodes, k.of, byNode); ok && others(k.namespace) {
			c.Nodes[i].InUse = c.Nodes[i].InUse.Plus(a)
		}
	}
	for k, size := range f.stored {
		if i, ok := slices.BinarySearchFunc(c.Storage, k.of, byClass); ok && others(k.namespace) {
			c.Storage[i].InUse = inventory.Sum(c.Storage[i].InUse, size)
		}
	}
	if c.NodePorts == nil {
		return
	}
	c.NodePorts.InUse = f.inRange(f.otherPorts)
	for namespace, ports := range f.ports {
		if others(namespace) {
			c.NodePorts.InUse += f.inRange(ports)
		}
	}
}

// reserve adds what a reservation holds beyond what is in use.
func (c *Capacity) reserve(rest inventory.Hold) {
	for i := range c.Nodes {
		c.Nodes[i].Reserved = c.Nodes[i].Reserved.Plus(rest.Nodes[c.Nodes[i].Name])
	}
	for i, s := range c.Storage {
		c.Storage[i].Reserved = inventory.Sum(s.Reserved, rest.Storage[s.Class])
	}
	if c.NodePorts != nil {
		c.NodePorts.Reserved = inventory.Sum(c.NodePorts.Reserved, rest.NodePorts)
	}
	c.Reserved = inventory.Sum(c.Reserved, rest.Addresses)
}

func byClass(s Storage, class string) int { return cmp.Compare(s.Class, class) }

func byNode(n Node, name string) int { return cmp.Compare(n.Name, name) }
