package apply

import (
	"slices"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
)

// A part of a claim says whether the objects of its lease were once written for it (applied). It is noted when the
// part is taken for a definition that has routes for it, and corrected at the end; a run that changes nothing else notes
// nothing.

// applying is what is wanted of a claim, with the note that objects are about to stand for it.
func (r *claims) applying(h state.Hold) state.Hold {
	if r.def == nil || r.opts.Check {
		return h
	}
	unrouted := !h.Kind.HasPorts() && slices.ContainsFunc(r.def.Unrouted(), func(host lease.Host) bool { return host.Name == h.Thing })
	h.Parts = slices.Clone(h.Parts)
	for i, p := range h.Parts {
		h.Parts[i].Applied = p.Service != "" && !unrouted
	}
	return h
}

// standFor notes for which parts of claims the run has written objects, or found them as they should be.
func (r *claims) standFor(desired []render.Object) {
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
func (r *claims) standsFor(name, key string) {
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
func (r *claims) appliedAs(h *held, was, now state.Part) bool {
	if r.stands[h.want.Name()][now.Key] {
		return was.Applied || h.took || r.changed
	}
	return was.Applied && r.def == nil && was.Lease == now.Lease && r.snapshot.serves(h.claim, r.group)
}

// checkOpen refuses where an uninstall is removing the ledger. Both announce themselves and then list the announcements,
// so one of them sees the other.
func (r *claims) checkOpen() error {
	if r.opts.turn.Closing() && slices.ContainsFunc(r.sortedHolds(), func(h *held) bool { return h.took }) {
		return &ClosingError{Namespace: r.opts.Config.LedgerNamespace}
	}
	return nil
}
