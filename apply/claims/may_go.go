package claims

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
)

// Unwanted allows the deletion of an object of the run's group that its definition does not have, unless another run of
// the lease has taken what the object serves since the claims were read.
func (r *Claims) Unwanted(o observed.Owned) observed.MayGo {
	return r.whileOf(o, func(grounds []observed.Ground) (bool, error) {
		foreign := func(g observed.Ground) bool {
			return slices.ContainsFunc(g.Claim.PartsOf(r.Group), func(p state.Part) bool { return !r.Knows(g.Name, p) })
		}
		return !slices.ContainsFunc(grounds, foreign), nil
	})
}

// whileOf allows the deletion of an object of the same tenant if may returns true for the claims on which it rests.
func (r *Claims) whileOf(o observed.Owned, may func(grounds []observed.Ground) (bool, error)) observed.MayGo {
	return func(ctx context.Context, now *unstructured.Unstructured) (bool, error) {
		if !state.SameTenant(o.Live, now) {
			return false, nil
		}
		grounds, err := observed.ReadGrounds(ctx, r.Ledger, observed.Owned{Kind: o.Kind, Live: now, Group: o.Group})
		if err != nil {
			return false, err
		}
		return may(grounds)
	}
}

// Knows reports whether a part of the run's group is as the run has read or written it, or was written late by a command that
// this one succeeds.
func (r *Claims) Knows(name string, p state.Part) bool {
	if p.Run == r.Nonce || p.For != "" || r.Options.Turn.SucceedsRun(p.Run) { // a note holds nothing
		return true
	}
	was := r.Snapshot.Claim(name).Part(p.Key)
	if h := r.Holds[name]; h != nil && h.Claim.Part(p.Key) != nil && was == nil {
		was = h.Claim.Part(p.Key)
	}
	return was != nil && was.Same(p)
}

// Replaceable allows the deletion of a DNS record that another one replaces: the run's group holds the host of both.
func (r *Claims) Replaceable(o observed.Owned) observed.MayGo {
	if o.Group == r.Group {
		return observed.OfTenant(o.Live)
	}
	return r.StrayFrom(o)
}

// StrayFrom allows the deletion of an object of another group that serves what the run's group holds. If the group does
// not hold it any more, it returns an OvertakenError.
func (r *Claims) StrayFrom(o observed.Owned) observed.MayGo {
	return r.whileOf(o, func(grounds []observed.Ground) (bool, error) {
		stray := false
		for _, g := range grounds {
			h := r.Holds[g.Name]
			switch {
			case h == nil:
			case g.Claim == nil || g.Claim.Deleting || g.Claim.UID != h.Claim.UID || len(g.Claim.PartsOf(r.Group)) == 0:
				return false, r.Overtaken(h)
			default:
				stray = stray || g.Served.Gives(g.Claim, r.Group)
			}
		}
		entitled := func(g observed.Ground) bool { return g.Standing() == state.Entitled }
		return stray && !slices.ContainsFunc(grounds, entitled), nil
	})
}

// Removes reports whether the run may delete objects of another group that serve the claim: a run that prunes may, any
// other only if the group handed a part on in a transfer. A run that heals a lease deletes nothing that serves.
func (r *Claims) Removes(group lease.Group, c *state.Claim) bool {
	return r.Options.Prune || !r.Options.Heal && len(c.FormerOf(group)) > 0
}
