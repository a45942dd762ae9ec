package console

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/report"
	"github.com/akash-net/kubectl-akash-net/plugin/terminal"
)

// ending is the one error that an interrupt, or a server that went away, is to all leases on which it has
// ended the work.
type ending struct {
	err error
	// works is on how many leases it ended the work, failed how many leases are not done, for whatever reason.
	works, failed int
	// done is what the work had changed until then; unchanged is true where nothing was sent.
	done      []string
	unchanged bool
}

// endingOf finds the ending among the errors of leases, and leaves the others.
func endingOf(failures report.Failures) (rest []error, end ending) {
	end.unchanged = true
	ended, failed := map[any]bool{}, map[any]bool{}
	for i, err := range failures {
		var of *report.LeaseError
		key := any(i)
		if errors.As(err, &of) {
			key = of.Lease
		}
		failed[key] = true
		switch {
		case !isEnding(err):
			rest = append(rest, err)
		case !ended[key]: // a later step of the lease fails for the same reason
			ended[key] = true
			end.add(err, of)
		}
	}
	end.works, end.failed = len(ended), len(failed)
	return rest, end
}

// isEnding is true for an error that says nothing of its lease. What could not be taken back is said of each.
func isEnding(err error) bool {
	_, ok := errors.AsType[*report.HalfError](err)
	return (errors.Is(err, context.Canceled) || cluster.IsAway(err)) && !ok
}

// isInterrupt is true for an error that says no more than that the command was interrupted.
func isInterrupt(err error) bool {
	several, ok := errors.AsType[interface {
		error
		Unwrap() []error
	}](err)
	return errors.Is(err, context.Canceled) && (!ok || len(several.Unwrap()) == 1)
}

// besideInterrupt is what an error says beside that the command was interrupted, which is said apart.
func besideInterrupt(err error) error {
	several, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return err
	}
	rest := slices.DeleteFunc(slices.Clone(several.Unwrap()), isInterrupt)
	return cmp.Or(errors.Join(rest...), err)
}

func (e *ending) add(err error, of *report.LeaseError) {
	if of != nil {
		e.done, err = append(e.done, of.Done...), of.Err
	}
	away := (*cluster.AwayError)(nil)
	isAway := errors.As(err, &away)
	e.unchanged = e.unchanged && isAway && away.Unchanged
	if e.err == nil || isAway && !cluster.IsAway(e.err) {
		e.err = err
	}
}

// printWorks says on how many leases the work was ended. Each is true where leases failed each for itself.
func (c *Console) printWorks(end ending, each bool) {
	switch {
	case end.works > 0 && each && c.Leases > 1:
		fmt.Fprintf(c.ErrOut, "%d of %s were not processed; %d are done.\n", end.works, terminal.Count(c.Leases, "lease"), max(c.Leases-end.failed, 0))
	case end.works > 1:
		fmt.Fprintf(c.ErrOut, "%s were not processed.\n", terminal.Count(end.works, "lease"))
	}
}

// printEnding writes the error. Of a server that went away it says what had been done, and how to go on.
func (c *Console) printEnding(end ending) int {
	const shown = 10
	if !cluster.IsAway(end.err) {
		return c.print(end.err)
	}
	fmt.Fprintf(c.ErrOut, "Error: %v\n", end.err)
	if c.keepsNothing {
		end.done, end.unchanged = nil, true
	}
	if len(end.done) > 0 {
		fmt.Fprintf(c.ErrOut, "Done until then, and kept: %s", strings.Join(end.done[:min(len(end.done), shown)], ", "))
		if more := len(end.done) - shown; more > 0 {
			fmt.Fprintf(c.ErrOut, " and %d more", more)
		}
		fmt.Fprintln(c.ErrOut, ".")
	}
	if end.unchanged && len(end.done) == 0 {
		fmt.Fprintln(c.ErrOut, "Nothing was changed.")
		return exitFailed
	}
	fmt.Fprintln(c.ErrOut, "Run the same command again to finish.")
	return exitFailed
}

// ToldError ends a command with exit code 1 when standard output tells why already.
type ToldError struct{ What string }

func (e *ToldError) Error() string { return e.What }

// RefusedError ends a command with exit code 4.
type RefusedError struct{ Err error }

func (e *RefusedError) Error() string { return e.Err.Error() }

// DiffError is a diff that could not find out whether there are differences.
type DiffError struct{ Err error }

func (e *DiffError) Error() string { return e.Err.Error() }

func (e *DiffError) Unwrap() error { return e.Err }
