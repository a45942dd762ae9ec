package inventory

import (
	"slices"

	"github.com/akash-net/kubectl-akash-net/lease/resources"
)

// Levels are how much may be leased per unit that exists: 2 allows twice as much. Levels up to 1 change nothing.
type Levels struct {
	CPU     float64 `json:"cpu"`
	GPU     float64 `json:"gpu"`
	Memory  float64 `json:"memory"`
	Storage float64 `json:"storage"`
}

// commit returns the group with the amounts that it takes of nodes.
func (l Levels) commit(g Group) Group {
	units := make([]Resource, len(g.Resources))
	for i, r := range g.Resources {
		r.CPU, r.Memory = resources.Commit(l.CPU, r.CPU), resources.Commit(l.Memory, r.Memory)
		r.GPU.Units = resources.Commit(l.GPU, r.GPU.Units)
		r.Storage = slices.Clone(r.Storage)
		for k, v := range r.Storage {
			r.Storage[k].Size = resources.Commit(l.Storage, v.Size)
		}
		units[i] = r
	}
	g.Resources = units
	return g
}
