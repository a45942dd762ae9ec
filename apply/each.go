package apply

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
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
