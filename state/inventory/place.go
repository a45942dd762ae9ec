package inventory

import "slices"

// placeReplica takes what one replica needs from a node, and from the cluster's storage. If something is missing
// nothing is changed, and what is missing first is answered. The order of the checks is that of Akash's provider.
func (c *Cluster) placeReplica(node *Node, r Resource, w wish) (*model, *Lack) {
	trial := *node
	if !trial.CPU.Take(r.CPU) {
		return nil, &Lack{What: LackCPU, Wanted: r.CPU, Left: trial.CPU.Available()}
	}
	chosen, lack := takeGPU(&trial, w)
	if lack != nil {
		return nil, lack
	}
	if !trial.Memory.Take(r.Memory) {
		return nil, &Lack{What: LackMemory, Wanted: r.Memory, Left: trial.Memory.Available()}
	}
	if lack := c.takeVolumes(&trial, r.Storage); lack != nil {
		return nil, lack
	}
	*node = trial
	return chosen, nil
}

// takeVolumes takes volumes in their order, all or none of the cluster's storage. The node may be left half changed.
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

// putBack gives back what was taken of entries of the cluster's storage.
func (c *Cluster) putBack(taken map[int]uint64) {
	for entry, size := range taken {
		c.Storage[entry].Allocated -= int64(size)
	}
}

// takeVolume takes a volume that ends with its pod.
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

// takePersistent takes a volume from the first entry of its class. Where the node has not the class another node may
// help; where the class is full none does.
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

// takeGPU takes cards that serve a wish. The last of as many cards as are wanted says which model the pod is
// given. Which cards are in use is not known: all of a node count, as Akash's provider does.
func takeGPU(n *Node, w wish) (*model, *Lack) {
	if w.units == 0 {
		return nil, nil
	}
	lack := &Lack{What: LackGPU, Wanted: w.units, Model: w.text}
	if n.GPU.Available() == 0 {
		return nil, lack
	}
	if w.err != nil {
		lack.What, lack.Why = LackWish, w.err.Error()
		return nil, lack
	}
	found := uint64(0)
	var last model
	for _, card := range n.Cards {
		m, ok := w.matches(card)
		if !ok {
			continue
		}
		if found++; found == w.units {
			last = m
			break
		}
	}
	if found < w.units || !n.GPU.Take(w.units) {
		lack.Left = min(found, n.GPU.Available())
		return nil, lack
	}
	return &last, nil
}
