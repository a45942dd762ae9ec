package state

import (
	"slices"

	"github.com/akash-net/kubectl-akash-net/lease"
)

// InNamespace are the problems of the leases of a namespace: those that name it, or a lease of it, or a
// thing of which a lease of it holds a part.
func InNamespace(problems []Problem, claims []*Claim, namespace string) []Problem {
	groups, things := map[lease.Group]bool{}, map[string]bool{}
	for _, c := range claims {
		for _, p := range c.Parts {
			if p.Lease.Namespace() == namespace {
				groups[p.Lease.Group()], things[c.Thing] = true, true
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(problems), func(p Problem) bool {
		if p.Namespace != "" {
			return p.Namespace != namespace
		}
		if g, err := lease.ParseGroup(p.Lease); err == nil {
			return !groups[g]
		}
		return !things[p.Thing]
	})
}
