package apply

import (
	"context"
	"fmt"
	"slices"

	"github.com/akash-net/kubectl-akash-net/state"
)

// keepForOthers leaves the objects of the lease that serve for another since a transfer, and tells so:
// that lease's next apply removes them. The claims are read now: a transfer may be younger than what the
// run has read.
func (r *objects) keepForOthers(ctx context.Context, objects []owned) ([]owned, error) {
	claims := map[string]*state.Claim{}
	var going []owned
	for _, o := range objects {
		var keeps *state.Part
		for _, name := range r.snapshot.claimsNear(o) {
			claim, read := claims[name]
			if !read {
				var err error
				if claim, err = readClaim(ctx, r.ledger, name); err != nil {
					return nil, err
				}
				claims[name] = claim
			}
			for _, p := range claim.FormerOf(o.group) {
				if standsFor(o, claim, p) {
					keeps = &p
				}
			}
		}
		if keeps == nil {
			going = append(going, o)
			continue
		}
		if r.keptFor[o.live.GetUID()] {
			continue
		}
		r.keptFor[o.live.GetUID()] = true
		r.event(Left, o.kind.Singular, o.live.GetNamespace(), o.live.GetName(), fmt.Sprintf("it serves for lease %s until that is applied", keeps.Lease.Group()))
	}
	return going, nil
}

// removeFormer deletes the objects of former holders that still serve what the lease is about to give up:
// nothing is served without a claim.
func (r *objects) removeFormer(ctx context.Context, drop func(*state.Claim, state.Part) bool, action Action) error {
	for _, c := range r.snapshot.held[r.group] {
		for _, p := range c.PartsOf(r.group) {
			former, ok := p.Former()
			if !ok || !drop(c, p) {
				continue
			}
			now, err := readClaim(ctx, r.ledger, c.Name())
			if err != nil {
				return err
			}
			if part := now.Part(p.Key); part == nil || part.Lease.Group() != r.group || part.From != p.From {
				continue // it was handed on, or back
			}
			for _, o := range r.snapshot.written[former] {
				if slices.Contains(r.snapshot.claimsNear(o), c.Name()) && standsFor(o, c, p) {
					if err := r.remove(ctx, o, action); err != nil {
						return err
					}
				}
			}
		}
	}
	return nil
}
