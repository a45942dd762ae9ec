package console

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/akash-net/kubectl-akash-net/apply"
	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
	"github.com/akash-net/kubectl-akash-net/plugin/terminal"
	"github.com/akash-net/kubectl-akash-net/plugin/usage"
	"github.com/akash-net/kubectl-akash-net/plugin/version"
)

// exitInterrupted means that SIGINT ended the command. See interrupted.exitCode for other signals.
const exitInterrupted = 130

// End prints the error of a command and returns the exit code.
func (c *Console) End(ctx context.Context, err error) int {
	defer c.story.Close(ctx)
	c.view.flush()
	if c.tally != nil && c.tally.String() != "" {
		fmt.Fprintln(c.Text, c.tally)
	}
	switch {
	case err == nil:
		if err = c.out.Err(); err == nil {
			c.printTotal(stop{}, false)
			return 0
		}
	case !c.running:
		err = usage.Wrap(err)
	}
	code := report.ExitFailed
	failures := report.Failures{err}
	perLease := errors.As(err, &failures)
	rest, stop := splitStop(failures)
	for _, e := range joinAlike(rest) {
		code = max(code, c.print(c.unwrapLease(e)))
	}
	printed := stop.err != nil && (ctx.Err() == nil || !isInterrupt(stop.err))
	if printed {
		if ctx.Err() != nil {
			stop.err = withoutInterrupt(stop.err)
		}
		code = max(code, c.printStop(stop))
	}
	if Is[*DiffError](err) {
		code = report.ExitDiff
	}
	if printed || ctx.Err() == nil {
		c.printTotal(stop, perLease)
	}
	if ctx.Err() != nil {
		code = exitInterrupted
		if by, ok := errors.AsType[*interrupted](context.Cause(ctx)); ok {
			code = by.exitCode()
		}
		fmt.Fprintln(c.ErrOut, "Interrupted."+c.resumeHint(stop))
		if !printed {
			c.printTotal(stop, perLease)
		}
	}
	return code
}

// resumeHint returns how to continue after an interrupt, or "" for a command that wrote nothing.
func (c *Console) resumeHint(s stop) string {
	switch {
	case c.readOnly:
		return ""
	case c.Leases == 1 && s.lease != (lease.Group{}):
		return " " + c.finishHint(s.lease.String(), s.rests)
	}
	return " " + c.finishHint("LEASE", slices.DeleteFunc(slices.Clone(s.rests), func(r report.Rest) bool { return !r.Stays }))
}

// finishHint returns how to finish the work on leases that stand so. It suggests "release" only for a command that claims things, and
// only if it has made all the leases: else that would release more than the command has changed.
func (c *Console) finishHint(id string, rests []report.Rest) string {
	const again = "Run the same command again to finish"
	all := func(is func(report.Rest) bool) bool {
		return !slices.ContainsFunc(rests, func(r report.Rest) bool { return !is(r) })
	}
	switch {
	case !c.claims || len(rests) == 0:
		return again + "."
	case all(func(r report.Rest) bool { return r.Stays && !r.Held }):
		return again + "; `kubectl akash-net release " + id + "` undoes it."
	case all(func(r report.Rest) bool { return r.Former }):
		return again + "; the former definition is kept: kubectl akash-net repair " + id
	case all(func(r report.Rest) bool { return r.Held && r.Rewritten }):
		return again + "; the new definition is kept, too: kubectl akash-net repair " + id
	case all(func(r report.Rest) bool { return !r.Former && !r.Rewritten }):
		return again + "."
	}
	return again + "; `kubectl akash-net repair` finishes it by the definition that the ledger keeps."
}

// unwrapLease removes the name of the lease from an error if the command processes only one lease.
func (c *Console) unwrapLease(err error) error {
	if of, ok := err.(*report.LeaseError); ok && c.Leases == 1 { //nolint:errorlint // keeps errors that wrap it
		return of.Err
	}
	return err
}

// print prints an error and returns its exit code.
func (c *Console) print(err error) int {
	var problems lease.Problems
	var half *report.HalfError
	var held *report.HeldError
	var unproved *apply.UnprovedError
	if found, ok := errors.AsType[*parallel.FaultError](err); ok {
		return c.ReportPanic(found)
	}
	switch {
	case errors.As(err, &problems):
		c.printProblems(problems)
		if slices.ContainsFunc(problems, func(p lease.Problem) bool { return p.Held }) {
			return report.ExitHeld
		}
		return report.ExitInvalid
	case errors.As(err, &half):
		c.say("Error: %v\nSome changes could not be undone:\n%v\n%s", half.Why, half.Left,
			c.finishHint(half.Lease.Group().String(), []report.Rest{half.Rest}))
		return report.ExitFailed
	case errors.As(err, &held):
		c.printHeld(held)
	case errors.As(err, &unproved):
		c.printUnproved(unproved)
	case Is[*ReportedError](err):
	case Is[*usage.Error](err):
		fmt.Fprintf(c.ErrOut, "Error: %v\nSee '%s --help' for usage.\n", err, cmp.Or(c.CommandPath, "kubectl akash-net"))
	default:
		advice := ""
		if a, ok := errors.AsType[interface {
			error
			Advice() string
		}](err); ok {
			advice = "\n" + a.Advice()
		}
		c.say("Error: %v%s", err, advice)
	}
	if e, ok := errors.AsType[interface {
		error
		ExitCode() int
	}](err); ok {
		return e.ExitCode()
	}
	return report.ExitFailed
}

// Is reports whether err or an error that it wraps has type T.
func Is[T error](err error) bool {
	_, ok := errors.AsType[T](err)
	return ok
}

// maxPrinted is the maximum number of problems to print. The others are counted.
const maxPrinted = 50

// printProblems prints the errors in the input, one per line, and their number for each file. An error without a place is
// about the input as a whole and needs no number.
func (c *Console) printProblems(problems lease.Problems) {
	var placed, whole lease.Problems
	counts := map[string]int{}
	for _, p := range problems.Errors() {
		if p.At.File == "" {
			whole = append(whole, p)
			continue
		}
		placed = append(placed, p)
		counts[p.At.File]++
	}
	c.printLines("", placed)
	c.printLines("Error: ", whole)
	for _, f := range slices.Sorted(maps.Keys(counts)) {
		what := terminal.OneLine(f, terminal.MaxCell)
		if f == "-" {
			what = "standard input"
		}
		fmt.Fprintf(c.ErrOut, "Error: %s has %s\n", what, lease.Count(counts[f], "error"))
	}
}

// Warn prints warnings, one per line.
func (c *Console) Warn(problems lease.Problems) { c.printLines("Warning: ", problems.Warnings()) }

// printLines prints the first maxPrinted problems, one per line.
func (c *Console) printLines(prefix string, problems lease.Problems) {
	for _, p := range problems[:min(len(problems), maxPrinted)] {
		fmt.Fprintln(c.ErrOut, terminal.Hang(prefix+terminal.OneLine(p.Error(), terminal.MaxCell), c.columns()))
	}
	if more := len(problems) - maxPrinted; more > 0 {
		fmt.Fprintf(c.ErrOut, "%s… and %d more\n", prefix, more)
	}
}

// debugVariable is the environment variable that adds the stack trace to the report of a panic.
const debugVariable = "AKASH_NET_DEBUG"

// ReportPanic prints a panic and how to report it, and returns the exit code.
func (c *Console) ReportPanic(recovered any) int {
	c.view.flush()
	f, ok := recovered.(*parallel.FaultError)
	if !ok {
		f = &parallel.FaultError{Value: recovered, Trace: debug.Stack()}
	}
	info := version.Of()
	fmt.Fprintf(c.ErrOut, "Error: this is a fault of kubectl akash-net, and not of its input: %s\n"+
		"Please report it, with this text and what you typed, at https://github.com/akash-net/kubectl-akash-net/issues "+
		"(version %s, %s, %s).\n",
		terminal.OneLine(fmt.Sprint(f.Value), 1000), info.Version, info.GoVersion, info.Platform)
	if os.Getenv(debugVariable) != "" {
		fmt.Fprintf(c.ErrOut, "%s", f.Trace)
	} else {
		fmt.Fprintf(c.ErrOut, "With the environment variable %s=1 the command prints where it failed.\n", debugVariable)
	}
	return report.ExitFailed
}

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
	if !cluster.IsAway(s.err) {
		return c.print(s.err)
	}
	c.say("Error: %v", s.err)
	if c.readOnly {
		s.done, s.unchanged = nil, true
	}
	if len(s.done) > 0 {
		fmt.Fprintf(c.ErrOut, "Done until then, and kept: %s.\n", lease.Some(s.done, maxNamed))
	}
	if s.unchanged && len(s.done) == 0 {
		fmt.Fprintln(c.ErrOut, "Nothing was changed.")
	} else {
		fmt.Fprintln(c.ErrOut, "Run the same command again to finish.")
	}
	return report.ExitFailed
}

// ReportedError ends a command with exit code 1. Standard output already shows the reason.
type ReportedError struct{ Message string }

func (e *ReportedError) Error() string { return e.Message }

// RefusedError ends a command with exit code 4.
type RefusedError struct{ Err error }

func (e *RefusedError) Error() string { return e.Err.Error() }

// ExitCode says how a command ends with the error.
func (*RefusedError) ExitCode() int { return report.ExitHeld }

// DiffError is the error of a failed diff, for exit code 6.
type DiffError struct{ Err error }

func (e *DiffError) Error() string { return e.Err.Error() }

func (e *DiffError) Unwrap() error { return e.Err }

// total counts how the work on the leases of a command has ended.
type total struct {
	leases int
	// done has the leases that are done, by their state, such as "live".
	done map[string]int
	// failed are refused or failed. begun were stopped, with something changed; unprocessed were stopped as they were before.
	failed, begun, unprocessed int
	// took is how long the command has worked.
	took time.Duration
}

// totalOf counts leases. states are those of the leases of which the command said that they are done.
func totalOf(leases int, states []string, s stop, readOnly bool, took time.Duration) total {
	t := total{leases: leases, done: map[string]int{}, failed: s.failed - len(s.rests), took: took}
	for _, r := range s.rests {
		if r.Stays && !readOnly {
			t.begun++
		} else {
			t.unprocessed++
		}
	}
	rest := leases - s.failed
	for _, state := range states {
		if rest > 0 {
			t.done[state]++
			rest--
		}
	}
	if rest > 0 {
		t.done["done"] += rest
	}
	return t
}

// String returns the counts that are not zero, such as "200 leases: 199 live, 1 failed, 6.1s".
func (t total) String() string {
	var parts []string
	add := func(n int, what string) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, what))
		}
	}
	for _, state := range slices.Sorted(maps.Keys(t.done)) {
		add(t.done[state], state)
	}
	add(t.failed, "failed")
	add(t.begun, "begun")
	add(t.unprocessed, "not processed")
	parts = append(parts, t.took.Round(100*time.Millisecond).String())
	return lease.Count(t.leases, "lease") + ": " + strings.Join(parts, ", ")
}

// printTotal prints how the work on several leases has ended, if that is known. perLease is true if leases have failed, not the command.
func (c *Console) printTotal(s stop, perLease bool) {
	switch {
	case c.Leases > 1 && (perLease && len(s.rests) > 0 || len(c.states) > 0):
		text := totalOf(c.Leases, slices.Collect(maps.Values(c.states)), s, c.readOnly, time.Since(c.begun)).String()
		fmt.Fprintln(c.ErrOut, text+c.suffix)
	case len(s.rests) > 1:
		fmt.Fprintf(c.ErrOut, "%s were not processed.\n", lease.Count(len(s.rests), "lease"))
	}
}
