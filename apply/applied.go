package apply

import (
	"slices"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
)

// A part of a claim says whether the objects of its lease were once written for it (applied). It is noted by
// the write that takes the run's mark away, and by none of its own: a run that changes nothing notes nothing.

// standFor notes for which parts of claims the run has written objects, or found them as they should be.
func (r *run) standFor(desired []render.Object) {
	claims := make([]*state.Claim, 0, len(r.holds))
	for _, h := range r.holds {
		claims = append(claims, h.claim)
	}
	for _, o := range desired {
		if slices.Contains(kinds.Records, o.Kind) || slices.Contains(kinds.Pools, o.Kind) {
			continue
		}
		for _, g := range groundsOf(owned{kind: o.Kind, live: cluster.Rendered(o), group: r.group}, claims) {
			r.standsFor(g.name, g.served.Key)
		}
	}
}

// standsFor notes that objects of the run stand for a part.
func (r *run) standsFor(name, key string) {
	if r.stands == nil {
		r.stands = map[string]map[string]bool{}
	}
	if r.stands[name] == nil {
		r.stands[name] = map[string]bool{}
	}
	r.stands[name][key] = true
}

// appliedAs says whether a part is applied in the end. What another order of the lease has applied, and what a
// reservation finds served by nothing, is a reservation again.
func (r *run) appliedAs(h *held, was, now state.Part) bool {
	if r.stands[h.want.Name()][now.Key] {
		return was.Applied || h.took
	}
	return was.Applied && r.def == nil && was.Lease == now.Lease && r.snapshot.serves(h.claim, r.group)
}
