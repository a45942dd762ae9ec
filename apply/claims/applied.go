package claims

import (
	"slices"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/state"
)

// Part.Applied records whether objects have been written for a part. A run sets it when it takes the part for a
// definition that routes it, and corrects it when it settles the claim. A run that changes nothing else does not write
// it.

// applying returns a hold whose parts are marked as applied if the definition routes them.
func (r *Claims) applying(h state.Hold) state.Hold {
	if r.Def == nil {
		return h
	}
	unrouted := !h.Kind.HasPorts() && r.IsUnrouted(h.Thing)
	h.Parts = slices.Clone(h.Parts)
	for i, p := range h.Parts {
		h.Parts[i].Applied = p.Service != "" && !unrouted
	}
	return h
}

// IsUnrouted reports whether the definition has a host but no route for it: the host is only claimed.
func (r *Claims) IsUnrouted(host string) bool {
	return r.Def != nil && slices.ContainsFunc(r.Def.Unrouted(), func(h lease.Host) bool { return h.Name == host })
}

// StandsFor records that objects of the run serve a part of a claim.
func (r *Claims) StandsFor(name, key string) { r.served[claimPart{name, key}] = true }

// CheckOpen returns a ClosingError if the run has taken a claim while an uninstall removes the ledger. Each command
// announces itself before it lists the announcements, so at least one of the two sees the other.
func (r *Claims) CheckOpen() error {
	if r.Options.Turn.Closing() && slices.ContainsFunc(r.SortedHolds(), func(h *Held) bool { return h.Took }) {
		return &report.ClosingError{Namespace: r.Options.Config.LedgerNamespace}
	}
	return nil
}
