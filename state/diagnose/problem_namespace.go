package diagnose

import (
	"slices"
	"strings"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
)

// InNamespace returns the problems of the leases of a namespace: those that name the namespace, a lease of it, or a
// thing of which a lease of it holds a part.
func InNamespace(problems []state.Problem, claims []*state.Claim, namespace string) []state.Problem {
	groups, things, tenants := map[lease.Group]bool{}, map[string]bool{}, map[string]bool{}
	for _, c := range claims {
		for _, p := range c.Parts {
			if tenants[p.Lease.Namespace()] = true; p.Lease.Namespace() == namespace {
				groups[p.Lease.Group()], things[c.Thing] = true, true
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(problems), func(p state.Problem) bool {
		if p.Namespace == namespace || tenants[p.Namespace] {
			return p.Namespace != namespace
		}
		if id, err := lease.ParseID(p.Lease); err == nil { // also of a ProviderHost, which is in the namespace of all
			return id.Namespace() != namespace
		}
		if g, err := lease.ParseGroup(p.Lease); err == nil {
			return !groups[g]
		}
		return p.Namespace != "" || !things[p.Thing]
	})
}

// OfLeases returns the problems of deployment groups: those that name one, and those of things that one holds which name no lease.
func OfLeases(problems []state.Problem, claims []*state.Claim, groups []lease.Group) []state.Problem {
	things := map[string]bool{}
	for _, c := range claims {
		for _, p := range c.Parts {
			if slices.Contains(groups, p.Lease.Group()) {
				things[c.Thing] = true
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(problems), func(p state.Problem) bool {
		if id, err := lease.ParseID(p.Lease); err == nil {
			return !slices.Contains(groups, id.Group())
		}
		if g, err := lease.ParseGroup(p.Lease); err == nil {
			return !slices.Contains(groups, g)
		}
		return !things[p.Thing]
	})
}

// OfThing returns the problems of a host or an address, and those of objects that are named after it.
func OfThing(problems []state.Problem, name string) []state.Problem {
	return slices.DeleteFunc(slices.Clone(problems), func(p state.Problem) bool { return p.Thing != name && !strings.HasSuffix(p.Thing, "/"+name) })
}
