package observed

import (
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
)

// heldBy returns the claims on which each deployment group has an entry.
func heldBy(claims []*state.Claim) map[lease.Group][]*state.Claim {
	held := map[lease.Group][]*state.Claim{}
	for _, c := range claims {
		for _, g := range c.Writers() {
			held[g] = append(held[g], c)
		}
	}
	return held
}
