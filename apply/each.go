package apply

import (
	"errors"

	"github.com/akash-net/kubectl-akash-net/lease/parallel"
)

// each does the work on leases that do not depend on each other. The error joins those of all.
func (a *Applier) each(runs []*run, work func(int, *run) error) error {
	errs := make([]error, len(runs))
	group := parallel.New(a.opts.Concurrency)
	for i, r := range runs {
		group.Go(func() error {
			if errs[i] = parallel.Guard(func() error { return work(i, r) }); errs[i] != nil {
				r.fail(errs[i])
			}
			return nil
		})
	}
	_ = group.Wait() // the runs' errors are in errs
	return failures(errs)
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
