package objects

import (
	"slices"

	"github.com/akash-net/kubectl-akash-net/apply/claims"
	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/state"
)

// strays is Strays for what the run holds. It is false while the object serves a transferred part for which the run has no
// route yet.
func (r *Objects) strays(o observed.Owned, h *claims.Held) bool {
	return observed.Strays(o, h.Want.Parts, h.Claim) && !slices.ContainsFunc(h.Claim.FormerOf(o.Group), func(p state.Part) bool {
		return slices.Contains(r.Routeless[h.Want.Name()], p.Key) && observed.StandsFor(o, h.Claim, p)
	})
}
