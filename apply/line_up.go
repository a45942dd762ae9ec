package apply

import (
	"context"
	"slices"

	"github.com/akash-net/kubectl-akash-net/state"
)

// lineUp orders leases: those that ask for the same follow each other in the order of the input, and one that gives a thing up
// comes first. They pick their addresses in that order. One without addresses of its own follows all before it, for what these
// do not take may be left for it, and all after it that have to do with addresses follow it. Where too few addresses are left
// for a lease, those that give any up come before it.
func lineUp(runs []*run) (ordered, alone []*run) {
	wishes := make([]state.Wish, len(runs))
	gives := false
	for i, r := range runs {
		wishes[i] = r.wish()
		gives = gives || wishes[i].GivesAddress()
	}
	ordered, alone, short := inOrder(runs, wishes)
	if !gives || len(short) == 0 {
		return ordered, alone
	}
	for i, r := range runs {
		r.DropAddresses()
		wishes[i] = wishes[i].OfAnyAddress(short[r])
	}
	ordered, alone, _ = inOrder(runs, wishes)
	return ordered, alone
}

// inOrder orders leases by what they touch, and lets them pick their addresses. short are those for which too few are left.
func inOrder(runs []*run, wishes []state.Wish) (ordered, alone []*run, short map[*run]bool) {
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

// wish is what the work on a lease touches.
func (r *run) wish() state.Wish {
	if !r.Options.Prune {
		return state.WishOf(r.Request, nil, nil)
	}
	return state.WishOf(r.Request, r.Snapshot.Held[r.Group], r.Snapshot.Under(r.Group))
}

// hasAddresses is true for a lease that asks for addresses, or holds any.
func (r *run) hasAddresses() bool {
	isAddress := func(c *state.Claim) bool { return c.Kind == state.Address }
	return len(r.Request.Endpoints) > 0 || slices.ContainsFunc(r.Snapshot.Held[r.Group], isAddress)
}

// followsOld waits until the work on those before the lease has ended. It is true where that of one has to begin again.
func (r *run) followsOld() bool {
	for _, earlier := range r.before {
		<-earlier.ended
	}
	return isOld(r.before)
}

// readGiven reads what the work on a lease is decided by once those before it have given up what it asks for. What the
// context's writes rest on is what was read then.
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

// findRivals finds those that the lease follows and that have got the same for another owner: in a dry run as in a real one
// nothing is written then. One that was refused is in nobody's way.
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
	claimed := func(name string) bool { return r.Snapshot.Claims[name] != nil }
	found := state.Rivals(append(requests, r.Request), r.Options.Config, claimed)
	r.Rivals = found[len(requests)]
}
