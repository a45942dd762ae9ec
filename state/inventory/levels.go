package inventory

import "math"

// Levels say how much may be leased out for each unit that there is: with 2, twice as much. Levels up to 1 change
// nothing.
type Levels struct {
	CPU     float64 `json:"cpu"`
	GPU     float64 `json:"gpu"`
	Memory  float64 `json:"memory"`
	Storage float64 `json:"storage"`
}

// Commit is what of an amount is taken from a node at a level: the amount divided by the level, rounded half away
// from zero, and at least 1 of what is more than nothing. Both steps are in float64, as Akash's provider does them, so
// large amounts lose their low bits. Nothing stays nothing (there it becomes 1).
func Commit(level float64, amount uint64) uint64 {
	if !(level > 1) || amount == 0 {
		return amount
	}
	x := math.Round(float64(amount) * (1 / level))
	if x < 1 {
		return 1
	}
	if x >= math.MaxUint64 {
		return amount
	}
	return uint64(x)
}

// commit is a group as it is taken from nodes.
func (l Levels) commit(g Group) Group {
	resources := make([]Resource, len(g.Resources))
	for i, r := range g.Resources {
		r.CPU, r.Memory, r.GPU.Units = Commit(l.CPU, r.CPU), Commit(l.Memory, r.Memory), Commit(l.GPU, r.GPU.Units)
		volumes := make([]Volume, len(r.Storage))
		for k, v := range r.Storage {
			v.Size = Commit(l.Storage, v.Size)
			volumes[k] = v
		}
		r.Storage = volumes
		resources[i] = r
	}
	g.Resources = resources
	return g
}
