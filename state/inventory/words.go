package inventory

import (
	"cmp"
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"strconv"
	"strings"
)

// maxNodesNamed limits the nodes that a refusal names. It counts the others.
const maxNodesNamed = 5

// String describes what is lacking: what is wanted, what is left, on which nodes. It rounds what is wanted up and what
// is left down, so the two never look equal.
func (r *Refusal) String() string {
	switch {
	case r.Reason == NoLeasedIPs:
		return plural(r.Lack.Wanted, "leased address", "leased addresses") + " wanted, and the provider leases none"
	case r.Reason == InsufficientIPs:
		return r.Lack.counted("leased address", "leased addresses")
	case r.Lack.What != "":
		return r.Lack.inCluster()
	case r.unreadable != "":
		return fmt.Sprintf("the GPU attributes of resource %d cannot be used: %s", r.Resource, r.unreadable)
	case len(r.closed) > 0:
		return fmt.Sprintf("resource %d needs a node, and none takes pods of leases: %s", r.Resource, strings.Join(r.closedNodes(), ", "))
	case len(r.Nodes) == 0:
		return fmt.Sprintf("resource %d needs a node, and the cluster has none", r.Resource)
	}
	what := fmt.Sprintf("no node has room for resource %d", r.Resource)
	if !r.differ {
		what = "no node has " + r.first.wanted()
	}
	if r.Count > 1 {
		what += fmt.Sprintf(" for replica %d of %d", r.Placed+1, r.Count)
		if !r.differ {
			what += fmt.Sprintf(" of resource %d", r.Resource)
		}
	}
	return what + ": " + strings.Join(r.nodes(), ", ")
}

// nodes describes what some nodes have left, and counts the others.
func (r *Refusal) nodes() []string {
	show := min(len(r.Nodes), maxNodesNamed)
	if some := r.Tried - r.Empty; some > 0 {
		show = min(show, some)
	}
	var texts []string
	for _, n := range r.Nodes[:show] {
		texts = append(texts, "node "+n.Node+" "+n.left(r.differ))
	}
	switch others := r.Tried - show; {
	case others == 0:
	case show >= r.Tried-r.Empty: // all nodes with something left are named
		texts = append(texts, plural(uint64(others), "other has none", "others have none"))
	default:
		texts = append(texts, plural(uint64(others), "other has too little", "others have too little"))
	}
	return texts
}

// closedNodes says of some nodes why they take no pods of leases, and counts the others.
func (r *Refusal) closedNodes() []string {
	var texts []string
	for _, n := range r.closed[:min(len(r.closed), maxNodesNamed)] {
		texts = append(texts, "node "+n.Name+strings.TrimPrefix(n.Why, "it"))
	}
	if others := len(r.closed) - len(texts); others > 0 {
		texts = append(texts, plural(uint64(others), "other takes none", "others take none"))
	}
	return texts
}

// counted describes a lack of things that are counted.
func (l Lack) counted(one, many string) string {
	wanted := plural(l.Wanted, one, many) + " wanted, "
	if l.Left == 0 {
		return wanted + "none is free"
	}
	return wanted + strconv.FormatUint(l.Left, 10) + " free"
}

func (l Lack) inCluster() string {
	switch l.What {
	case LackNodePorts:
		return l.counted("node port", "node ports")
	case LackPersistence:
		if l.Class == "" {
			return fmt.Sprintf("volume %s is persistent and names no storage class", l.Volume)
		}
		return fmt.Sprintf("volume %s is persistent and of class %s, which ends with its pod", l.Volume, l.Class)
	case LackClass:
		return fmt.Sprintf("the cluster has no storage of class %s, of which volume %s wants %s",
			l.Class, l.Volume, Bytes(l.Wanted, true))
	}
	return fmt.Sprintf("storage of class %s has %s free, of which volume %s wants %s",
		l.Class, Bytes(l.Left, false), l.Volume, Bytes(l.Wanted, true))
}

// wanted describes what no node has.
func (l Lack) wanted() string {
	switch l.What {
	case LackCPU:
		return CPUs(l.Wanted) + " CPU"
	case LackMemory:
		return Bytes(l.Wanted, true) + " of memory" + l.forVolume()
	case LackEphemeral:
		return Bytes(l.Wanted, true) + " of ephemeral storage" + l.forVolume()
	case LackClassHere:
		return "storage class " + l.Class + l.forVolume()
	case LackPods:
		return "room for another pod"
	}
	return strconv.FormatUint(l.Wanted, 10) + " " + cmp.Or(l.Model, "GPU")
}

func (l Lack) forVolume() string {
	if l.Volume == "" {
		return ""
	}
	return " for volume " + l.Volume
}

// left describes what a node has left. If named, it also names what is wanted.
func (l Lack) left(named bool) string {
	of := ""
	if named {
		of = " of the " + l.wanted() + " wanted"
	}
	switch l.What {
	case LackCPU:
		return "has " + CPUs(l.Left) + " free" + of
	case LackMemory, LackEphemeral:
		return "has " + Bytes(l.Left, false) + " free" + of
	case LackClassHere:
		if named {
			return "lacks storage class " + l.Class
		}
		return "lacks it"
	case LackPods:
		return "runs as many pods as it may"
	}
	switch {
	case l.Left > 0:
	case l.What == LackGPU && l.There == 0 && l.Model == "":
		return "has no GPU"
	case l.What == LackGPU && l.There == 0:
		return "has no such GPU" + of
	default:
		return "has none free" + of
	}
	return "has " + strconv.FormatUint(l.Left, 10) + " free" + of
}

// Words describes the hold, the sum over all nodes: 2 CPU, 4Gi memory, 1 nvidia/a100. models are the models of the
// GPUs, or nil if they are unknown. An empty hold is "".
func (h Hold) Words(models []string) string {
	var texts []string
	all := h.Total()
	add := func(n uint64, amount, what string) {
		if n > 0 {
			texts = append(texts, amount+" "+what)
		}
	}
	add(all.CPU, CPUs(all.CPU), "CPU")
	add(all.Memory, Bytes(all.Memory, true), "memory")
	add(all.EphemeralStorage, Bytes(all.EphemeralStorage, true), "disk")
	cards := "GPU"
	if len(models) > 0 {
		cards = strings.Join(models, " or ")
	}
	add(all.GPU, strconv.FormatUint(all.GPU, 10), cards)
	for _, class := range slices.Sorted(maps.Keys(h.Storage)) {
		add(h.Storage[class], Bytes(h.Storage[class], true), class)
	}
	if h.Addresses > 0 {
		texts = append(texts, plural(h.Addresses, "address", "addresses"))
	}
	if h.NodePorts > 0 {
		texts = append(texts, plural(h.NodePorts, "node port", "node ports"))
	}
	return strings.Join(texts, ", ")
}

// CPUs formats an amount of CPU: whole CPUs if possible, else thousandths.
func CPUs(milli uint64) string {
	if milli%1000 == 0 {
		return strconv.FormatUint(milli/1000, 10)
	}
	return strconv.FormatUint(milli, 10) + "m"
}

// Bytes formats an amount of bytes with at most two decimals, rounded up or down.
func Bytes(n uint64, up bool) string {
	const units = "KMGTPE"
	power := 0
	for rest := n; rest >= 1024 && power < len(units); rest /= 1024 {
		power++
	}
	if power == 0 {
		return strconv.FormatUint(n, 10)
	}
	unit := uint64(1) << (10 * power)
	whole := n / unit
	high, low := bits.Mul64(n%unit, 100)
	hundredths, rest := bits.Div64(high, low, unit)
	if up && rest > 0 {
		hundredths++
	}
	if hundredths == 100 {
		whole, hundredths = whole+1, 0
	}
	text := strconv.FormatUint(whole, 10)
	if hundredths > 0 {
		text += strings.TrimRight(fmt.Sprintf(".%02d", hundredths), "0")
	}
	return text + units[power-1:power] + "i"
}

func plural(n uint64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.FormatUint(n, 10) + " " + many
}

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
