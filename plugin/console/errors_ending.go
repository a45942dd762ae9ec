package console

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/report"
)

// stop is an interrupt, or the loss of the API server, that stopped the processing of several leases. It is printed once.
type stop struct {
	err error
	// rests are how the leases stand that it stopped. failed is the number of leases that are not done, for any reason.
	rests  []report.Rest
	failed int
	// lease is the last of them.
	lease lease.Group
	// done are the changes made before.
	done []string
	// unchanged is true if no write was sent.
	unchanged bool
}

// splitStop separates the errors of leases that one stop caused from the rest.
func splitStop(failures report.Failures) (rest []error, s stop) {
	s.unchanged = true
	stopped, failed := map[lease.Group]bool{}, map[lease.Group]bool{}
	for _, err := range failures {
		var of *report.LeaseError
		if errors.As(err, &of) {
			failed[of.Lease] = true
		}
		switch {
		case !isStop(err):
			rest = append(rest, err)
		case of == nil:
			s.add(err)
		case !stopped[of.Lease]: // later steps of the lease fail for the same reason
			stopped[of.Lease] = true
			s.rests, s.done, s.lease = append(s.rests, of.Rest), append(s.done, of.Done...), of.Lease
			s.add(of.Err)
		}
	}
	s.failed = len(failed)
	return rest, s
}

// isStop reports whether an error has its cause outside the lease: an interrupt or the loss of the API server. A
// *report.HalfError does not count, because it lists changes of its lease that could not be undone.
func isStop(err error) bool {
	return (errors.Is(err, context.Canceled) || cluster.IsAway(err)) && !Is[*report.HalfError](err)
}

// isInterrupt reports whether an error is only an interrupt.
func isInterrupt(err error) bool {
	several, ok := errors.AsType[interface {
		error
		Unwrap() []error
	}](err)
	return errors.Is(err, context.Canceled) && (!ok || len(several.Unwrap()) == 1)
}

// withoutInterrupt returns an error without the interrupts that it joins, because the interrupt is printed separately.
func withoutInterrupt(err error) error {
	several, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return err
	}
	rest := slices.DeleteFunc(slices.Clone(several.Unwrap()), isInterrupt)
	return cmp.Or(errors.Join(rest...), err)
}

// add adds an error. It prefers the loss of the API server to an interrupt.
func (s *stop) add(err error) {
	away, isAway := errors.AsType[*cluster.AwayError](err)
	s.unchanged = s.unchanged && isAway && away.Unchanged
	if s.err == nil || isAway && !cluster.IsAway(s.err) {
		s.err = err
	}
}

// printStop prints the error and returns the exit code. After the loss of the API server it also prints the changes made
// before, and how to continue.
func (c *Console) printStop(s stop) int {
	const shown = 10
	if !cluster.IsAway(s.err) {
		return c.print(s.err)
	}
	c.say("Error: %v", s.err)
	if c.readOnly {
		s.done, s.unchanged = nil, true
	}
	if len(s.done) > 0 {
		fmt.Fprintf(c.ErrOut, "Done until then, and kept: %s", strings.Join(s.done[:min(len(s.done), shown)], ", "))
		if more := len(s.done) - shown; more > 0 {
			fmt.Fprintf(c.ErrOut, " and %d more", more)
		}
		fmt.Fprintln(c.ErrOut, ".")
	}
	if s.unchanged && len(s.done) == 0 {
		fmt.Fprintln(c.ErrOut, "Nothing was changed.")
	} else {
		fmt.Fprintln(c.ErrOut, "Run the same command again to finish.")
	}
	return exitFailed
}

// ReportedError ends a command with exit code 1. Standard output already shows the reason.
type ReportedError struct{ Message string }

func (e *ReportedError) Error() string { return e.Message }

// RefusedError ends a command with exit code 4.
type RefusedError struct{ Err error }

func (e *RefusedError) Error() string { return e.Err.Error() }

// DiffError is the error of a failed diff, for exit code 6.
type DiffError struct{ Err error }

func (e *DiffError) Error() string { return e.Err.Error() }

func (e *DiffError) Unwrap() error { return e.Err }
