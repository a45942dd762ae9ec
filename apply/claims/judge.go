package claims

import (
	"github.com/akash-net/kubectl-akash-net/state"
)

// judge returns the rules by which the run decides on parts.
func (r *Claims) judge() state.Judge {
	return state.Judge{Group: r.Group, Now: r.Cluster.Now(), Adopt: r.Options.Adopt, OnePort: r.Snapshot.Operators.IP}
}

// decide returns who has a part.
func (r *Claims) decide(h state.Hold, p state.Part, claim *state.Claim, uses []state.Use) state.Finding {
	return r.Snapshot.Decide(r.judge(), r.Options.Config, h, p, claim, uses)
}
