package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/plan"
	"github.com/akash-net/kubectl-akash-net/state"
)

// leaveSeen gives up parts of claims of the run's group. What a claim stands for may have changed since
// the run has read: so all of the group is read again, the claims first, and dealt with (see), and the
// parts are given up only as they were read then. Candidate says whether there may be any.
func (r *run) leaveSeen(ctx context.Context, action Action,
	see func(context.Context, *snapshot) (drop func(*state.Claim, state.Part) bool, err error), candidate func(*state.Claim, state.Part) bool,
) error {
	if !slices.ContainsFunc(r.snapshot.held[r.group], func(c *state.Claim) bool {
		return slices.ContainsFunc(c.Entries(r.group), func(p state.Part) bool { return candidate(c, p) })
	}) {
		return nil
	}
	for tries := 0; ; tries++ {
		now, err := r.look(ctx, r.snapshot, r.group)
		if err != nil {
			return err
		}
		drop, err := see(ctx, now)
		if err != nil {
			return err
		}
		if err = r.leaveClaims(ctx, now, drop, action); !errors.Is(err, ledger.ErrAgain) || tries == looks {
			return err
		}
	}
}

// looks bounds how often all of a lease is looked at again because something of it has changed.
const looks = 10

// leaveClaims gives up the parts for which drop says so, of all claims of a snapshot on which the group
// holds any: each as it was read.
func (r *run) leaveClaims(ctx context.Context, s *snapshot, drop func(*state.Claim, state.Part) bool, action Action) error {
	var claims []*state.Claim
	for _, c := range s.held[r.group] {
		if slices.ContainsFunc(c.Entries(r.group), func(p state.Part) bool { return drop(c, p) }) {
			claims = append(claims, c)
		}
	}
	if len(claims) == 0 {
		return nil
	}
	if err := r.awaitGone(ctx); err != nil {
		return err
	}
	slices.SortFunc(claims, func(a, b *state.Claim) int { return -stateCompare(a, b) })
	for _, c := range claims {
		used, by, err := r.usedParts(ctx, c)
		if err != nil {
			return err
		}
		unused := func(p state.Part) bool { return drop(c, p) && !used[p.Key] }
		if kept := slices.ContainsFunc(c.PartsOf(r.group), func(p state.Part) bool { return drop(c, p) && used[p.Key] }); kept {
			r.kept = append(r.kept, KeptThing{Kind: c.Kind, Thing: c.Thing, Objects: by})
			r.event(Left, string(c.Kind), "", c.Thing, "Akash's provider declares it: "+strings.Join(by, ", "))
		}
		if !slices.ContainsFunc(c.Entries(r.group), unused) {
			continue
		}
		if err := r.leaveClaim(ctx, c, unused, action); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) leaveClaim(ctx context.Context, c *state.Claim, drop func(state.Part) bool, action Action) error {
	if c.Kind == state.Address && r.opts.Config.IP.Mode == config.ModeDedicated && !slices.ContainsFunc(c.Parts, func(p state.Part) bool {
		return p.Lease.Group() != r.group || !drop(p)
	}) {
		if err := r.pools.remove(ctx, r, c.Addr(), action); err != nil {
			return err
		}
	}
	if err := r.changeClaim(plan.GiveUp, c, slices.DeleteFunc(c.PartsOf(r.group), drop)); err != nil {
		return err
	}
	now, left, err := r.ledger.Leave(ctx, c, r.group, drop)
	if err != nil {
		return fmt.Errorf("%s %s could not be released: %w", c.Kind, c.Thing, err)
	}
	if h := r.holds[c.Name()]; h != nil && now != nil {
		h.claim = now
	}
	if left {
		r.event(action, string(c.Kind), "", c.Thing, "")
	}
	return nil
}

func stateCompare(a, b *state.Claim) int {
	return state.Hold{Kind: a.Kind, Thing: a.Thing}.Compare(state.Hold{Kind: b.Kind, Thing: b.Thing})
}
