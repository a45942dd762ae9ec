// Package objects writes the objects of a lease that rest on its claims, deletes those that the lease no longer
// defines, and then gives up the claims on which no object rests any more.
package objects

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/akash-net/kubectl-akash-net/apply/claims"
	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/apply/operators"
	"github.com/akash-net/kubectl-akash-net/apply/pools"
	"github.com/akash-net/kubectl-akash-net/apply/routes"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/state"
)

// Objects writes and deletes the objects of one lease.
type Objects struct {
	*claims.Claims
	// Kinds are the kinds of the lease's objects, whether this run or somebody else writes them.
	Kinds []kinds.Kind
	Pools *pools.Pools
	// Operated waits for Akash's operators, and Successors for routes that replace others.
	Operated   *operators.Operated
	Successors *routes.Successors
	// namespaceCreated is true once the run has created the lease's namespace.
	namespaceCreated bool
	// Closed is true if nothing is left to undo.
	Closed bool
	// Routeless are the keys of parts, by claim name, for which there is no route yet.
	Routeless map[string][]string
	// Granted are the addresses that MetalLB has chosen in pool mode.
	Granted []string
	// replacing is held while an old route is deleted for a new one.
	replacing sync.Mutex
	// keptFor are the objects of the lease that were reported to serve another one.
	keptFor map[types.UID]bool
	// KeptThings are the things that the run did not give up because Akash's provider declares them.
	KeptThings []report.KeptThing
}

// New returns the Objects of one lease; def is nil if nothing is rendered.
func New(c *command.Command, def *lease.Definition, req state.Request) *Objects {
	held := claims.New(c, def, req)
	r := &Objects{
		Claims: held, keptFor: map[types.UID]bool{},
		Operated: &operators.Operated{Claims: held}, Successors: &routes.Successors{Claims: held},
	}
	r.By = r
	return r
}

// Summary returns what the lease holds, and what was withheld from it.
func (r *Objects) Summary() *report.Summary {
	s := &report.Summary{Withheld: len(r.WithheldHosts) + len(r.WithheldPorts), Changed: r.Changed(), Took: r.Took()}
	for _, h := range r.Holds {
		if !h.Want.Kind.HasPorts() {
			s.Hosts = append(s.Hosts, h.Want.Thing)
			if r.IsUnrouted(h.Want.Thing) {
				s.Unrouted++
			}
		} else if h.Want.Kind == state.Address {
			s.Addresses = append(s.Addresses, h.Want.Thing)
		}
	}
	s.Addresses = append(s.Addresses, r.Granted...)
	slices.Sort(s.Hosts)
	slices.Sort(s.Addresses)
	s.Addresses = slices.Compact(s.Addresses)
	return s
}
