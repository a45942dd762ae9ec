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
	// do does the work on a lease that writes, end what comes once that is committed.
	do, end func(*run, context.Context) error
}

// eachInTurn does work on leases in turns of the command, each for as many leases as one announcement names. The
// error joins those of all leases.
func (a *Applier) eachInTurn(ctx context.Context, runs []*run, work leaseWork) error {
	snapshot, err := a.readFor(ctx, runs, work)
	if err != nil {
		return err
	}
	count := a.counter(workLeases, len(runs))
	for part := range slices.Chunk(runs, state.MaxAnnounced) {
		over := a.inTurn(ctx, groupsOf(part), func(ctx context.Context) ([]lease.Group, error) {
			if snapshot == nil { // what was read before is old
				for _, r := range part {
					if !r.done {
						r.err = nil
					}
				}
				if snapshot, err = a.readFor(ctx, runs, work); err != nil {
					return nil, err
				}
			}
			pools := newPools(a, snapshot)
			a.side(part, func(r *run) {
				if r.err = r.begin(ctx, snapshot, pools, work); !errors.Is(r.err, turn.ErrAgain) {
					count()
				}
			})
			if slices.ContainsFunc(part, func(r *run) bool { return errors.Is(r.err, turn.ErrAgain) }) {
				snapshot = nil
				return nil, turn.ErrAgain
			}
			return unfinished(part), nil
		})
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
	errs := make([]error, len(runs))
	for i, r := range runs {
		errs[i] = r.err
	}
	return failures(errs)
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

// begin does the work on a lease. Work that was done before is not done again.
func (r *run) begin(ctx context.Context, s *snapshot, p *pools, work leaseWork) error {
	if r.done {
		return r.err
	}
	if r.nonce == "" {
		r.nonce = r.opts.turn.Mark()
	}
	r.only = r.opts.changesOf(r.req.Lease)
	r.snapshot, r.pools = s, p
	err := r.barred
	if err == nil || r.opts.Check { // a check tells all that is in the way
		err = failures([]error{err, parallel.Guard(func() error { return work.do(r, ctx) })})
	}
	if errors.Is(err, turn.ErrAgain) {
		r.forgetRound()
		return err
	}
	r.done = true
	return err
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
