package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/apply/turn"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/plan"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
)

// leaveSeen gives up parts of claims of the run's group. What a claim stands for may have changed since
// the run has read: so all of the group is read again, the claims first, and dealt with (see), and the
// parts are given up only as they were read then. Candidate says whether there may be any.
func (r *objects) leaveSeen(ctx context.Context, action Action,
	see func(context.Context, *snapshot) (drop func(*state.Claim, state.Part) bool, err error), candidate func(*state.Claim, state.Part) bool,
) error {
	if !slices.ContainsFunc(r.snapshot.held[r.group], func(c *state.Claim) bool {
		return slices.ContainsFunc(c.Entries(r.group), func(p state.Part) bool { return candidate(c, p) })
	}) {
		return nil
	}
	for tries := 0; ; tries++ {
		now, err := look(ctx, r.Command, r.snapshot, r.group)
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

// leaveClaims gives up the parts for which drop says so, of all claims of a snapshot on which the group
// holds any: each as it was read.
func (r *objects) leaveClaims(ctx context.Context, s *snapshot, drop func(*state.Claim, state.Part) bool, action Action) error {
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

func (r *objects) leaveClaim(ctx context.Context, c *state.Claim, drop func(state.Part) bool, action Action) error {
	if c.Kind == state.Address && r.opts.Config.IP.Mode == config.ModeDedicated && !slices.ContainsFunc(c.Parts, func(p state.Part) bool {
		return p.Lease.Group() != r.group || !drop(p)
	}) {
		if err := r.pools.remove(ctx, r.executor, c.Addr(), action); err != nil {
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

// giveUp ends a run that cannot have all: what it has made and taken goes back, and the lease has what
// it had. Where the server is away nothing can go back.
func (r *objects) giveUp(ctx context.Context, why error) error {
	if cannotUndo(why) {
		return r.loses(ctx, why)
	}
	if err := r.opts.turn.Undo(ctx); err != nil {
		return r.loses(ctx, errors.Join(why, err))
	}
	left := errors.Join(r.restoreAltered(ctx), r.retract(ctx, func(render.Object) bool { return true }))
	left = errors.Join(left, r.definition.undo(ctx), r.operated.keepServed(ctx), r.rollback(ctx))
	if left != nil {
		return &HalfError{Lease: r.req.Lease, Why: why, Left: left}
	}
	r.closed = true
	return why
}

// loses deletes what a run that was taken for dead has made for things that its lease does not hold any more: a write of
// it may have come after another command had given them up. It gives nothing else back. Any other error it leaves.
func (r *objects) loses(ctx context.Context, why error) error {
	if _, lost := errors.AsType[*turn.LostError](why); !lost {
		return why
	}
	r.lost = true
	return errors.Join(why, r.retract(cluster.WithGate(ctx, nil), func(render.Object) bool { return true }))
}

// usedParts are the parts of a claim that objects of Akash's provider for the deployment group still use,
// and those objects, as the cluster says now. What this run has deleted does not count.
func (r *objects) usedParts(ctx context.Context, c *state.Claim) (used map[string]bool, by []string, err error) {
	used = map[string]bool{}
	for _, o := range r.snapshot.shared[r.group] {
		keys := r.keysOf(o, c)
		if len(keys) == 0 || r.removed[o.live.GetUID()] && !r.snapshot.stays(o) {
			continue
		}
		now, err := r.cluster.Get(ctx, o.kind, o.live.GetNamespace(), o.live.GetName())
		if err != nil {
			return nil, nil, err
		}
		if now == nil || now.GetDeletionTimestamp() != nil || r.snapshot.ownership(now).Lease.Group() != r.group {
			continue
		}
		by = append(by, o.kind.Singular+" "+o.live.GetNamespace()+"/"+o.live.GetName())
		for _, key := range keys {
			used[key] = true
		}
	}
	return used, by, nil
}

// keysOf are the parts of a claim that an object uses.
func (r *objects) keysOf(o owned, c *state.Claim) (keys []string) {
	add := func(key string) {
		if part := c.Part(key); part != nil && part.Lease.Group() == r.group {
			keys = append(keys, key)
		}
	}
	switch {
	case o.kind == kinds.Service && c.Kind.HasPorts():
		service := state.ServiceObjectOf(o.live)
		if c.Kind == state.Endpoint && service.SharingKey == c.SharingKey || slices.Contains(service.Granted, c.Addr()) || slices.Contains(service.Asked, c.Addr()) {
			add(state.PortKey(service.Protocol, service.Port))
		}
	case o.kind == kinds.ProviderLeasedIP && c.Kind.HasPorts():
		if port := state.PortObjectOf(o.live); port.SharingKey == c.SharingKey {
			add(state.PortKey(port.Protocol, port.Port))
		}
	case !c.Kind.HasPorts() && o.kind != kinds.Service:
		for _, u := range state.HostUses(o.live) {
			if u.Host == c.Thing {
				add(state.RouteKey(u.Path))
			}
		}
	}
	return keys
}

// undo takes back what the run has made and claimed, when it cannot finish: the lease has what it
// had. An interrupted run that has made objects leaves them, with their claims: they may serve
// already, and the same command finishes the work.
func (r *objects) undo(ctx context.Context, why error) error {
	if ctx.Err() != nil && len(r.made) > 0 {
		return why
	}
	return r.giveUp(ctx, why)
}
