package observed

import (
	"context"
	"slices"

	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
)

// Rests makes the snapshot out of date if the deployment groups hold something else when the command's turn comes: another
// command of one of them may have begun and ended since the snapshot was read. A claim that a group only relies on, and
// does not write, shows that in no other way, nor does one that it has gained.
func (s *Snapshot) Rests(ctx context.Context, c *command.Command, groups []lease.Group) error {
	if c.Options.Turn == nil {
		return nil
	}
	return c.Options.Turn.Rests(ctx, func(_ context.Context, claims []*state.Claim) (old bool, err error) {
		held := heldBy(claims)
		return slices.ContainsFunc(groups, func(g lease.Group) bool { return !holdsSame(s.Held[g], held[g], g) }), nil
	})
}

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

// holdsSame reports whether a group has the same entries on the same claims.
func holdsSame(was, now []*state.Claim, g lease.Group) bool {
	entries := map[string][]state.Part{}
	for _, c := range now {
		entries[string(c.UID)] = c.Entries(g)
	}
	return len(was) == len(now) && !slices.ContainsFunc(was, func(c *state.Claim) bool {
		return !slices.EqualFunc(c.Entries(g), entries[string(c.UID)], state.Part.Same)
	})
}
