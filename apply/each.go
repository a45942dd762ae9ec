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

// workLeases names what the progress of most commands counts.
const workLeases = "leases"

// leaseWork has the steps of a command on independent leases.
type leaseWork struct {
	// read reads the snapshot for all decisions.
	read func(context.Context, []*run) (*observed.Snapshot, error)
	// claim takes what a lease asks for; do makes all other writes, and end waits after these are final.
	claim, do, end func(*run, context.Context) error
}

// eachInTurn works on leases in turns of the command; each turn has at most as many leases as one announcement can
// name. The error joins those of all leases.
func (a *Applier) eachInTurn(ctx context.Context, runs []*run, work leaseWork) error {
	snapshot, err := a.readFor(ctx, runs, work)
	if err != nil {
		return err
	}
	var errs []error // first the errors of turns that belong to no lease
	count := a.Counter(workLeases, len(runs))
	for part := range slices.Chunk(runs, state.MaxAnnounced) {
		turnErr := a.InTurn(ctx, groupsOf(part), func(ctx context.Context) ([]lease.Group, error) {
			if snapshot == nil { // an earlier turn made it stale
				if snapshot, err = a.readFor(ctx, runs, work); err != nil {
					return nil, err
				}
			}
			if err = a.workOn(ctx, part, snapshot, work, count); err != nil {
				snapshot = nil
				return nil, err
			}
			return groupsOf(slices.DeleteFunc(slices.Clone(part), func(r *run) bool { return !r.unfinished() })), nil
		})
		if !slices.ContainsFunc(part, func(r *run) bool { return !r.done || r.err != nil || r.Changed() }) {
			errs = append(errs, turnErr)
		}
		a.parallel(part, func(r *run) {
			if turnErr != nil && (!r.done || r.err == nil && r.Changed()) {
				r.err = r.Loses(ctx, turnErr)
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

// workOn works on leases with a snapshot. It returns turn.ErrAgain if the snapshot is stale, else nil; each run keeps
// its own error.
func (a *Applier) workOn(ctx context.Context, runs []*run, s *observed.Snapshot, work leaseWork, count func()) error {
	runs = slices.DeleteFunc(slices.Clone(runs), func(r *run) bool { return r.done })
	pools := pools.New(a.Options.Config, s)
	for _, r := range runs {
		r.begin(s, pools)
	}
	ordered, alone := orderRuns(runs)
	early := a.claimEarly(ctx, alone, work)
	if !isStale(runs) {
		a.parallel(ordered, func(r *run) {
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
	if !isStale(runs) {
		return nil
	}
	for _, r := range runs {
		if !r.done {
			r.restart()
		}
	}
	return turn.ErrAgain
}

// orderRuns orders the leases and makes them wait for each other: leases that ask for the same thing in the order of the
// input, after the lease that gives it up. They pick their addresses in that order. A lease for which too few addresses
// are left follows all leases before it, because these may not take theirs, and all later leases with addresses follow
// it. alone are the leases whose result changes nothing for the others.
func orderRuns(runs []*run) (ordered, alone []*run) {
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

// hasAddresses reports whether a lease asks for addresses or holds any.
func (r *run) hasAddresses() bool {
	isAddress := func(c *state.Claim) bool { return c.Kind == state.Address }
	return len(r.Request.Endpoints) > 0 || slices.ContainsFunc(r.Snapshot.Held[r.Group], isAddress)
}

// claimEarly takes the claims of several leases before any of them continues, so that all of them need one LIST of the
// wildcards. It returns the leases whose claim step is done: all or, if there are fewer than two, none.
func (a *Applier) claimEarly(ctx context.Context, alone []*run, work leaseWork) map[*run]bool {
	early := map[*run]bool{}
	if len(alone) < 2 {
		return early
	}
	claimed := a.Counter("leases (claims)", len(alone))
	a.parallel(alone, func(r *run) {
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

// isStale reports whether the snapshot of any lease became stale before its first write.
func isStale(runs []*run) bool {
	return slices.ContainsFunc(runs, func(r *run) bool { return errors.Is(r.err, turn.ErrAgain) })
}

// readFor reads the snapshot for the work on leases.
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

// begin prepares a run for a snapshot.
func (r *run) begin(s *observed.Snapshot, p *pools.Pools) {
	if r.Nonce == "" {
		r.Nonce = r.Options.Turn.Mark()
	}
	r.Only = r.Options.ChangesOf(r.Request.Lease)
	r.Snapshot, r.Pools, r.err = s, p, nil
	if r.barred != nil && !r.Options.Check { // a check reports everything that is in the way
		r.err, r.done = r.barred, true
	}
}

// step runs a step of the work on a lease, unless the run is done. An error other than turn.ErrAgain ends the run.
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

// parallel calls do for several leases in parallel.
func (a *Applier) parallel(runs []*run, do func(*run)) {
	group := parallel.New(a.Options.Concurrency)
	for _, r := range runs {
		group.Go(func() error {
			do(r)
			return nil
		})
	}
	_ = group.Wait() // the runs keep their errors
}

// findRivals sets the earlier leases of other owners that want the same things as a run: the first in the input gets a
// thing, in a dry run too.
func (a *Applier) findRivals(s *observed.Snapshot, runs []*run) {
	requests := make([]state.Request, len(runs))
	for i, r := range runs {
		requests[i] = r.Request
	}
	for i, found := range state.Rivals(requests, a.Options.Config, func(name string) bool { return s.Claims[name] != nil }) {
		runs[i].Rivals = found
	}
}

// groupsOf returns the deployment groups of runs.
func groupsOf(runs []*run) []lease.Group {
	groups := make([]lease.Group, len(runs))
	for i, r := range runs {
		groups[i] = r.Group
	}
	return slices.Clip(groups)
}
