package apply

import (
	"slices"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
)

// claims is what the work on one lease claims of the ledger: it takes what the lease asks for, and gives it back.
type claims struct {
	*executor
	def *lease.Definition
	// nonce is the run's mark.
	nonce string
	// holds are the claims that the run relies on, by name.
	holds map[string]*held
	// rivals are earlier leases of the same run, of other owners, that ask for the same, by claim.
	rivals map[string]state.Holder
	// above are the wildcards as they were listed after the run had taken its hosts; nil where they are yet to be read.
	above *[]*state.Claim
	// unclear are the claims that the run has tried to take by a write whose answer was lost.
	unclear map[string]*held
	// before is what the group had written on claims that the run has changed.
	before map[string][]state.Part
	// patient runs ask again for what another run of the owner has just taken. Once that was in vain it
	// is withheld, as is all that such runs hold.
	patient bool
	// marking is true while the run marks claims that it has held before.
	marking bool
	// withheldHosts are hosts, or paths of hosts, as lease.HostPath calls them.
	withheldHosts map[string]bool
	withheldPorts map[string]bool
	// withheld are the notes of what is withheld.
	withheld  []waiting
	addresses render.Addresses
	// stands are the parts, by the name of their claim and their key, for which the run has written objects.
	stands map[string]map[string]bool
}

func newClaims(c *Command, def *lease.Definition, req state.Request) *claims {
	r := &claims{
		executor: newExecutor(c, req), def: def, patient: true, addresses: render.Addresses{},
		holds: map[string]*held{}, unclear: map[string]*held{}, before: map[string][]state.Part{}, withheldHosts: map[string]bool{}, withheldPorts: map[string]bool{},
	}
	if c.opts.turn != nil {
		r.nonce = c.opts.turn.Mark()
	}
	return r
}

func (r *claims) hold(h *held) {
	known := r.holds[h.want.Name()]
	h.touch = h.touch || h.anew || known != nil && known.touch
	r.holds[h.want.Name()] = h
}

func (r *claims) sortedHolds() []*held {
	holds := make([]*held, 0, len(r.holds))
	for _, h := range r.holds {
		holds = append(holds, h)
	}
	slices.SortFunc(holds, func(a, b *held) int { return a.want.Compare(b.want) })
	return holds
}

func (r *claims) overtaken(h *held) error {
	return &OvertakenError{Kind: h.want.Kind, Thing: h.want.Thing, Lease: r.req.Lease}
}

// held is what a run holds of one claim.
type held struct {
	want  state.Hold
	claim *state.Claim
	// took is true where a part has this run's mark, and so has to be as it was if the run fails.
	took bool
	// anew is true for a host that has yet to be compared with the wildcard above it: the run has taken
	// it, or taken it over from a run that may not have done so.
	anew bool
	// touch is true where the objects that rest on the claim are to move also if they are as they should
	// be: the claim was taken anew, or one of them is missing.
	touch bool
}
