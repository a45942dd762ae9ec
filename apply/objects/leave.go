package objects

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/akash-net/kubectl-akash-net/apply/claims"
	"github.com/akash-net/kubectl-akash-net/apply/executor"
	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/plan"
	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/state"
)

// LeaveSeen gives up parts of claims of the run's group. What rests on a claim may have changed since the snapshot, so it
// reads everything of the owner again, the claims first, lets see handle the new snapshot, and gives up the parts for which
// drop returns true, pinned to that reading. It reads once more if anything was deleted, or was waited for. It does nothing
// if candidate is false for all parts.
func (r *Objects) LeaveSeen(ctx context.Context, action report.Action,
	see func(context.Context, *observed.Snapshot) (drop func(*state.Claim, state.Part) bool, err error), candidate func(*state.Claim, state.Part) bool,
) error {
	if !slices.ContainsFunc(r.Snapshot.Held[r.Group], func(c *state.Claim) bool {
		return slices.ContainsFunc(c.Entries(r.Group), func(p state.Part) bool { return candidate(c, p) })
	}) {
		return nil
	}
	for tries := 0; ; tries++ {
		now, err := observed.Look(ctx, r.Command, r.Snapshot, r.Group.Owner)
		if err == nil {
			err = r.Options.Turn.Confirm(ctx)
		}
		if err != nil {
			return err
		}
		removed := r.Removed()
		drop, err := see(ctx, now)
		if err != nil {
			return err
		}
		old, err := r.AwaitUnserved(ctx, now, drop)
		if err != nil {
			return err
		}
		if (old || r.Removed() > removed) && tries < executor.Looks {
			continue
		}
		if err = r.LeaveClaims(ctx, now, drop, action); !errors.Is(err, ledger.ErrAgain) || tries >= executor.Looks {
			return err
		}
	}
}

// AwaitUnserved waits until finalizers and Akash's operators have let go of what serves parts that the lease gives up.
// waited is true if the snapshot is out of date then.
func (r *Objects) AwaitUnserved(ctx context.Context, s *observed.Snapshot, drop func(*state.Claim, state.Part) bool) (waited bool, err error) {
	if err := r.AwaitGone(ctx); err != nil {
		return false, err
	}
	return r.Operated.AwaitUnserved(ctx, s, drop)
}

// LeaveClaims gives up the parts of the group for which drop returns true, pinned to the versions of the snapshot, which
// was read after the last object was deleted. It keeps parts that something of the owner still serves, and reports them.
func (r *Objects) LeaveClaims(ctx context.Context, s *observed.Snapshot, drop func(*state.Claim, state.Part) bool, action report.Action) error {
	r.KeptThings = nil
	var left []*state.Claim
	for _, c := range s.Held[r.Group] {
		if slices.ContainsFunc(c.Entries(r.Group), func(p state.Part) bool { return drop(c, p) }) {
			left = append(left, c)
		}
	}
	slices.SortFunc(left, func(a, b *state.Claim) int { return b.Compare(a) })
	for _, c := range left {
		used := r.keepServed(s, c, drop)
		unused := func(p state.Part) bool { return drop(c, p) && !used[p.Key] }
		if !slices.ContainsFunc(c.Entries(r.Group), unused) {
			continue
		}
		if err := r.leaveClaim(ctx, c, unused, action); err != nil {
			return err
		}
	}
	return nil
}

// keepServed returns the keys of the parts of a claim that the lease would give up and that something of the owner still
// serves, and reports them.
func (r *Objects) keepServed(s *observed.Snapshot, c *state.Claim, drop func(*state.Claim, state.Part) bool) map[string]bool {
	used, thing := map[string]bool{}, report.KeptThing{Kind: c.Kind, Thing: c.Thing}
	for _, p := range c.PartsOf(r.Group) {
		if !drop(c, p) {
			continue
		}
		by, declared := s.ServedBy(c, p)
		for _, o := range by {
			if r.HasRemoved(o.Live) && !s.Stays(o) || !r.Cluster.Waits() && !declared && !s.Ownership(o.Live).Ours {
				continue // a dry run assumes that it is gone
			}
			used[p.Key] = true
			thing.Objects = append(thing.Objects, o.Kind.Singular+" "+o.Live.GetNamespace()+"/"+o.Live.GetName())
			if o.Group != r.Group {
				thing.Of = s.Ownership(o.Live).Lease
			}
		}
		thing.Declared = thing.Declared || declared && used[p.Key]
	}
	if len(used) > 0 {
		r.KeptThings = append(r.KeptThings, thing)
		r.Event(report.Left, string(c.Kind), "", c.Thing, thing.Why())
	}
	return used
}

// leaveClaim gives up parts of one claim. It deletes the pool of an address that nobody holds any more.
func (r *Objects) leaveClaim(ctx context.Context, c *state.Claim, drop func(state.Part) bool, action report.Action) error {
	if c.Kind == state.Address && r.Options.Config.IP.Mode == config.ModeDedicated && !slices.ContainsFunc(c.Parts, func(p state.Part) bool {
		return p.Lease.Group() != r.Group || !drop(p)
	}) {
		if err := r.Pools.Remove(ctx, r.Executor, c.Addr(), action); err != nil {
			return err
		}
	}
	if err := r.ChangeClaim(plan.GiveUp, c, slices.DeleteFunc(c.PartsOf(r.Group), drop)); err != nil {
		return err
	}
	now, left, err := r.Ledger.Leave(ctx, c, r.Group, drop)
	if err != nil {
		return fmt.Errorf("%s %s could not be released: %w", c.Kind, c.Thing, err)
	}
	if h := r.Holds[c.Name()]; h != nil && now != nil {
		h.Claim = now
	}
	if left {
		r.Event(action, string(c.Kind), "", c.Thing, claims.Partly(now.PartsOf(r.Group)))
	}
	return nil
}
