package apply

import (
	"context"
	"errors"
	"slices"

	"github.com/akash-net/kubectl-akash-net/apply/claims"
	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/apply/pools"
	"github.com/akash-net/kubectl-akash-net/apply/turn"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/state"
)

// workLeases names what the progress of most commands counts.
const workLeases = "leases"

// leaseWork has the steps of a command on independent leases.
type leaseWork struct {
	// read reads the snapshot for all decisions.
	read func(context.Context, []*run) (*observed.Snapshot, error)
	// prepare reads what else the work on a lease depends on, nil if there is nothing else. It runs for all leases before
	// the command's first write: otherwise some would begin again after others are done. claim takes what a lease asks
	// for; do makes all other writes, and end waits after these are final.
	prepare, claim, do, end func(*run, context.Context) error
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
			r.err = r.Failed(r.Options.AsPlanned(r.Request.Lease, r.err))
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
	if err := s.Rests(ctx, a.Command, groupsOf(runs)); err != nil {
		return err
	}
	pools := pools.New(a.Options.Config, s)
	for _, r := range runs {
		r.begin(s, pools)
	}
	if work.prepare != nil {
		a.parallel(runs, func(r *run) { r.step(ctx, work.prepare) })
	}
	ordered, alone := orderRuns(runs)
	early := a.claimEarly(ctx, alone, work)
	if !isStale(runs) {
		a.parallel(ordered, func(r *run) {
			defer close(r.ended)
			if r.followsStale() && !r.done {
				r.err = turn.ErrAgain
				return
			}
			ctx := a.readGiven(ctx, r, work)
			r.findRivals()
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
				r.count(count)
			}
		})
	}
	if !isStale(runs) {
		return nil
	}
	for _, r := range runs {
		if !r.done || !r.Changed() { // what a run found before the turn may be out of date as well
			r.restart()
		}
	}
	return turn.ErrAgain
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
	return snapshot, nil
}

// begin prepares a run for a snapshot.
func (r *run) begin(s *observed.Snapshot, p *pools.Pools) {
	if r.Nonce == "" {
		r.Nonce = r.Options.Turn.Mark()
	}
	r.Only = r.Options.ChangesOf(r.Request.Lease)
	r.Snapshot, r.Pools, r.err = s, p, nil
	if r.barred != nil {
		r.err, r.done = r.barred, true
	}
}

// step runs a step of the work on a lease, unless the run is done. An error other than turn.ErrAgain ends the run.
func (r *run) step(ctx context.Context, do func(*run, context.Context) error) {
	if r.done {
		return
	}
	r.err = parallel.Guard(func() error { return do(r, ctx) })
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

// groupsOf returns the deployment groups of runs.
func groupsOf(runs []*run) []lease.Group {
	groups := make([]lease.Group, len(runs))
	for i, r := range runs {
		groups[i] = r.Group
	}
	return slices.Clip(groups)
}
