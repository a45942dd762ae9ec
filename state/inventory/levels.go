package inventory

import "github.com/akash-net/kubectl-akash-net/lease/resources"

// Levels say how much may be leased out for each unit that there is: with 2, twice as much. Levels up to 1 change
// nothing.
type Levels struct {
	CPU     float64 `json:"cpu"`
	GPU     float64 `json:"gpu"`
	Memory  float64 `json:"memory"`
	Storage float64 `json:"storage"`
}

// commit is a group as it is taken from nodes.
func (l Levels) commit(g Group) Group {
	units := make([]Resource, len(g.Resources))
	for i, r := range g.Resources {
		r.CPU, r.Memory, r.GPU.Units = resources.Commit(l.CPU, r.CPU), resources.Commit(l.Memory, r.Memory), resources.Commit(l.GPU, r.GPU.Units)
		volumes := make([]Volume, len(r.Storage))
		for k, v := range r.Storage {
			v.Size = resources.Commit(l.Storage, v.Size)
			volumes[k] = v
		}
		r.Storage = volumes
		units[i] = r
	}
	g.Resources = units
	return g
}
