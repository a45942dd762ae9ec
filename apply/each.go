package apply

import (
	"context"
	"errors"
	"slices"

	"github.com/akash-net/kubectl-akash-net/apply/claims"
	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/apply/pools"
	"github.com/akash-net/kubectl-akash-net/apply/report"
	"github.com/akash-net/kubectl-akash-net/apply/turn"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
	"github.com/akash-net/kubectl-akash-net/state"
)

// workLeases is what the progress of most commands counts.
const workLeases = "leases"

// leaseWork is work on leases that do not depend on each other.
type leaseWork struct {
	// read reads what the work is decided by.
	read func(context.Context, []*run) (*observed.Snapshot, error)
	// claim takes what a lease asks for. Do does the rest of the work that writes, once all leases have been claimed for;
	// end does what comes when that is committed.
	claim, do, end func(*run, context.Context) error
}

// eachInTurn does work on leases in turns of the command, each for as many leases as one announcement names. The
// error joins those of all leases.
func (a *Applier) eachInTurn(ctx context.Context, runs []*run, work leaseWork) error {
	snapshot, err := a.readFor(ctx, runs, work)
	if err != nil {
		return err
	}
	var errs []error // the end of a turn that changed nothing is no lease's
	count := a.Counter(workLeases, len(runs))
	for part := range slices.Chunk(runs, state.MaxAnnounced) {
		over := a.InTurn(ctx, groupsOf(part), func(ctx context.Context) ([]lease.Group, error) {
			if snapshot == nil { // what was read before is old
				if snapshot, err = a.readFor(ctx, runs, work); err != nil {
					return nil, err
				}
			}
			if err = a.workOn(ctx, part, snapshot, work, count); err != nil {
				snapshot = nil
				return nil, err
			}
			return unfinished(part), nil
		})
		if !slices.ContainsFunc(part, func(r *run) bool { return !r.done || r.err != nil || r.Changed() }) {
			errs = append(errs, over)
		}
		a.side(part, func(r *run) {
			if over != nil && (!r.done || r.err == nil && r.Changed()) {
				r.err = r.Loses(ctx, over)
			}
			if r.err == nil {
				r.err = parallel.Guard(func() error { return work.end(r, ctx) })
			}
			r.err = r.Failed(r.err)
		})
	}
	for _, r := range runs {
		errs = append(errs, r.err)
	}
	return report.Gather(errs)
}

// workOn does work on leases by what was read. The error is turn.ErrAgain or nil; the runs keep those of their own.
func (a *Applier) workOn(ctx context.Context, runs []*run, s *observed.Snapshot, work leaseWork, count func()) error {
	runs = slices.DeleteFunc(slices.Clone(runs), func(r *run) bool { return r.done })
	if err := s.Rests(ctx, a.Command, groupsOf(runs)); err != nil {
		return err
	}
	pools := pools.New(a.Options.Config, s)
	for _, r := range runs {
		r.begin(s, pools)
	}
	ordered, alone := lineUp(runs)
	early := a.claimEarly(ctx, alone, work)
	if !isOld(runs) {
		a.side(ordered, func(r *run) {
			defer close(r.ended)
			for _, earlier := range r.before {
				<-earlier.ended
			}
			if !early[r] {
				r.step(ctx, work.claim)
			}
			if r.err == nil {
				r.step(ctx, work.do)
				r.done = !errors.Is(r.err, turn.ErrAgain)
			}
			if r.done {
				if r.err != nil {
					r.DropAddresses()
				}
				count()
			}
		})
	}
	if !isOld(runs) {
		return nil
	}
	for _, r := range runs {
		if !r.done {
			r.forgetRound()
		}
	}
	return turn.ErrAgain
}

// lineUp orders leases: those that ask for the same follow each other in the order of the input, and one that gives a thing up
// comes first. They pick their addresses in that order. One without addresses of its own follows all before it, for what these
// do not take may be left for it, and all after it that have to do with addresses follow it.
func lineUp(runs []*run) (ordered, alone []*run) {
	wishes := make([]state.Wish, len(runs))
	for i, r := range runs {
		var held []*state.Claim
		if r.Options.Prune {
			held = r.Snapshot.Held[r.Group]
		}
		wishes[i] = state.WishOf(r.Request, held)
	}
	serving, barrier := state.Serve(wishes), (*run)(nil)
	for _, i := range serving.Order {
		r := runs[i]
		r.before, r.ended = nil, make(chan struct{})
		for _, before := range serving.After[i] {
			r.before = append(r.before, runs[before])
		}
		if barrier != nil && r.hasAddresses() {
			r.before = append(r.before, barrier)
		}
		if !r.done && !r.PickAddresses() {
			r.before, barrier = slices.Clone(ordered), r
		}
		r.Late = len(r.before) > 0
		ordered = append(ordered, r)
		if serving.Alone[i] {
			alone = append(alone, r)
		}
	}
	return ordered, alone
}

// hasAddresses is true for a lease that asks for addresses, or holds any.
func (r *run) hasAddresses() bool {
	return len(r.Request.Endpoints) > 0 || slices.ContainsFunc(r.Snapshot.Held[r.Group], func(c *state.Claim) bool { return c.Kind == state.Address })
}

// claimEarly takes what leases ask for before the work on the first of them goes on, so that one LIST of the wildcards
// serves them all. It says which of them are claimed for: all of them, or none of few.
func (a *Applier) claimEarly(ctx context.Context, alone []*run, work leaseWork) map[*run]bool {
	early := map[*run]bool{}
	if len(alone) < 2 {
		return early
	}
	claimed := a.Counter("leases (claims)", len(alone))
	a.side(alone, func(r *run) {
		r.step(ctx, work.claim)
		claimed()
	})
	var claimants []*claims.Claims
	for _, r := range alone {
		early[r] = true
		if r.err == nil {
			claimants = append(claimants, r.Claims)
		}
	}
	claims.LookAbove(ctx, a.Ledger, claimants)
	return early
}

// isOld is true where what was read for the work on leases became old before its first write.
func isOld(runs []*run) bool {
	return slices.ContainsFunc(runs, func(r *run) bool { return errors.Is(r.err, turn.ErrAgain) })
}

// readFor reads what work on leases is decided by.
func (a *Applier) readFor(ctx context.Context, runs []*run, work leaseWork) (*observed.Snapshot, error) {
	snapshot, err := work.read(ctx, runs)
	if err != nil {
		return nil, err
	}
	for _, r := range runs {
		snapshot.Addresses.Name(r.Request)
	}
	a.findRivals(snapshot, runs)
	return snapshot, nil
}

// begin prepares the work on a lease by what was read.
func (r *run) begin(s *observed.Snapshot, p *pools.Pools) {
	if r.Nonce == "" {
		r.Nonce = r.Options.Turn.Mark()
	}
	r.Only = r.Options.ChangesOf(r.Request.Lease)
	r.Snapshot, r.Pools, r.err = s, p, nil
	if r.barred != nil && !r.Options.Check { // a check tells all that is in the way
		r.err, r.done = r.barred, true
	}
}

// step does a step of the work on a lease, unless nothing is to be done for it. An error ends the work.
func (r *run) step(ctx context.Context, do func(*run, context.Context) error) {
	if r.done {
		return
	}
	r.err = parallel.Guard(func() error { return do(r, ctx) })
	if r.Options.Check {
		r.err = report.Gather([]error{r.barred, r.err})
	}
	r.done = r.err != nil && !errors.Is(r.err, turn.ErrAgain)
}

// unfinished are the deployment groups of which something was changed and neither ended nor undone.
func unfinished(runs []*run) (groups []lease.Group) {
	for _, r := range runs {
		if r.unfinished() {
			groups = append(groups, r.Group)
		}
	}
	return groups
}

// side does something for several leases side by side.
func (a *Applier) side(runs []*run, do func(*run)) {
	group := parallel.New(a.Options.Concurrency)
	for _, r := range runs {
		group.Go(func() error {
			do(r)
			return nil
		})
	}
	_ = group.Wait() // the runs keep their errors
}

// findRivals tells each run which earlier one wants the same for another owner: the first in the input
// gets it, in a dry run as in a real one.
func (a *Applier) findRivals(s *observed.Snapshot, runs []*run) {
	requests := make([]state.Request, len(runs))
	for i, r := range runs {
		requests[i] = r.Request
	}
	for i, found := range state.Rivals(requests, a.Options.Config, func(name string) bool { return s.Claims[name] != nil }) {
		runs[i].Rivals = found
	}
}

// groupsOf are the deployment groups of runs.
func groupsOf(runs []*run) []lease.Group {
	groups := make([]lease.Group, len(runs))
	for i, r := range runs {
		groups[i] = r.Group
	}
	return slices.Clip(groups)
}
