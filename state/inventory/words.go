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
		return wanted + "none is left"
	}
	return wanted + strconv.FormatUint(l.Left, 10) + " left"
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
	return fmt.Sprintf("storage of class %s has %s left, of which volume %s wants %s",
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
		return "has " + CPUs(l.Left) + " left" + of
	case LackMemory, LackEphemeral:
		return "has " + Bytes(l.Left, false) + " left" + of
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
		return "has none left" + of
	}
	return "has " + strconv.FormatUint(l.Left, 10) + " left" + of
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
