package inventory

import "slices"

// placeReplica takes what one replica needs from a node and from the cluster's storage. If something is missing, it
// changes nothing and returns the first lack. It checks in the order of Akash's provider.
func (c *Cluster) placeReplica(node *Node, r Resource, w gpuRequest) (*model, *Lack) {
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

// takeGPU takes GPUs that match a request. The model of the last one that is counted becomes the pod's. Which GPUs are
// in use is unknown, so all GPUs of the node are counted, as in Akash's provider.
func takeGPU(n *Node, w gpuRequest) (*model, *Lack) {
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
