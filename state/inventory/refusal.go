package inventory

import "slices"

// Reason is why a group is refused, in the categories of Akash's provider.
type Reason string

// The reasons for a refusal.
const (
	// NoLeasedIPs: the group requests addresses, and none can be leased.
	NoLeasedIPs Reason = "no-leased-ips"
	// InsufficientIPs: the group requests more addresses than are free.
	InsufficientIPs Reason = "insufficient-ips"
	// InsufficientCapacity: anything else.
	InsufficientCapacity Reason = "insufficient-capacity"
)

// What is a resource that can be lacking.
type What string

// The resources that can be lacking. LackClass, LackStorage and LackPersistence end the search for a node. If another
// one is lacking on a node, another node may have it.
const (
	LackAddresses What = "addresses"
	LackNodePorts What = "node-ports"
	LackCPU       What = "cpu"
	LackMemory    What = "memory"
	LackGPU       What = "gpu"
	// LackPods is a lack of pods: a node runs a limited number of them.
	LackPods What = "pods"
	// LackWish: the GPU attributes cannot be parsed.
	LackWish      What = "gpu-attributes"
	LackEphemeral What = "ephemeral-storage"
	// LackClassHere: the node cannot mount volumes of the class.
	LackClassHere What = "storage-class-of-node"
	// LackClass: the cluster does not have the class.
	LackClass   What = "storage-class"
	LackStorage What = "storage"
	// LackPersistence: a persistent volume has no class, or is in memory.
	LackPersistence What = "persistence"
)

// Lack is what is lacking, and how much.
type Lack struct {
	What What `json:"what"`
	// Wanted and Left are in base units: thousandths of a CPU, bytes, GPUs, addresses, node ports.
	Wanted uint64 `json:"wanted"`
	Left   uint64 `json:"left"`
	// There counts the GPUs of a node that match the request, whether or not they are left.
	There uint64 `json:"-"`
	// Model describes the requested GPUs, Why what is wrong with their attributes. Volume and Class are those of a
	// volume.
	Model  string `json:"model,omitempty"`
	Volume string `json:"volume,omitempty"`
	Class  string `json:"class,omitempty"`
	Why    string `json:"why,omitempty"`
}

// everywhere reports whether no other node can help.
func (l Lack) everywhere() bool {
	return l.What == LackClass || l.What == LackStorage || l.What == LackPersistence
}

// NodeLack is what a node lacks.
type NodeLack struct {
	Node string `json:"node"`
	Lack
}

// Refusal is why a group does not fit. Nothing was changed.
type Refusal struct {
	Reason Reason
	// Lack is what the whole cluster lacks: addresses, node ports, or storage of a class. It is empty if each node has
	// its own reason.
	Lack Lack
	// Resource is the ID of the resource without room, Count how many replicas it requests, and Placed how many of them
	// had room. They are 0 for addresses and node ports.
	Resource      uint32
	Count, Placed uint32
	// Tried counts the nodes that were tried. Empty counts those of them that have nothing left of what they lack.
	Tried, Empty int
	// Nodes are the first maxNodes of the tried nodes and what each lacks. Nodes with something left come first.
	Nodes []NodeLack
	// closed are the nodes that take no pods of leases. It is set only if none does.
	closed []ClosedNode
	// differ is true if the nodes lack different things.
	differ bool
	first  Lack
	// unreadable is what is wrong with the GPU attributes. It is set only if a node's GPUs were checked.
	unreadable string
}

// maxNodes limits the nodes that a refusal keeps.
const maxNodes = 10

// add records what a node lacks.
func (r *Refusal) add(n NodeLack) {
	if r.Tried++; r.Tried == 1 {
		r.first = n.Lack
	}
	r.differ = r.differ || n.What != r.first.What || n.Wanted != r.first.Wanted || n.Model != r.first.Model ||
		n.Volume != r.first.Volume || n.Class != r.first.Class
	if n.What == LackWish {
		r.unreadable = n.Why
	}
	if n.Left == 0 {
		r.Empty++
	}
	at := len(r.Nodes)
	if n.Left > 0 {
		at = r.Tried - r.Empty - 1 // after the nodes with something left, before the others
	}
	if at < maxNodes {
		r.Nodes = slices.Insert(r.Nodes, at, n)
		r.Nodes = r.Nodes[:min(len(r.Nodes), maxNodes)]
	}
}
