package observed

import "github.com/akash-net/kubectl-akash-net/state"

// Wildcard is the name of the claim on the wildcard above a host.
func (g Ground) Wildcard() string { return g.wildcard }

// Over is the ground with what was read of that claim.
func (g Ground) Over(c *state.Claim) Ground {
	g.over = c
	return g
}
