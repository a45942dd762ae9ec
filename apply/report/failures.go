package report

import (
	"errors"
	"fmt"

	"github.com/akash-net/kubectl-akash-net/lease"
)

// LeaseError is an error that ended the work on a lease.
type LeaseError struct {
	Lease lease.Group
	Err   error
	// Done is what the work had changed before, such as "host/shop.example.com claimed".
	Done []string
}

func (e *LeaseError) Error() string { return fmt.Sprintf("lease %s: %v", e.Lease, e.Err) }

// Unwrap returns the error.
func (e *LeaseError) Unwrap() error { return e.Err }

// Failures are the errors of leases that were processed independently.
type Failures []error

func (fs Failures) Error() string { return errors.Join(fs...).Error() }

// Unwrap returns the errors.
func (fs Failures) Unwrap() []error { return fs }

// Gather collects errors into Failures and flattens nested Failures. It returns nil if there are none.
func Gather(errs []error) error {
	var fs Failures
	for _, err := range errs {
		if several, ok := errors.AsType[Failures](err); ok {
			fs = append(fs, several...)
		} else if err != nil {
			fs = append(fs, err)
		}
	}
	if len(fs) == 0 {
		return nil
	}
	return fs
}

// ErrChanged reports that something has changed since it was read, and was left for the next run.
var ErrChanged = errors.New("it has changed meanwhile; look again")
