package report

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
)

// HeldError reports that others hold what the lease wants. Nothing was changed.
type HeldError struct {
	Lease lease.ID
	Held  []HeldThing
}

// HeldThing is a thing and its holder.
type HeldThing struct {
	Kind  state.Kind
	Thing string
	By    state.Holder
	At    lease.Place
}

func (e *HeldError) Error() string {
	var lines []string
	for _, h := range e.Held {
		lines = append(lines, h.String())
	}
	return strings.Join(lines, "; ")
}

// Unclaimed reports whether nobody has claimed the thing: an object uses it, such as an Ingress that was made by hand, or a node.
func (h HeldThing) Unclaimed() bool { return h.By.Object != "" }

func (h HeldThing) String() string {
	by := "somebody else"
	switch {
	case h.By.Lease != (lease.ID{}):
		by = "lease " + h.By.Lease.String()
	case h.By.Owner != "":
		by = "owner " + h.By.Owner
	case h.By.Object != "":
		by = h.By.Object
	}
	if h.By.Input != "" {
		return fmt.Sprintf("%s %s is wanted by two owners of the same input, by %s first (%s)", h.Kind, h.Thing, by, h.By.Input)
	}
	s := fmt.Sprintf("%s %s is held by %s", h.Kind, h.Thing, by)
	switch {
	case h.Unclaimed() && by != h.By.Object:
		s = fmt.Sprintf("%s %s is used by %s for %s", h.Kind, h.Thing, h.By.Object, by)
	case h.Unclaimed():
		s = fmt.Sprintf("%s %s is used by %s", h.Kind, h.Thing, by)
	case h.By.Namespace != "":
		s += " in namespace " + h.By.Namespace
	}
	if !h.By.Since.IsZero() {
		s += " since " + h.By.Since.UTC().Format("2006-01-02 15:04:05 UTC")
	}
	if h.By.Reason != "" {
		s += " (" + h.By.Reason + ")"
	}
	return s
}

// HalfError reports that a run failed and could not undo everything that it had done.
type HalfError struct {
	Lease     lease.ID
	Why, Left error
	// Rest is how the lease stands.
	Rest Rest
}

func (e *HalfError) Error() string { return fmt.Sprintf("%v; %v", e.Why, e.Left) }

// Unwrap returns the reason for the failure.
func (e *HalfError) Unwrap() error { return e.Why }

// ExhaustedError reports that no address is free for an endpoint. Nothing was changed.
type ExhaustedError struct {
	Lease    lease.ID
	Endpoint string
	Ranges   []string
	At       lease.Place
}

func (e *ExhaustedError) Error() string {
	return fmt.Sprintf("no address left in %s for IP endpoint %q", strings.Join(e.Ranges, ", "), e.Endpoint)
}

// TimeoutError reports what had not happened when the wait timed out.
type TimeoutError struct {
	// After is how long the command waited; zero if it only checked once.
	After   time.Duration
	Waiting []string
	// Gone are the objects that were to be gone, as "ingress NAMESPACE/NAME".
	Gone []string
}

func (e *TimeoutError) Error() string {
	if e.After == 0 {
		return "not waited for:\n  " + strings.Join(e.Waiting, "\n  ")
	}
	waiting := slices.DeleteFunc(slices.Clone(e.Waiting), func(what string) bool { return what == "" })
	if len(waiting) == 0 {
		return fmt.Sprintf("timed out after %s, before it was seen what is missing", e.After)
	}
	return fmt.Sprintf("timed out after %s waiting for:\n  %s", e.After, strings.Join(waiting, "\n  "))
}

// ErrorOfHeld returns a HeldError, or nil if others hold nothing.
func ErrorOfHeld(id lease.ID, held []HeldThing) error {
	if len(held) == 0 {
		return nil
	}
	return &HeldError{Lease: id, Held: held}
}

// ErrTimedOut reports that a wait timed out.
var ErrTimedOut = errors.New("timed out")

// LeaseError is an error that ended the work on a lease.
type LeaseError struct {
	Lease lease.Group
	Err   error
	// Done is what the work had changed before, such as "host/shop.example.com claimed".
	Done []string
	// Rest is how the lease stands.
	Rest Rest
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

// NamespaceGoneError says that a lease that is to be healed has no namespace: who has deleted that has ended what the lease runs.
type NamespaceGoneError struct{ Lease lease.ID }

func (e *NamespaceGoneError) Error() string {
	return fmt.Sprintf("namespace %s of the lease is gone, and with it what the lease runs: nothing is healed; if the lease is over: kubectl akash-net release %s",
		e.Lease.Namespace(), e.Lease.Group())
}

// ErrChanged reports that something has changed since it was read, and was left for the next run.
var ErrChanged = errors.New("it has changed meanwhile; look again")
