package objects

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/akash-net/kubectl-akash-net/apply/claims"
	"github.com/akash-net/kubectl-akash-net/apply/executor"
	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/apply/report"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/plan"
	"github.com/akash-net/kubectl-akash-net/state"
)

// LeaveSeen gives up parts of claims of the run's group. The objects that rest on a claim may have changed since the
// snapshot, so it reads everything of the group again, the claims first, lets see handle the new snapshot, and gives up
// the parts for which drop returns true, pinned to that reading. It does nothing if candidate is false for all parts.
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
		if err == nil {
			err = r.Options.Turn.Confirm(ctx)
		}
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

// LeaveClaims gives up the parts of the group for which drop returns true, pinned to the versions of the snapshot. It
// keeps parts that objects of Akash's provider use, and reports them.
func (r *Objects) LeaveClaims(ctx context.Context, s *observed.Snapshot, drop func(*state.Claim, state.Part) bool, action report.Action) error {
	var left []*state.Claim
	for _, c := range s.Held[r.Group] {
		if slices.ContainsFunc(c.Entries(r.Group), func(p state.Part) bool { return drop(c, p) }) {
			left = append(left, c)
		}
	}
	if len(left) == 0 {
		return nil
	}
	if err := r.AwaitGone(ctx); err != nil {
		return err
	}
	slices.SortFunc(left, func(a, b *state.Claim) int { return b.Compare(a) })
	for _, c := range left {
		used, by, err := r.usedParts(ctx, c)
		if err != nil {
			return err
		}
		unused := func(p state.Part) bool { return drop(c, p) && !used[p.Key] }
		if slices.ContainsFunc(c.PartsOf(r.Group), func(p state.Part) bool { return drop(c, p) && used[p.Key] }) {
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

// usedParts returns the keys of the parts of a claim that objects of Akash's provider still use, and those objects. It
// reads the objects again, and ignores those that this run has deleted.
func (r *Objects) usedParts(ctx context.Context, c *state.Claim) (used map[string]bool, by []string, err error) {
	used = map[string]bool{}
	for _, o := range r.Snapshot.Shared[r.Group] {
		keys := partsUsedBy(o, c, r.Group)
		if len(keys) == 0 || r.HasRemoved(o.Live) && !r.Snapshot.Stays(o) {
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

// partsUsedBy returns the keys of the parts of a claim that belong to the group and that an object of Akash's provider
// uses.
func partsUsedBy(o observed.Owned, c *state.Claim, group lease.Group) (keys []string) {
	add := func(key string) {
		if part := c.Part(key); part != nil && part.Lease.Group() == group {
			keys = append(keys, key)
		}
	}
	switch {
	case o.Kind == kinds.Service && c.Kind.HasPorts():
		service := state.ServiceObjectOf(o.Live)
		if c.Kind == state.Endpoint && service.SharingKey == c.SharingKey ||
			slices.Contains(service.Granted, c.Addr()) || slices.Contains(service.Asked, c.Addr()) {
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
