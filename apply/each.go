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
	// prepare reads what else the work on a lease rests on, for all of them before the first write of the command: else the work
	// on some would begin again once others are done. Claim takes what a lease asks for. Do does the rest of the work that
	// writes; end does what comes when that is committed.
	prepare, claim, do, end func(*run, context.Context) error
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
			r.err = r.Failed(r.Options.AsPlanned(r.Request.Lease, r.err))
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
	a.side(runs, func(r *run) { r.step(ctx, work.prepare) })
	ordered, alone := lineUp(runs)
	early := a.claimEarly(ctx, alone, work)
	if !isOld(runs) {
		a.side(ordered, func(r *run) {
			defer close(r.ended)
			if r.followsOld() && !r.done {
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

// groupsOf are the deployment groups of runs.
func groupsOf(runs []*run) []lease.Group {
	groups := make([]lease.Group, len(runs))
	for i, r := range runs {
		groups[i] = r.Group
	}
	return slices.Clip(groups)
}
