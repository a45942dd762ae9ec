package apply

import (
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
)

// objects is what the work on one lease writes for what it has claimed, and what it deletes.
type objects struct {
	*claims
	// kinds are those of the objects that are written, or that somebody else is to write.
	kinds []kinds.Kind
	// running is what is done with what the lease runs; nil where nothing is.
	running *running
	pools   *pools
	// inPlace is true once the lease's namespace is there.
	inPlace bool
	// closed is true when nothing is left to undo.
	closed     bool
	successors successors
	// goesOn is the command that goes on where the old routes have to stay; empty for the same again.
	goesOn string
	// unjudged is true once the run has met a route of which no controller says whether it accepts it.
	unjudged bool
	// followed is true once the run has removed what other deployments served of its things. Routeless are
	// parts, by the name of their claim, of which a transfer knows no route: there the former holder's stay.
	followed  bool
	routeless map[string][]string
	// grants are the addresses that MetalLB chose, in pool mode.
	grants []string
	// kept are the things that the run was to give up and that Akash's provider declares.
	kept []KeptThing
	// keeping is the work on the definition that the ledger keeps.
	keeping keeping
}

func newObjects(c *command, def *lease.Definition, req state.Request) *objects {
	r := &objects{claims: newClaims(c, def, req)}
	r.by = r
	return r
}
