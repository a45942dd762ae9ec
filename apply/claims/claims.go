// Package claims takes hosts, wildcards and addresses for a lease in the ledger, releases them, and writes the
// definition that the ledger keeps. Package state/protocol decides the next step for each claim.
package claims

import (
	"maps"
	"slices"

	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/apply/executor"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/state"
)

// Claims takes and releases the claims of one lease.
type Claims struct {
	*executor.Executor
	Def *lease.Definition
	// Nonce is the run's mark.
	Nonce string
	// Holds are the claims on which the run relies, by name.
	Holds map[string]*Held
	// Unclear are the claims, by name, that the run may have taken: the answer to its write was lost.
	Unclear map[string]*Held
	// Before are the entries of the group on claims before the run's first write, by name.
	Before map[string][]state.Part
	// patient is true until the run has once waited in vain for another run of the owner. From then on, what such runs
	// hold is withheld at once.
	patient bool
	// Marking is true while a run whose turn is over marks claims that its lease held before.
	Marking bool
	// WithheldHosts are withheld hosts and paths, as lease.HostPath formats them; WithheldPorts are names of
	// ProviderLeasedIPs.
	WithheldHosts map[string]bool
	WithheldPorts map[string]bool
	// Withheld are the withheld parts with the notes about them.
	Withheld []Waiting
	// Addresses are the leased addresses by IP endpoint.
	Addresses render.Addresses
	// served are the parts for which the run has written objects, or found them unchanged.
	served map[claimPart]bool
}

// claimPart is the name of a claim and the key of a part of it.
type claimPart struct{ name, key string }

// New returns the Claims of one lease; def is nil if nothing is rendered.
func New(c *command.Command, def *lease.Definition, req state.Request) *Claims {
	r := &Claims{
		Executor: executor.New(c, req), Def: def, patient: true, Addresses: render.Addresses{},
		Holds: map[string]*Held{}, Unclear: map[string]*Held{}, Before: map[string][]state.Part{},
		WithheldHosts: map[string]bool{}, WithheldPorts: map[string]bool{}, served: map[claimPart]bool{},
	}
	if c.Options.Turn != nil {
		r.Nonce = c.Options.Turn.Mark()
	}
	return r
}

// Hold makes the run rely on a claim.
func (r *Claims) Hold(h *Held) {
	known := r.Holds[h.Want.Name()]
	h.Touch = h.Touch || h.Anew || known != nil && known.Touch
	r.Holds[h.Want.Name()] = h
}

// SortedHolds returns the claims on which the run relies, in the order in which things are taken.
func (r *Claims) SortedHolds() []*Held {
	return slices.SortedFunc(maps.Values(r.Holds), func(a, b *Held) int { return a.Want.Compare(b.Want) })
}

// HeldClaims returns the claims on which the run relies, in no order.
func (r *Claims) HeldClaims() []*state.Claim {
	claims := make([]*state.Claim, 0, len(r.Holds))
	for _, h := range r.Holds {
		claims = append(claims, h.Claim)
	}
	return claims
}

// Overtaken returns the error of a run whose claim somebody else holds by now.
func (r *Claims) Overtaken(h *Held) error {
	return &report.OvertakenError{Kind: h.Want.Kind, Thing: h.Want.Thing, Lease: r.Request.Lease}
}

// Held is a claim on which a run relies.
type Held struct {
	Want  state.Hold
	Claim *state.Claim
	// Took is true if a part has this run's mark: the claim must be restored if the run fails.
	Took bool
	// Anew is true for a thing that the run has taken, or taken over from a run that may have crashed. Such a host must
	// still be checked against the wildcard above it.
	Anew bool
	// Touch is true if the run must write the objects that rest on the claim even if they are unchanged: the claim was
	// taken anew.
	Touch bool
}
