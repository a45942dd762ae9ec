package console

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/cli-runtime/pkg/printers"

	"github.com/akash-net/kubectl-akash-net/apply"
	"github.com/akash-net/kubectl-akash-net/apply/install"
	"github.com/akash-net/kubectl-akash-net/apply/migrate"
	"github.com/akash-net/kubectl-akash-net/apply/report"
	"github.com/akash-net/kubectl-akash-net/apply/reservation"
	"github.com/akash-net/kubectl-akash-net/apply/workloads"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
	"github.com/akash-net/kubectl-akash-net/plugin/terminal"
	"github.com/akash-net/kubectl-akash-net/plugin/usage"
)

// Exit codes. Scripts rely on them; docs/commands.md has the table.
const (
	exitDone    = 0
	exitFailed  = 1
	exitUsage   = 2
	exitInvalid = 3
	exitHeld    = 4
	exitTimeout = 5
	// exitDiff is that of a diff that could not find out whether there are differences.
	exitDiff = 6
	// exitInterrupted is that of a command that an interrupt (SIGINT) ended; another signal has another.
	exitInterrupted = 130
)

// End prints an error and chooses the exit code.
func (c *Console) End(ctx context.Context, err error) int {
	c.view.flush()
	switch {
	case err == nil:
		if err = c.out.Lost(); err == nil {
			return exitDone
		}
	case !c.running:
		err = usage.Wrap(err)
	}
	code := exitFailed
	failures := report.Failures{err}
	each := errors.As(err, &failures) // leases failed each for itself, and not the command
	rest, end := endingOf(failures)
	for _, e := range alike(rest) {
		code = max(code, c.print(c.ofLease(e)))
	}
	told := end.err != nil && (ctx.Err() == nil || !isInterrupt(end.err))
	if told {
		if ctx.Err() != nil {
			end.err = besideInterrupt(end.err)
		}
		code = max(code, c.printEnding(end))
	}
	if _, ok := errors.AsType[*DiffError](err); ok {
		code = exitDiff
	}
	if told || ctx.Err() == nil {
		c.printWorks(end, each)
	}
	if ctx.Err() != nil {
		code = exitInterrupted
		if by, ok := errors.AsType[*interrupted](context.Cause(ctx)); ok {
			code = by.exitCode()
		}
		fmt.Fprintln(c.ErrOut, "Interrupted."+c.goOn())
		if !told {
			c.printWorks(end, each)
		}
	}
	return code
}

// goOn says how to go on after an interrupt. Where nothing was written there is nothing to finish, and to undo a command
// that claims nothing would release more than it has touched.
func (c *Console) goOn() string {
	switch {
	case c.keepsNothing:
		return ""
	case c.claims:
		return " Run the same command again to finish; `kubectl akash-net release LEASE` undoes it."
	}
	return " Run the same command again to finish."
}

// ofLease is an error without the name of its lease, where the command works on that lease alone.
func (c *Console) ofLease(err error) error {
	if of, ok := err.(*report.LeaseError); ok && c.Leases == 1 { //nolint:errorlint // what is around it stays
		return of.Err
	}
	return err
}

// print writes one error and returns the exit code that it asks for.
func (c *Console) print(err error) int {
	var problems lease.Problems
	var half *report.HalfError
	var held *report.HeldError
	var unproved *apply.UnprovedError
	var settling *migrate.SettlingError
	if found, ok := errors.AsType[*parallel.FaultError](err); ok {
		return c.Report(found)
	}
	switch {
	case errors.As(err, &problems):
		c.printProblems(problems)
		if slices.ContainsFunc(problems, func(p lease.Problem) bool { return p.Held }) {
			return exitHeld
		}
		return exitInvalid
	case errors.As(err, &half):
		fmt.Fprintf(c.ErrOut, "Error: %v\nSome changes could not be undone:\n%v\nRun the same command again to finish; `kubectl akash-net release %s` undoes it.\n", half.Why, half.Left, half.Lease.Group())
		return exitFailed
	case errors.As(err, &held):
		c.printHeld(held)
		return exitHeld
	case is[*report.KeptError](err), is[*install.StrandedError](err), is[*RefusedError](err), is[*workloads.TakenError](err), is[*reservation.RefusedError](err), is[*reservation.AddressesError](err):
		fmt.Fprintf(c.ErrOut, "Error: %v\n", err)
		return exitHeld
	case errors.As(err, &unproved):
		c.printUnproved(unproved)
		return exitInvalid
	case is[*report.ExhaustedError](err):
		fmt.Fprintf(c.ErrOut, "Error: %v\nNothing was changed. Release leases that are over, or widen ip.ranges in the provider's configuration.\n", err)
		return exitHeld
	case is[*report.TimeoutError](err):
		fmt.Fprintf(c.ErrOut, "Error: %v\nWhat was written is kept; run the same command again to continue waiting.\n", err)
		return exitTimeout
	case is[*reservation.TimeoutError](err):
		fmt.Fprintf(c.ErrOut, "Error: %v\nNothing was changed; try again.\n", err)
		return exitTimeout
	case errors.As(err, &settling):
		fmt.Fprintf(c.ErrOut, "Error: %v\nThe same command removes them then; with --timeout=%s it waits for that now.\n", err, (settling.After + time.Second).Round(time.Second))
		return exitTimeout
	case is[*ToldError](err):
		return exitFailed
	case is[*usage.Error](err):
		fmt.Fprintf(c.ErrOut, "Error: %v\nSee '%s --help' for usage.\n", err, cmp.Or(c.CommandPath, "kubectl akash-net"))
		return exitUsage
	}
	fmt.Fprintf(c.ErrOut, "Error: %v\n", err)
	return exitFailed
}

// is is true for an error that is one of type T, or that wraps one.
func is[T error](err error) bool {
	_, ok := errors.AsType[T](err)
	return ok
}

// maxTold is how many problems of an input are printed; the others are counted.
const maxTold = 50

// printProblems lists what is wrong with the input, a line each, and counts it by file.
func (c *Console) printProblems(problems lease.Problems) {
	counts := map[string]int{}
	told := 0
	for _, p := range problems.Errors() {
		if told++; told <= maxTold {
			fmt.Fprintln(c.ErrOut, terminal.OneLine(p.Error(), terminal.MaxCell))
		}
		counts[p.At.File]++
	}
	if told > maxTold {
		fmt.Fprintf(c.ErrOut, "… and %d more\n", told-maxTold)
	}
	for _, f := range slices.Sorted(maps.Keys(counts)) {
		what, plural := terminal.OneLine(f, terminal.MaxCell), "s"
		switch f {
		case "-":
			what = "standard input"
		case "":
			what = "the input"
		}
		if counts[f] == 1 {
			plural = ""
		}
		fmt.Fprintf(c.ErrOut, "Error: %s has %d error%s\n", what, counts[f], plural)
	}
}

// Warn prints warnings, a line each.
func (c *Console) Warn(problems lease.Problems) {
	told := 0
	for _, p := range problems.Warnings() {
		if told++; told <= maxTold {
			fmt.Fprintf(c.ErrOut, "Warning: %s\n", terminal.OneLine(p.Error(), terminal.MaxCell))
		}
	}
	if told > maxTold {
		fmt.Fprintf(c.ErrOut, "Warning: … and %d more\n", told-maxTold)
	}
}

func (c *Console) printHeld(e *report.HeldError) {
	var rivals []report.HeldThing
	e = &report.HeldError{Lease: e.Lease, Held: slices.Clone(e.Held)}
	e.Held = slices.DeleteFunc(e.Held, func(h report.HeldThing) bool {
		if h.By.Input != "" {
			rivals = append(rivals, h)
		}
		return h.By.Input != ""
	})
	if c.printRivals(e.Lease, rivals); len(e.Held) == 0 {
		return
	}
	fmt.Fprintf(c.ErrOut, "Error: %s held by another lease\n\n", heldThings(e.Held))
	w := printers.GetNewTabWriter(c.ErrOut)
	fmt.Fprintf(w, "  %s\tHELD BY\tNAMESPACE\tSINCE\tROUTED TO\n", strings.ToUpper(string(e.Held[0].Kind)))
	for _, h := range e.Held[:min(len(e.Held), maxTold)] {
		writeHeld(w, h)
	}
	_ = w.Flush() // to stderr
	if more := len(e.Held) - maxTold; more > 0 {
		fmt.Fprintf(c.ErrOut, "  … and %d more\n", more)
	}
	fmt.Fprintf(c.ErrOut, "\nNothing was changed for lease %s.\n", e.Lease)
	if by := e.Held[0].By; by.Object == "" {
		fmt.Fprintf(c.ErrOut, "The holder can release it: kubectl akash-net release %s\n", holderArgument(e.Held[0]))
	} else {
		fmt.Fprintf(c.ErrOut, "Nobody has claimed it, but %s uses it. Delete %s, or take it over as the owner of its lease: reserve --adopt\n", by.Object, by.Object)
	}
}

// heldThings names the first of what is held, and counts the others: below a wildcard there may be thousands.
func heldThings(held []report.HeldThing) string {
	const named = 10
	var things []string
	for _, h := range held[:min(len(held), named)] {
		things = append(things, h.Thing)
	}
	text := strings.Join(things, ", ")
	switch more := len(held) - named; {
	case more > 0:
		return fmt.Sprintf("%s and %d more are", text, more)
	case len(held) > 1:
		return text + " are"
	}
	return text + " is"
}

// printRivals names the two owners that want a thing in one input.
func (c *Console) printRivals(id lease.ID, rivals []report.HeldThing) {
	for _, h := range rivals {
		mine := ""
		if h.At.Line > 0 {
			mine = " (" + h.At.String() + ")"
		}
		fmt.Fprintf(c.ErrOut, "Error: %s\n", terminal.OneLine(fmt.Sprintf("%s is wanted by two owners of this input: first by lease %s (%s), then by lease %s%s",
			h.Thing, h.By.Lease, h.By.Input, id, mine), terminal.MaxCell))
	}
	if len(rivals) > 0 {
		fmt.Fprintf(c.ErrOut, "Nothing was changed for lease %s.\n", id)
	}
}

func writeHeld(w io.Writer, h report.HeldThing) {
	by, since, routed := h.By.Object, "-", "-"
	switch {
	case h.By.Lease != (lease.ID{}):
		by = fmt.Sprintf("%s/%d", h.By.Lease.Group(), h.By.Lease.OSeq)
		if h.By.Object != "" {
			by += " by " + h.By.Object
		}
	case by == "" && h.By.Owner != "":
		by = h.By.Owner
	}
	if !h.By.Since.IsZero() {
		since = h.By.Since.UTC().Format(time.RFC3339)
	}
	if h.By.Service != "" {
		routed = fmt.Sprintf("%s:%d", h.By.Service, h.By.Port)
	}
	if h.By.Reason != "" {
		by += " (" + h.By.Reason + ")"
	}
	fmt.Fprintf(w, "  %s\t%s\t%s\t%s\t%s\n", terminal.OneLine(h.Thing, terminal.MaxCell), terminal.OneLine(by, terminal.MaxCell), terminal.OneLine(terminal.Dash(h.By.Namespace), terminal.MaxCell), since, terminal.OneLine(routed, terminal.MaxCell))
}

func holderArgument(h report.HeldThing) string {
	if h.By.Lease != (lease.ID{}) {
		return h.By.Lease.Group().String()
	}
	return "LEASE"
}
