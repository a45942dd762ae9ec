package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/akash-net/kubectl-akash-net/apply/turn"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
	"github.com/akash-net/kubectl-akash-net/state"
)

// Works of which the progress is told.
const (
	workLeases = "leases"
	workClaims = "leases (claims)"
	// The steps of a migration.
	workNewRoutes = "leases (new routes)"
	workRecords   = "leases (DNS records)"
	workDNS       = "leases (DNS)"
	workOldRoutes = "leases (old routes)"
	workProblems  = "problems"
)

// counter tells how many works are done: none at first, and one more with each call of what it returns.
func (a *Applier) counter(what string, all int) (count func()) {
	done := -1
	count = func() {
		a.report.Lock()
		defer a.report.Unlock()
		if done++; a.opts.Progress != nil {
			a.opts.Progress(what, done, all)
		}
	}
	count()
	return count
}

// leaseWork is work on leases that do not depend on each other.
type leaseWork struct {
	// read reads what the work is decided by.
	read func(context.Context, []*run) (*snapshot, error)
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
	count := a.counter(workLeases, len(runs))
	for part := range slices.Chunk(runs, state.MaxAnnounced) {
		over := a.inTurn(ctx, groupsOf(part), func(ctx context.Context) ([]lease.Group, error) {
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
		if !slices.ContainsFunc(part, func(r *run) bool { return !r.done || r.err != nil || r.changed }) {
			errs = append(errs, over)
		}
		a.side(part, func(r *run) {
			if over != nil && (!r.done || r.err == nil && r.changed) {
				r.err = r.loses(ctx, over)
			}
			if r.err == nil {
				r.err = parallel.Guard(func() error { return work.end(r, ctx) })
			}
			r.err = r.failed(r.err)
		})
	}
	for _, r := range runs {
		errs = append(errs, r.err)
	}
	return failures(errs)
}

// workOn does work on leases by what was read. The error is turn.ErrAgain or nil; the runs keep those of their own.
func (a *Applier) workOn(ctx context.Context, runs []*run, s *snapshot, work leaseWork, count func()) error {
	runs = slices.DeleteFunc(slices.Clone(runs), func(r *run) bool { return r.done })
	pools := newPools(a, s)
	for _, r := range runs {
		r.begin(s, pools)
	}
	early := a.claimEarly(ctx, runs, work)
	if !isOld(runs) {
		a.side(runs, func(r *run) {
			if !early[r] {
				r.step(ctx, work.claim)
			}
			if r.err == nil {
				r.step(ctx, work.do)
				r.done = !errors.Is(r.err, turn.ErrAgain)
			}
			if r.done {
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
// serves them all. It returns those leases: the others have to see how some lease ends.
func (a *Applier) claimEarly(ctx context.Context, runs []*run, work leaseWork) map[*run]bool {
	requests, early := make([]state.Request, len(runs)), map[*run]bool{}
	for i, r := range runs {
		requests[i] = r.req
	}
	var alone []*run
	for i, is := range state.Alone(requests) {
		if is {
			alone = append(alone, runs[i])
		}
	}
	if len(alone) < 2 {
		return early
	}
	claimed := a.counter(workClaims, len(alone))
	a.side(alone, func(r *run) {
		r.step(ctx, work.claim)
		claimed()
	})
	for _, r := range alone {
		early[r] = true
	}
	a.lookAbove(ctx, alone)
	return early
}

// isOld is true where what was read for the work on leases became old before its first write.
func isOld(runs []*run) bool {
	return slices.ContainsFunc(runs, func(r *run) bool { return errors.Is(r.err, turn.ErrAgain) })
}

// readFor reads what work on leases is decided by.
func (a *Applier) readFor(ctx context.Context, runs []*run, work leaseWork) (*snapshot, error) {
	snapshot, err := work.read(ctx, runs)
	if err != nil {
		return nil, err
	}
	for _, r := range runs {
		snapshot.addresses.Name(r.req)
	}
	a.findRivals(snapshot, runs)
	return snapshot, nil
}

// begin prepares the work on a lease by what was read.
func (r *run) begin(s *snapshot, p *pools) {
	if r.nonce == "" {
		r.nonce = r.opts.turn.Mark()
	}
	r.only = r.opts.changesOf(r.req.Lease)
	r.snapshot, r.pools, r.err = s, p, nil
	if r.barred != nil && !r.opts.Check { // a check tells all that is in the way
		r.err, r.done = r.barred, true
	}
}

// step does a step of the work on a lease, unless nothing is to be done for it. An error ends the work.
func (r *run) step(ctx context.Context, do func(*run, context.Context) error) {
	if r.done {
		return
	}
	r.err = parallel.Guard(func() error { return do(r, ctx) })
	if r.opts.Check {
		r.err = failures([]error{r.barred, r.err})
	}
	r.done = r.err != nil && !errors.Is(r.err, turn.ErrAgain)
}

// unfinished are the deployment groups of which something was changed and neither ended nor undone.
func unfinished(runs []*run) (groups []lease.Group) {
	for _, r := range runs {
		if r.unfinished() {
			groups = append(groups, r.group)
		}
	}
	return groups
}

// side does something for several leases side by side.
func (a *Applier) side(runs []*run, do func(*run)) {
	group := parallel.New(a.opts.Concurrency)
	for _, r := range runs {
		group.Go(func() error {
			do(r)
			return nil
		})
	}
	_ = group.Wait() // the runs keep their errors
}

// each does the work on leases that do not depend on each other. The error joins those of all.
func (a *Applier) each(what string, runs []*run, work func(int, *run) error) error {
	errs, count := make([]error, len(runs)), a.counter(what, len(runs))
	group := parallel.New(a.opts.Concurrency)
	for i, r := range runs {
		group.Go(func() error {
			defer count()
			errs[i] = r.failed(parallel.Guard(func() error { return work(i, r) }))
			return nil
		})
	}
	_ = group.Wait() // the runs' errors are in errs
	return failures(errs)
}

// LeaseError is an error that has ended the work on a lease.
type LeaseError struct {
	Lease lease.Group
	Err   error
	// Done is what the work had changed until then, as "host/shop.example.com claimed".
	Done []string
}

func (e *LeaseError) Error() string { return fmt.Sprintf("lease %s: %v", e.Lease, e.Err) }

// Unwrap gives the error to errors.Is and errors.As.
func (e *LeaseError) Unwrap() error { return e.Err }

// failed tells of the error that has ended the work on the lease. What it returns names the lease; it is nil
// where there was no error.
func (r *run) failed(err error) error {
	if err == nil {
		return nil
	}
	r.send(Event{Time: time.Now(), Action: Failed, Lease: r.req.Lease, Kind: "lease", Name: r.req.Lease.String(), Err: err})
	r.mu.Lock()
	defer r.mu.Unlock()
	fs, ok := errors.AsType[Failures](err)
	if !ok {
		fs = Failures{err}
	}
	named := make(Failures, len(fs))
	for i, e := range fs {
		named[i] = &LeaseError{Lease: r.group, Err: e, Done: slices.Clone(r.changes)}
	}
	return named
}

// Failures are the errors of leases that were worked on independently.
type Failures []error

func (fs Failures) Error() string { return errors.Join(fs...).Error() }

// Unwrap gives the errors to errors.Is and errors.As.
func (fs Failures) Unwrap() []error { return fs }

// failures gathers the errors of those that failed, each of them where one has several; it is nil
// when none did.
func failures(errs []error) error {
	var fs Failures
	for _, err := range errs {
		var several Failures
		switch {
		case errors.As(err, &several):
			fs = append(fs, several...)
		case err != nil:
			fs = append(fs, err)
		}
	}
	if len(fs) == 0 {
		return nil
	}
	return fs
}
