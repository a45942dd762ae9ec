// Package claims takes what a lease asks for from the ledger, and gives it back: hosts, wildcards, addresses, and the definition
// that the ledger keeps. What is done next with a claim is decided by package state/protocol.
package claims

import (
	"net/netip"
	"slices"

	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/apply/executor"
	"github.com/akash-net/kubectl-akash-net/apply/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
)

// Claims is what the work on one lease claims of the ledger: it takes what the lease asks for, and gives it back.
type Claims struct {
	*executor.Executor
	Def *lease.Definition
	// Nonce is the run's mark.
	Nonce string
	// Holds are the claims that the run relies on, by name.
	Holds map[string]*Held
	// Rivals are earlier leases of the same run, of other owners, that ask for the same, by claim.
	Rivals map[string]state.Holder
	// above are the wildcards as they were listed after the run had taken its hosts; nil where they are yet to be read.
	above *[]*state.Claim
	// Unclear are the claims that the run has tried to take by a write whose answer was lost.
	Unclear map[string]*Held
	// Before is what the group had written on claims that the run has changed.
	Before map[string][]state.Part
	// patient runs ask again for what another run of the owner has just taken. Once that was in vain it
	// is withheld, as is all that such runs hold.
	patient bool
	// Late runs come after another lease of the command that asks for the same: what was read of it is old. Given ones come
	// after one that gives up what they ask for: they read everything again then.
	Late, Given bool
	// picked are the addresses that this lease of the command was the first to pick.
	picked []netip.Addr
	// Marking is true while the run marks claims that it has held before.
	Marking bool
	// WithheldHosts are hosts, or paths of hosts, as lease.HostPath calls them.
	WithheldHosts map[string]bool
	WithheldPorts map[string]bool
	// Withheld are the notes of what is withheld.
	Withheld  []Waiting
	Addresses render.Addresses
	// stands are the parts, by the name of their claim and their key, for which the run has written objects.
	stands map[string]map[string]bool
}

// New begins the claims of one lease; def is nil where nothing is rendered.
func New(c *command.Command, def *lease.Definition, req state.Request) *Claims {
	r := &Claims{
		Executor: executor.New(c, req), Def: def, patient: true, Addresses: render.Addresses{},
		Holds: map[string]*Held{}, Unclear: map[string]*Held{}, Before: map[string][]state.Part{}, WithheldHosts: map[string]bool{}, WithheldPorts: map[string]bool{},
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

// SortedHolds are the claims that the run relies on, in the order in which they are taken.
func (r *Claims) SortedHolds() []*Held {
	holds := make([]*Held, 0, len(r.Holds))
	for _, h := range r.Holds {
		holds = append(holds, h)
	}
	slices.SortFunc(holds, func(a, b *Held) int { return a.Want.Compare(b.Want) })
	return holds
}

// Overtaken is the error of a run whose claim somebody else has by now.
func (r *Claims) Overtaken(h *Held) error {
	return &report.OvertakenError{Kind: h.Want.Kind, Thing: h.Want.Thing, Lease: r.Request.Lease}
}

// Held is what a run holds of one claim.
type Held struct {
	Want  state.Hold
	Claim *state.Claim
	// Took is true where a part has this run's mark, and so has to be as it was if the run fails.
	Took bool
	// Anew is true for a host that has yet to be compared with the wildcard above it: the run has taken
	// it, or taken it over from a run that may not have done so.
	Anew bool
	// Touch is true where the objects that rest on the claim are to move also if they are as they should
	// be: the claim was taken anew, or one of them is missing.
	Touch bool
}
