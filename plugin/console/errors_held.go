package console

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/akash-net/kubectl-akash-net/apply"
	"github.com/akash-net/kubectl-akash-net/apply/dnsproof"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/plugin/terminal"
	"github.com/akash-net/kubectl-akash-net/state"
)

// maxNamed is the maximum number of names in a sentence. The others are counted.
const maxNamed = 10

// areText joins names as the subject of a sentence, with its verb. It counts the names after the first maxNamed.
func areText(names []string) string {
	if len(names) == 1 {
		return names[0] + " is"
	}
	return lease.Some(names, maxNamed) + " are"
}

// printHeld prints the things that other leases hold, and how to get them.
func (c *Console) printHeld(e *report.HeldError) {
	var rivals, held []report.HeldThing
	var names []string
	for _, h := range e.Held {
		if h.By.Input != "" {
			rivals = append(rivals, h)
		} else {
			held, names = append(held, h), append(names, h.Thing)
		}
	}
	if c.printRivals(e.Lease, rivals); len(held) == 0 {
		return
	}
	how := "held by another lease"
	if slices.ContainsFunc(held, report.HeldThing.Unclaimed) { // which is true of what another lease holds, too
		how = "in use already"
	}
	c.say("Error: %s %s\n", areText(names), how)
	var rows [][]string
	for _, h := range held[:min(len(held), maxPrinted)] {
		cells := heldCells(h)
		cells[1] = c.shorten(cells[1])
		rows = append(rows, cells)
	}
	columns := []string{strings.ToUpper(string(held[0].Kind)), "HELD BY", "NAMESPACE", "SINCE", "ROUTED TO"}
	_ = c.table().Print(columns, rows) // to stderr
	if more := len(held) - maxPrinted; more > 0 {
		c.say("  … and %d more", more)
	}
	c.say("\nNothing was changed for lease %s.", e.Lease)
	c.say("%s", adviceOn(held[0], e.Lease))
}

// table returns a table on standard error.
func (c *Console) table() *terminal.Table {
	return &terminal.Table{Out: c.ErrOut, Width: c.columns, Indent: "  "}
}

// adviceOn returns what to do about a thing that the lease wants and does not get. It deletes nothing that may serve.
func adviceOn(h report.HeldThing, wants lease.ID) string {
	by := h.By
	kind, object, _ := strings.Cut(by.Object, " ")
	namespace, name, _ := strings.Cut(object, "/")
	switch {
	case kind == "node": // nobody's lease, and nothing to take over
		return fmt.Sprintf("It is an address of %s, and no lease gets it: ask for another one. Its provider adds \"!%s\" to ip.ranges.", by.Object, h.Thing)
	case h.Unclaimed() && by.Lease.Group() == wants.Group():
		return fmt.Sprintf("Nobody has claimed %s, and %s serves it in the namespace of this lease. To claim it: the same command with --adopt", h.Thing, by.Object)
	case h.Unclaimed() && by.Lease != (lease.ID{}):
		return fmt.Sprintf("Nobody has claimed %s, and %s uses it for another lease. Its owner claims it with: kubectl akash-net reserve %s --adopt --lease %s",
			h.Thing, by.Object, state.Typed(h.Thing), by.Lease)
	case h.Unclaimed():
		return fmt.Sprintf("Nobody has claimed %s, and %s uses it, which names no lease. To see what it serves: kubectl -n %s get %s %s -o yaml",
			h.Thing, by.Object, namespace, kind, name)
	case by.Lease != (lease.ID{}):
		return fmt.Sprintf("The holder can release it: kubectl akash-net release %s %s", by.Lease.Group(), state.Typed(h.Thing))
	}
	return "The holder can release it: kubectl akash-net release LEASE " + state.Typed(h.Thing)
}

// printRivals prints the things that two owners want in the same input.
func (c *Console) printRivals(id lease.ID, rivals []report.HeldThing) {
	for _, h := range rivals {
		at := ""
		if h.At.Line > 0 {
			at = " (" + h.At.String() + ")"
		}
		message := fmt.Sprintf("%s is wanted by two owners of this input: first by lease %s (%s), then by lease %s%s",
			h.Thing, h.By.Lease, h.By.Input, id, at)
		c.say("Error: %s", terminal.OneLine(message, terminal.MaxCell))
	}
	if len(rivals) > 0 {
		c.say("Nothing was changed for lease %s.", id)
	}
}

// heldCells returns the cells of a held thing: its name, holder, namespace, time and backend.
func heldCells(h report.HeldThing) []string {
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
	return []string{h.Thing, by, terminal.Dash(h.By.Namespace), since, routed}
}

// alikeError is the same error of several leases.
type alikeError struct {
	*report.LeaseError
	leases map[lease.Group]bool
}

func (e *alikeError) Error() string {
	if more := len(e.leases) - 1; more > 0 {
		return fmt.Sprintf("lease %s and %s: %v", e.Lease, lease.Count(more, "more lease"), e.Err)
	}
	return e.LeaseError.Error()
}

// joinAlike replaces the errors with the same text that a missing permission or a missing kind caused for several leases by
// one error. There may be hundreds of them.
func joinAlike(errs []error) []error {
	var out []error
	known := map[string]*alikeError{}
	for _, err := range errs {
		of, ok := err.(*report.LeaseError) //nolint:errorlint // what is around it stays
		if !ok || !isOfCluster(of.Err) {
			out = append(out, err)
			continue
		}
		text := of.Err.Error()
		if known[text] == nil {
			known[text] = &alikeError{of, map[lease.Group]bool{}}
			out = append(out, known[text])
		}
		known[text].leases[of.Lease] = true
	}
	for i, err := range out {
		if one, ok := err.(*alikeError); ok && len(one.leases) == 1 { //nolint:errorlint // it is none that wraps one
			out[i] = one.LeaseError
		}
	}
	return out
}

// isOfCluster reports whether the cluster refused something that does not depend on the lease. A *report.HalfError does not
// count, because it lists changes of its lease that could not be undone.
func isOfCluster(err error) bool {
	return (Is[*kinds.MissingError](err) || apierrors.IsForbidden(err)) && !Is[*report.HalfError](err)
}

// printUnproved prints the DNS queries for each host with their answers, and the records that would prove the hosts.
func (c *Console) printUnproved(e *apply.UnprovedError) {
	hosts := make([]string, len(e.Hosts))
	for i, h := range e.Hosts {
		hosts[i] = h.Host
	}
	c.say("Error: %s not proved to belong to %s\n", areText(hosts), e.Lease.Owner)
	var records []string
	var rows [][]string
	for _, h := range e.Hosts {
		why, ok := errors.AsType[*dnsproof.Unproved](h.Err)
		if !ok {
			rows = append(rows, []string{h.Host, "-", "-", fmt.Sprint(h.Err)})
			continue
		}
		for _, x := range why.Asked {
			rows = append(rows, []string{h.Host, fmt.Sprintf("%s %s", x.Type, x.Name), x.Server, x.Answer})
		}
		if why.Note != "" {
			rows = append(rows, []string{h.Host, "-", "-", why.Note})
		}
		if len(why.Records) > 0 {
			records = append(records, "  "+strings.Join(why.Records, "\n  or  "))
		}
	}
	_ = c.table().Print([]string{"HOST", "ASKED FOR", "OF", "ANSWER"}, rows) // to stderr
	if len(records) > 0 {
		fmt.Fprintf(c.ErrOut, "\nThe tenant can prove it with these DNS records:\n%s\n", strings.Join(records, "\n"))
	}
	c.say("\nNothing was changed for lease %s.", e.Lease)
}
