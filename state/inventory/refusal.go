package inventory

import "slices"

// Reason is why a group is refused, as Akash's provider tells reasons apart.
type Reason string

// The reasons for a refusal.
const (
	// NoLeasedIPs: addresses are wanted, and none can be leased.
	NoLeasedIPs Reason = "no-leased-ips"
	// InsufficientIPs: more addresses are wanted than are free.
	InsufficientIPs Reason = "insufficient-ips"
	// InsufficientCapacity: everything else.
	InsufficientCapacity Reason = "insufficient-capacity"
)

// What is a thing of which there is too little.
type What string

// What there may be too little of. Where it is a class that a node has not, or anything that a node has, another node
// may help; the others end the search.
const (
	LackAddresses What = "addresses"
	LackNodePorts What = "node-ports"
	LackCPU       What = "cpu"
	LackMemory    What = "memory"
	LackGPU       What = "gpu"
	// LackWish: the GPU attributes cannot be read.
	LackWish      What = "gpu-attributes"
	LackEphemeral What = "ephemeral-storage"
	// LackClassHere: the node does not mount volumes of the class.
	LackClassHere What = "storage-class-of-node"
	// LackClass: the cluster has no such class.
	LackClass   What = "storage-class"
	LackStorage What = "storage"
	// LackPersistence: a persistent volume has no class, or is in memory.
	LackPersistence What = "persistence"
)

// Lack is what is missing.
type Lack struct {
	What What `json:"what"`
	// Wanted and Left are in base units: thousandths of a CPU, bytes, cards, addresses, node ports.
	Wanted uint64 `json:"wanted"`
	Left   uint64 `json:"left"`
	// Model is the GPU wish in words, Volume and Class those of a volume, Why what is wrong with a wish.
	Model  string `json:"model,omitempty"`
	Volume string `json:"volume,omitempty"`
	Class  string `json:"class,omitempty"`
	Why    string `json:"why,omitempty"`
}

// everywhere is true where no other node can help.
func (l Lack) everywhere() bool {
	return l.What == LackClass || l.What == LackStorage || l.What == LackPersistence
}

// NodeLack is what a node had too little of.
type NodeLack struct {
	Node string `json:"node"`
	Lack
}

// Refusal says why a group does not fit. Nothing has been changed.
type Refusal struct {
	Reason Reason
	// Lack is what is missing in the whole cluster: addresses, node ports, or storage of a class. It is empty where each node
	// has its own reason.
	Lack Lack
	// Resource is the id of the resource that had no room, Count how many replicas it wants and Placed how many of
	// them had room. They are 0 for addresses and node ports.
	Resource      uint32
	Count, Placed uint32
	// Tried is how many nodes were tried, Empty how many of them had nothing left of what they had too little of.
	Tried, Empty int
	// Nodes are the first of them, in their order, and why no more replicas fitted there; those that have something
	// left come before the others.
	Nodes []NodeLack
	// differ is true where not all nodes lack the same.
	differ bool
	first  Lack
	// unreadable is what is wrong with the GPU attributes, where a node's GPUs were looked at.
	unreadable string
}

// maxNodes is how many nodes a refusal keeps.
const maxNodes = 10

// add notes why a node was passed over.
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
		at = r.Tried - r.Empty - 1 // after those that have something left, before the others
	}
	if at < maxNodes {
		r.Nodes = slices.Insert(r.Nodes, at, n)
		r.Nodes = r.Nodes[:min(len(r.Nodes), maxNodes)]
	}
}
