package objects

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/apply/executor"
	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/apply/report"
	"github.com/akash-net/kubectl-akash-net/apply/turn"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/plan"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
)

// LeaveSeen gives up parts of claims of the run's group. What a claim stands for may have changed since
// the run has read: so all of the group is read again, the claims first, and dealt with (see), and the
// parts are given up only as they were read then. Candidate says whether there may be any.
func (r *Objects) LeaveSeen(ctx context.Context, action report.Action,
	see func(context.Context, *observed.Snapshot) (drop func(*state.Claim, state.Part) bool, err error), candidate func(*state.Claim, state.Part) bool,
) error {
	if !slices.ContainsFunc(r.Snapshot.Held[r.Group], func(c *state.Claim) bool {
		return slices.ContainsFunc(c.Entries(r.Group), func(p state.Part) bool { return candidate(c, p) })
	}) {
		return nil
	}
	for tries := 0; ; tries++ {
		now, err := observed.Look(ctx, r.Command, r.Snapshot, r.Group)
		if err != nil {
			return err
		}
		drop, err := see(ctx, now)
		if err != nil {
			return err
		}
		if err = r.LeaveClaims(ctx, now, drop, action); !errors.Is(err, ledger.ErrAgain) || tries == executor.Looks {
			return err
		}
	}
}

// LeaveClaims gives up the parts for which drop says so, of all claims of a snapshot on which the group
// holds any: each as it was read.
func (r *Objects) LeaveClaims(ctx context.Context, s *observed.Snapshot, drop func(*state.Claim, state.Part) bool, action report.Action) error {
	var claims []*state.Claim
	for _, c := range s.Held[r.Group] {
		if slices.ContainsFunc(c.Entries(r.Group), func(p state.Part) bool { return drop(c, p) }) {
			claims = append(claims, c)
		}
	}
	if len(claims) == 0 {
		return nil
	}
	if err := r.AwaitGone(ctx); err != nil {
		return err
	}
	slices.SortFunc(claims, func(a, b *state.Claim) int { return b.Compare(a) })
	for _, c := range claims {
		used, by, err := r.usedParts(ctx, c)
		if err != nil {
			return err
		}
		unused := func(p state.Part) bool { return drop(c, p) && !used[p.Key] }
		if kept := slices.ContainsFunc(c.PartsOf(r.Group), func(p state.Part) bool { return drop(c, p) && used[p.Key] }); kept {
			r.KeptThings = append(r.KeptThings, report.KeptThing{Kind: c.Kind, Thing: c.Thing, Objects: by})
			r.Event(report.Left, string(c.Kind), "", c.Thing, "Akash's provider declares it: "+strings.Join(by, ", "))
		}
		if !slices.ContainsFunc(c.Entries(r.Group), unused) {
			continue
		}
		if err := r.leaveClaim(ctx, c, unused, action); err != nil {
			return err
		}
	}
	return nil
}

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
		r.Event(action, string(c.Kind), "", c.Thing, "")
	}
	return nil
}

// GiveUp ends a run that cannot have all: what it has made and taken goes back, and the lease has what
// it had. Where the server is away nothing can go back.
func (r *Objects) GiveUp(ctx context.Context, why error) error {
	if command.CannotUndo(why) {
		return r.Loses(ctx, why)
	}
	if err := r.Options.Turn.Undo(ctx); err != nil {
		return r.Loses(ctx, errors.Join(why, err))
	}
	left := errors.Join(r.RestoreAltered(ctx), r.Retract(ctx, func(render.Object) bool { return true }))
	left = errors.Join(left, r.KeptDefinition.Undo(ctx), r.Operated.KeepServed(ctx), r.Rollback(ctx))
	if left != nil {
		return &report.HalfError{Lease: r.Request.Lease, Why: why, Left: left}
	}
	r.Closed = true
	return why
}

// Loses deletes what a run that was taken for dead has made for things that its lease does not hold any more: a write of
// it may have come after another command had given them up. It gives nothing else back. Any other error it leaves.
func (r *Objects) Loses(ctx context.Context, why error) error {
	if _, lost := errors.AsType[*turn.LostError](why); !lost {
		return why
	}
	r.Lost = true
	return errors.Join(why, r.Retract(cluster.WithGate(ctx, nil), func(render.Object) bool { return true }))
}

// usedParts are the parts of a claim that objects of Akash's provider for the deployment group still use,
// and those objects, as the cluster says now. What this run has deleted does not count.
func (r *Objects) usedParts(ctx context.Context, c *state.Claim) (used map[string]bool, by []string, err error) {
	used = map[string]bool{}
	for _, o := range r.Snapshot.Shared[r.Group] {
		keys := r.keysOf(o, c)
		if len(keys) == 0 || r.Removed[o.Live.GetUID()] && !r.Snapshot.Stays(o) {
			continue
		}
		now, err := r.Cluster.Get(ctx, o.Kind, o.Live.GetNamespace(), o.Live.GetName())
		if err != nil {
			return nil, nil, err
		}
		if now == nil || now.GetDeletionTimestamp() != nil || r.Snapshot.Ownership(now).Lease.Group() != r.Group {
			continue
		}
		by = append(by, o.Kind.Singular+" "+o.Live.GetNamespace()+"/"+o.Live.GetName())
		for _, key := range keys {
			used[key] = true
		}
	}
	return used, by, nil
}

// keysOf are the parts of a claim that an object uses.
func (r *Objects) keysOf(o observed.Owned, c *state.Claim) (keys []string) {
	add := func(key string) {
		if part := c.Part(key); part != nil && part.Lease.Group() == r.Group {
			keys = append(keys, key)
		}
	}
	switch {
	case o.Kind == kinds.Service && c.Kind.HasPorts():
		service := state.ServiceObjectOf(o.Live)
		if c.Kind == state.Endpoint && service.SharingKey == c.SharingKey || slices.Contains(service.Granted, c.Addr()) || slices.Contains(service.Asked, c.Addr()) {
			add(state.PortKey(service.Protocol, service.Port))
		}
	case o.Kind == kinds.ProviderLeasedIP && c.Kind.HasPorts():
		if port := state.PortObjectOf(o.Live); port.SharingKey == c.SharingKey {
			add(state.PortKey(port.Protocol, port.Port))
		}
	case !c.Kind.HasPorts() && o.Kind != kinds.Service:
		for _, u := range state.HostUses(o.Live) {
			if u.Host == c.Thing {
				add(state.RouteKey(u.Path))
			}
		}
	}
	return keys
}

// Undo takes back what the run has made and claimed, when it cannot finish: the lease has what it
// had. An interrupted run that has made objects leaves them, with their claims: they may serve
// already, and the same command finishes the work.
func (r *Objects) Undo(ctx context.Context, why error) error {
	if ctx.Err() != nil && len(r.Made) > 0 {
		return why
	}
	return r.GiveUp(ctx, why)
}
