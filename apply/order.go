package apply

import (
	"context"
	"slices"

	"github.com/akash-net/kubectl-akash-net/state"
)

// orderRuns orders the leases and makes them wait for each other: leases that ask for the same thing in the order of the input,
// after the lease that gives it up. They pick their addresses in that order. A lease for which too few addresses are left
// follows all leases before it, because these may not take theirs, and those that give addresses up come before it; all later
// leases with addresses follow it. alone are the leases whose result changes nothing for the others.
func orderRuns(runs []*run) (ordered, alone []*run) {
	wishes := make([]state.Wish, len(runs))
	gives := false
	for i, r := range runs {
		wishes[i] = r.wish()
		gives = gives || wishes[i].GivesAddress()
	}
	ordered, alone, short := orderBy(runs, wishes)
	if !gives || len(short) == 0 {
		return ordered, alone
	}
	for i, r := range runs {
		r.DropAddresses()
		wishes[i] = wishes[i].OfAnyAddress(short[r])
	}
	ordered, alone, _ = orderBy(runs, wishes)
	return ordered, alone
}

// orderBy orders leases by what they touch, and lets them pick their addresses. short are those for which too few are left.
func orderBy(runs []*run, wishes []state.Wish) (ordered, alone []*run, short map[*run]bool) {
	serving, barrier := state.Serve(wishes), (*run)(nil)
	short = map[*run]bool{}
	for _, i := range serving.Order {
		r := runs[i]
		r.before, r.ended, r.Given = nil, make(chan struct{}), serving.Given[i]
		for _, before := range serving.After[i] {
			r.before = append(r.before, runs[before])
		}
		if barrier != nil && r.hasAddresses() {
			r.before = append(r.before, barrier)
		}
		own, enough := r.done, r.done
		if !r.done {
			own, enough = r.PickAddresses()
		}
		if !own {
			r.before, barrier = slices.Clone(ordered), r
		}
		if !enough {
			short[r] = true
		}
		r.Late = len(r.before) > 0
		ordered = append(ordered, r)
		if serving.Alone[i] {
			alone = append(alone, r)
		}
	}
	return ordered, alone, short
}

// wish returns what the work on a lease touches.
func (r *run) wish() state.Wish {
	if !r.Options.Prune {
		return state.WishOf(r.Request, nil, nil)
	}
	return state.WishOf(r.Request, r.Snapshot.Held[r.Group], r.Snapshot.Under(r.Group))
}

// hasAddresses reports whether a lease asks for addresses or holds any.
func (r *run) hasAddresses() bool {
	isAddress := func(c *state.Claim) bool { return c.Kind == state.Address }
	return len(r.Request.Endpoints) > 0 || slices.ContainsFunc(r.Snapshot.Held[r.Group], isAddress)
}

// followsStale waits for the leases before this one. It reports whether the work on one of them has to begin again.
func (r *run) followsStale() bool {
	for _, earlier := range r.before {
		<-earlier.ended
	}
	return isStale(r.before)
}

// readGiven reads everything again for a lease once those before it have given up what it asks for. The writes of the context
// that it returns depend on what was read then.
func (a *Applier) readGiven(ctx context.Context, r *run, work leaseWork) context.Context {
	if !r.Given || r.done {
		return ctx
	}
	ctx = r.Options.Turn.Context(ctx)
	r.step(ctx, func(r *run, ctx context.Context) error {
		now, err := work.read(ctx, []*run{r})
		if err != nil {
			return err
		}
		r.Snapshot.Addresses.Renew(now.Addresses)
		now.Addresses, r.Snapshot = r.Snapshot.Addresses, now
		return nil
	})
	return ctx
}

// findRivals finds the earlier leases of other owners that got what this one asks for, in a dry run too. A lease that was
// refused does not count.
func (r *run) findRivals() {
	var requests []state.Request
	for _, earlier := range r.before {
		if earlier.err == nil && earlier.Group.Owner != r.Group.Owner {
			requests = append(requests, earlier.Request)
		}
	}
	if len(requests) == 0 {
		return
	}
	claimed := func(name string) bool { return r.Snapshot.Claim(name) != nil }
	found := state.Rivals(append(requests, r.Request), r.Options.Config, claimed)
	r.Rivals = found[len(requests)]
}
