package inventory

import (
	"maps"
	"slices"
	"strings"
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
