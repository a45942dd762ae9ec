package claims

import (
	"slices"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/apply/report"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
)

// A part of a claim says whether the objects of its lease were once written for it (applied). It is noted when the
// part is taken for a definition that has routes for it, and corrected at the end; a run that changes nothing else notes
// nothing.

// applying is what is wanted of a claim, with the note that objects are about to stand for it.
func (r *Claims) applying(h state.Hold) state.Hold {
	if r.Def == nil || r.Options.Check {
		return h
	}
	unrouted := !h.Kind.HasPorts() && slices.ContainsFunc(r.Def.Unrouted(), func(host lease.Host) bool { return host.Name == h.Thing })
	h.Parts = slices.Clone(h.Parts)
	for i, p := range h.Parts {
		h.Parts[i].Applied = p.Service != "" && !unrouted
	}
	return h
}

// StandFor notes for which parts of claims the run has written objects, or found them as they should be.
func (r *Claims) StandFor(desired []render.Object) {
	claims := make([]*state.Claim, 0, len(r.Holds))
	for _, h := range r.Holds {
		claims = append(claims, h.Claim)
	}
	for _, o := range desired {
		if slices.Contains(kinds.Records, o.Kind) || slices.Contains(kinds.Pools, o.Kind) {
			continue
		}
		for _, g := range observed.GroundsOf(observed.Owned{Kind: o.Kind, Live: cluster.Rendered(o), Group: r.Group}, claims) {
			r.StandsFor(g.Name, g.Served.Key)
		}
	}
}

// StandsFor notes that objects of the run stand for a part.
func (r *Claims) StandsFor(name, key string) {
	if r.stands == nil {
		r.stands = map[string]map[string]bool{}
	}
	if r.stands[name] == nil {
		r.stands[name] = map[string]bool{}
	}
	r.stands[name][key] = true
}

// AppliedAs says whether a part is applied in the end. What another order of the lease has applied, and what a
// reservation finds served by nothing, is a reservation again.
func (r *Claims) AppliedAs(h *Held, was, now state.Part) bool {
	if r.stands[h.Want.Name()][now.Key] {
		return was.Applied || h.Took || r.Changed
	}
	return was.Applied && r.Def == nil && was.Lease == now.Lease && r.Snapshot.Serves(h.Claim, r.Group)
}

// CheckOpen refuses where an uninstall is removing the ledger. Both announce themselves and then list the announcements,
// so one of them sees the other.
func (r *Claims) CheckOpen() error {
	if r.Options.Turn.Closing() && slices.ContainsFunc(r.SortedHolds(), func(h *Held) bool { return h.Took }) {
		return &report.ClosingError{Namespace: r.Options.Config.LedgerNamespace}
	}
	return nil
}
