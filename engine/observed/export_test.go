package observed

import (
	"github.com/akash-net/kubectl-akash-net/state"
)

// Wildcard returns the name of the claim on the wildcard above the host.
func (g Ground) Wildcard() string { return g.wildcard }

// Over returns the ground with the claim on that wildcard.
func (g Ground) Over(c *state.Claim) Ground {
	g.over = c
	return g
}

// What is known of the parts of Chosen, PoolsFor, ToReplace, IsStray and Kept.
var (
	Strays      = Object.strays
	NeedsPool   = needsPool
	WhyReplaced = whyReplaced

	DeployRequested, Prepared = deployRequested, prepared
)

// IsChosen reports whether an object serves what is chosen.
func (s *Snapshot) IsChosen(o Object, chosen state.Choice) bool { return s.isChosen(o, chosen) }
