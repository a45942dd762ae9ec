package inventory

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/lazy"
)

// placeReplica takes what one replica needs from a node and from the cluster's storage, and returns the model and the GPUs
// that it has chosen. If something is missing, it changes nothing and returns the first lack. It checks in the order of Akash's
// provider.
func (c *Cluster) placeReplica(node *Node, r Resource, w gpuRequest) (*model, map[string]uint64, *Lack) {
	trial := node.clone()
	if trial.Pods != nil && !trial.Pods.Take(1) {
		return nil, nil, &Lack{What: LackPods, Wanted: 1}
	}
	if !trial.CPU.Take(r.CPU) {
		return nil, nil, &Lack{What: LackCPU, Wanted: r.CPU, Left: trial.CPU.Available()}
	}
	chosen, cards, lack := takeGPU(&trial, w)
	if lack != nil {
		return nil, nil, lack
	}
	if !trial.Memory.Take(r.Memory) {
		return nil, nil, &Lack{What: LackMemory, Wanted: r.Memory, Left: trial.Memory.Available()}
	}
	if lack := c.takeVolumes(&trial, r.Storage); lack != nil {
		return nil, nil, lack
	}
	*node = trial
	return chosen, cards, nil
}

// takeVolumes takes volumes in their order. If one has no room, the cluster's storage is unchanged, but the node may be
// partly changed.
func (c *Cluster) takeVolumes(node *Node, volumes []Volume) *Lack {
	taken := map[int]uint64{}
	for _, v := range volumes {
		if v.Attributes.Persistent != "true" {
			if lack := node.takeVolume(v); lack != nil {
				c.putBack(taken)
				return lack
			}
			continue
		}
		entry, lack := c.takePersistent(node, v)
		if lack != nil {
			c.putBack(taken)
			return lack
		}
		taken[entry] += v.Size
	}
	return nil
}

// putBack returns what was taken of the cluster's storage, by index.
func (c *Cluster) putBack(taken map[int]uint64) {
	for entry, size := range taken {
		c.Storage[entry].Allocated -= int64(size)
	}
}

// takeVolume takes a volume that is deleted with its pod.
func (n *Node) takeVolume(v Volume) *Lack {
	room, what := &n.EphemeralStorage, LackEphemeral
	if v.Attributes.Class == ClassRAM {
		room, what = &n.Memory, LackMemory
	}
	if !room.Take(v.Size) {
		return &Lack{What: what, Wanted: v.Size, Left: room.Available(), Volume: v.Name}
	}
	return nil
}

// takePersistent takes a volume from the first storage of its class. If the node lacks the class, another node may have
// it; if the class is full, none has room.
func (c *Cluster) takePersistent(n *Node, v Volume) (entry int, lack *Lack) {
	class := v.Attributes.Class
	missing := &Lack{Class: class, Wanted: v.Size, Volume: v.Name}
	if class == "" || class == ClassRAM {
		missing.What = LackPersistence
		return 0, missing
	}
	if !slices.Contains(n.StorageClasses, class) {
		missing.What = LackClassHere
		return 0, missing
	}
	entry = slices.IndexFunc(c.Storage, func(s Storage) bool { return s.Class == class })
	if entry < 0 {
		missing.What = LackClass
		return 0, missing
	}
	if room := &c.Storage[entry]; !room.Take(v.Size) {
		missing.What, missing.Left = LackStorage, room.Available()
		return 0, missing
	}
	return entry, nil
}

// takeGPU takes GPUs that match a request, and returns how many of which model (VENDOR/MODEL). The model of the last one that
// is counted becomes the pod's. GPUs that reservations have chosen are left out. Which of the others are in use is unknown, so
// they are counted up to what is left of their vendor; Akash's inventory counts all of them each time.
func takeGPU(n *Node, w gpuRequest) (*model, map[string]uint64, *Lack) {
	if w.units == 0 {
		return nil, nil, nil
	}
	lack := &Lack{What: LackGPU, Wanted: w.units, Model: w.text}
	for _, card := range n.Cards {
		if _, ok := w.matches(card); ok || w.err != nil {
			lack.There++
		}
	}
	if n.GPU.Available() == 0 {
		return nil, nil, lack
	}
	if w.err != nil {
		lack.What, lack.Why = LackWish, w.err.Error()
		return nil, nil, lack
	}
	found, cards, vendors := uint64(0), map[string]uint64{}, map[string]uint64{}
	taken := maps.Clone(n.Taken)
	var last model
	for _, card := range n.Cards {
		m, ok := w.matches(card)
		if !ok {
			continue
		}
		name := card.Vendor + "/" + card.Name
		if taken[name] > 0 {
			taken[name]--
			continue
		}
		if of, known := n.Vendors[card.Vendor]; known && vendors[card.Vendor] >= of.Available() {
			continue
		}
		cards[name]++
		vendors[card.Vendor]++
		if found++; found == w.units {
			last = m
			break
		}
	}
	if found < w.units || !n.GPU.Take(w.units) {
		lack.Left = min(found, n.GPU.Available())
		return nil, nil, lack
	}
	n.choose(cards)
	return &last, cards, nil
}

// choose counts GPUs as chosen, by model, and as allocated of their vendors.
func (n *Node) choose(cards map[string]uint64) {
	if n.Vendors == nil {
		return
	}
	for name, count := range cards {
		if n.Taken == nil {
			n.Taken = map[string]uint64{}
		}
		n.Taken[name] = Sum(n.Taken[name], count)
		vendor, _, _ := strings.Cut(name, "/")
		if of, known := n.Vendors[vendor]; known {
			of.allocate(count)
			n.Vendors[vendor] = of
		}
	}
}

// gpuRequest is a parsed request for GPUs.
type gpuRequest struct {
	units  uint64
	models []model
	// err is what is wrong with the attributes. Such a request fits no node with GPUs.
	err error
	// text describes the request to people.
	text string
}

// model is a vendor and model of GPUs that a request accepts. ram and iface are empty if any value is accepted.
type model struct{ vendor, name, ram, iface string }

// anyModel matches all models of a vendor.
const anyModel = "*"

// attribute returns the model as an attribute of a group.
func (m model) attribute() string {
	s := "vendor/" + m.vendor + "/model/" + m.name
	if m.ram != "" {
		s += "/ram/" + m.ram
	}
	if m.iface != "" {
		s += "/interface/" + m.iface
	}
	return s
}

// String describes the model to people.
func (m model) String() string {
	s := m.vendor + "/" + m.name
	if m.ram != "" {
		s += " with " + m.ram
	}
	if m.iface != "" {
		s += " on " + m.iface
	}
	return s
}

// parseGPU parses a request for GPUs. If several attributes name the same model, the last one counts.
func parseGPU(g GPU) gpuRequest {
	w := gpuRequest{units: g.Units}
	switch {
	case g.Units == 0:
		return w
	case len(g.Attributes) == 0:
		w.err = errors.New("they name no model; vendor/nvidia/model/* is any of NVIDIA's")
		return w
	}
	for _, a := range g.Attributes {
		m, err := parseModel(a)
		if err != nil {
			return gpuRequest{units: g.Units, err: err}
		}
		w.add(m)
	}
	w.text = w.describe()
	return w
}

func (w *gpuRequest) add(m model) {
	same := func(other model) bool { return other.vendor == m.vendor && other.name == m.name }
	if i := slices.IndexFunc(w.models, same); i >= 0 {
		w.models[i] = m
		return
	}
	w.models = append(w.models, m)
}

// parseModel parses an attribute: vendor and model, then pairs. It ignores unknown pairs.
func parseModel(attribute string) (model, error) {
	parts := strings.Split(attribute, "/")
	if len(parts) < 4 || len(parts)%2 != 0 || parts[0] != "vendor" || parts[2] != "model" {
		return model{}, errors.New(lease.Message("%q is not of the form vendor/<vendor>/model/<model>", attribute))
	}
	m := model{vendor: parts[1], name: parts[3]}
	if m.vendor != "nvidia" && m.vendor != "amd" {
		return model{}, errors.New(lease.Message("%q is no vendor of GPUs; nvidia and amd are known", m.vendor))
	}
	for i := 4; i < len(parts); i += 2 {
		switch value := parts[i+1]; parts[i] {
		case "ram":
			ram, err := wholeGi(value)
			if err != nil {
				return model{}, err
			}
			m.ram = ram
		case "interface":
			if value != "pcie" && value != "sxm" {
				return model{}, errors.New(lease.Message("%q is no interface of GPUs; pcie and sxm are known", value))
			}
			m.iface = value
		}
	}
	return m, nil
}

// binarySize is how Akash writes the memory of a GPU: with a binary suffix, without needless zeros (chain-sdk:
// go/util/units).
var binarySize = lazy.Pattern(`^([-+]?(?:(?:[1-9]\d*|0)?\.\d*|[1-9]\d*))([KMGTPE])i$`)

// wholeGi rounds a size down to whole Gi, the unit in which Card has it, with floating point as Akash does.
func wholeGi(size string) (string, error) {
	invalid := errors.New(lease.Message("%q is no size of a GPU's memory", size))
	m := binarySize().FindStringSubmatch(size)
	if m == nil || len(size) > 64 {
		return "", invalid
	}
	n, _, err := new(big.Float).Parse(m[1], 10)
	if err != nil {
		return "", invalid
	}
	unit := uint64(1024) << (10 * strings.Index("KMGTPE", m[2]))
	bytes, accuracy := n.Mul(n, new(big.Float).SetUint64(unit)).Uint64()
	if bytes == 0 && accuracy == big.Above || bytes == math.MaxUint64 && accuracy == big.Below {
		return "", invalid // negative, or more than there can be
	}
	return strconv.FormatUint(bytes>>30, 10) + "Gi", nil
}

// matches returns the model of the request that a GPU matches. A named model takes precedence over the vendor's
// wildcard, even if its memory or interface does not match.
func (w gpuRequest) matches(c Card) (model, bool) {
	var wanted *model
	for i, m := range w.models {
		if m.vendor == c.Vendor && (m.name == c.Name || m.name == anyModel) {
			wanted = &w.models[i]
			if m.name == c.Name {
				break
			}
		}
	}
	if wanted == nil || wanted.ram != "" && wanted.ram != c.MemorySize ||
		wanted.iface != "" && wanted.iface != cardInterface(c) {
		return model{}, false
	}
	return model{vendor: c.Vendor, name: c.Name, ram: wanted.ram, iface: wanted.iface}, true
}

// cardInterface returns the interface of a GPU as requests name it: SXM4 and SXM5 are sxm.
func cardInterface(c Card) string {
	iface := strings.ToLower(c.Interface)
	if strings.HasPrefix(iface, "sxm") {
		return "sxm"
	}
	return iface
}

// describe describes the request to people.
func (w gpuRequest) describe() string {
	names := make([]string, 0, maxModelsNamed)
	for _, m := range w.models[:min(len(w.models), maxModelsNamed)] {
		names = append(names, lease.Clip(m.String()))
	}
	if more := len(w.models) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("%d others", more))
	}
	return strings.Join(names, " or ")
}

// maxModelsNamed limits how many models of a request a message names.
const maxModelsNamed = 4
