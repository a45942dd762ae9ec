package report

import (
	"errors"
	"fmt"

	"github.com/akash-net/kubectl-akash-net/lease"
)

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

// Failures are the errors of leases that were worked on independently.
type Failures []error

func (fs Failures) Error() string { return errors.Join(fs...).Error() }

// Unwrap gives the errors to errors.Is and errors.As.
func (fs Failures) Unwrap() []error { return fs }

// Gather gathers the errors of those that failed, each of them where one has several; it is nil
// when none did.
func Gather(errs []error) error {
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

// ErrChanged says that something is not as it was read: it is left for the next call.
var ErrChanged = errors.New("it has changed meanwhile; look again")
