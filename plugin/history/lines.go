// Package history writes what happens to leases as Events into their namespaces, where kubectl events shows it. The Events are a
// story: nothing is decided by them, and a command does the same whether they can be written or not.
package history

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/migrate"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/thing"
	"github.com/akash-net/kubectl-akash-net/plugin/terminal"
	"github.com/akash-net/kubectl-akash-net/state"
)

// line is what one reported event says in the story of a lease.
type line struct {
	// of is the lease, without an order and a provider if the report is about a whole deployment group.
	of      lease.ID
	reason  string
	warning bool
	text    string
	// names are what "events" finds the line by: host names, addresses, and the names of objects.
	names []string
	// kind, namespace and name are those of the reported thing or object.
	kind, namespace, name string
}

// The reasons of Events that are not named after the reported action.
const (
	reasonRefused = "Refused"
	reasonFailed  = "Failed"
	reasonLost    = "Lost"
	reasonKept    = "Kept"
)

// reasons are the actions of which a story tells, with the reasons of their Events.
var reasons = map[report.Action]string{
	report.Claimed: "Claimed", report.Withheld: "Withheld", report.Released: "Released", report.Transferred: "Transferred",
	report.Granted: "Granted", report.Accepted: "Accepted", report.Served: "Served", report.Repaired: "Repaired",
	report.Created: "Created", report.Configured: "Configured", report.Replaced: "Replaced", report.Pruned: "Pruned", report.Deleted: "Deleted",
}

// claiming are the reasons of changes of claims, writing those of changes of objects.
var (
	claiming = []string{reasons[report.Claimed], reasons[report.Transferred], reasons[report.Released]}
	writing  = []string{
		reasons[report.Created], reasons[report.Configured], reasons[report.Replaced], reasons[report.Pruned], reasons[report.Deleted],
	}
)

// claims are the kinds of things that leases claim.
var claims = []string{string(state.Address), string(state.Endpoint), string(state.Host), string(state.Wildcard), report.KindOrder}

// linesOf returns what a reported event says in the stories of leases.
func linesOf(e report.Event) []line {
	if e.Lease == (lease.ID{}) {
		return nil
	}
	if e.Action == report.Failed {
		return failure(e)
	}
	reason := reasons[e.Action]
	switch {
	case reason == "":
		return nil
	case e.Action == report.Pruned && slices.Contains(claims, e.Kind):
		reason = reasons[report.Released]
	}
	l := line{
		of: e.Lease, reason: reason, warning: e.Action == report.Withheld, text: thing.Print(e.Kind, e.Name),
		names: []string{e.Name}, kind: e.Kind, namespace: e.Namespace, name: e.Name,
	}
	if e.Message != "" {
		l.text += " (" + e.Message + ")"
	}
	if e.Action == report.Granted {
		l.names = append(l.names, addresses(e.Message)...)
	}
	lines := []line{l}
	other := func(g lease.Group, reason, how string) {
		l.of, l.reason = lease.ID{Owner: g.Owner, DSeq: g.DSeq, GSeq: g.GSeq}, reason
		l.text = fmt.Sprintf("%s (%s lease %s)", thing.Print(e.Kind, e.Name), how, e.Lease.Group())
		l.warning = reason == reasonLost
		lines = append(lines, l)
	}
	for _, g := range e.From {
		other(g, reasonLost, "transferred to")
	}
	if e.To != (lease.Group{}) {
		other(e.To, reason, "back from")
	}
	return lines
}

// failure returns what the end of the work on a lease by an error says. Old routes that stay until resolvers have forgotten them are no
// failure. An interrupt, and an API server that does not answer, are no part of the story of a lease.
func failure(e report.Event) (lines []line) {
	if e.Err == nil || errors.Is(e.Err, context.Canceled) || cluster.IsAway(e.Err) {
		return nil
	}
	all, several := errors.AsType[report.Failures](e.Err)
	if !several {
		all = report.Failures{e.Err}
	}
	var wrong report.Failures
	for _, err := range all {
		settling, ok := errors.AsType[*migrate.SettlingError](err)
		if !ok {
			wrong = append(wrong, err)
			continue
		}
		l := line{of: e.Lease, reason: reasonKept, text: oneLine(err)}
		for _, route := range settling.Routes {
			_, name, _ := strings.Cut(route, "/")
			l.names = append(l.names, name)
		}
		lines = append(lines, l)
	}
	if len(wrong) == 0 {
		return lines
	}
	l := line{of: e.Lease, reason: reasonFailed, warning: true, text: oneLine(wrong)}
	if held, ok := errors.AsType[*report.HeldError](wrong); ok {
		l.reason = reasonRefused
		for _, h := range held.Held {
			l.names = append(l.names, h.Thing)
		}
	} else if _, ok := errors.AsType[*report.ExhaustedError](wrong); ok {
		l.reason = reasonRefused
	} else if over, ok := errors.AsType[*report.OvertakenError](wrong); ok {
		l.reason, l.names = reasonLost, []string{over.Thing}
	}
	return append(lines, l)
}

// oneLine returns the text of an error in one line.
func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }

// addresses returns the addresses in the message of a grant.
func addresses(message string) (found []string) {
	for text := range strings.SplitSeq(message, ", ") {
		if a, err := netip.ParseAddr(text); err == nil {
			found = append(found, a.String())
		}
	}
	return found
}

// Limits of one Event. The API server refuses a longer note; annotations have at most 256 KiB.
const (
	maxNote  = 1024
	maxNamed = 100 << 10
	maxName  = 253
)

// note is what one Event says: everything that happened to a lease for one reason since the last Event.
type note struct {
	reason  string
	warning bool
	at      time.Time
	// texts are what it says, as far as it has room, and more is how many others there are.
	texts []string
	size  int
	more  int
	// names are what it is found by, each once.
	names []string
	named map[string]bool
	room  int
	// first is the first line, whose object is the Event's if there is no other.
	first line
	only  bool
}

// newNote returns the note of one line.
func newNote(l line, at time.Time) *note {
	n := &note{reason: l.reason, warning: l.warning, at: at, named: map[string]bool{}, room: maxNamed, first: l, only: true}
	n.add(l)
	return n
}

// takes reports whether a line belongs into the note: it has the reason, and room for the names.
func (n *note) takes(l line) bool {
	return n.reason == l.reason && n.room >= len(l.names)*(maxName+1)
}

// add adds a line.
func (n *note) add(l line) {
	n.only = n.only && l.kind == n.first.kind && l.namespace == n.first.namespace && l.name == n.first.name
	for _, name := range l.names {
		if isName(name) && !n.named[name] && n.room > len(name) {
			n.named[name] = true
			n.names = append(n.names, name)
			n.room -= len(name) + 1
		}
	}
	text := fit(terminal.OneLine(string(terminal.Escape([]byte(l.text))), maxNote), maxNote)
	switch {
	case slices.Contains(n.texts, text):
	case n.size > maxNote:
		n.more++
	default:
		n.texts = append(n.texts, text)
		n.size += len(text) + len(separator)
	}
}

const separator = ", "

// text returns the note's text, which has at most maxNote bytes.
func (n *note) text() string {
	all := strings.Join(n.texts, separator)
	if n.more == 0 && len(all) <= maxNote {
		return all
	}
	for shown := len(n.texts) - 1; shown > 0; shown-- {
		if s := fmt.Sprintf("%s and %d more", strings.Join(n.texts[:shown], separator), len(n.texts)-shown+n.more); len(s) <= maxNote {
			return s
		}
	}
	tail := ""
	if others := len(n.texts) - 1 + n.more; others > 0 {
		tail = fmt.Sprintf(" and %d more", others)
	}
	return fit(n.texts[0], maxNote-len(tail)) + tail
}

// fit shortens a text to so many bytes, with an ellipsis at its end.
func fit(text string, size int) string {
	const ellipsis = "…"
	if len(text) <= size {
		return text
	}
	cut := size - len(ellipsis)
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + ellipsis
}

// isName reports whether a text may be the name of a thing or an object: it is short, and one word.
func isName(text string) bool {
	return text != "" && len(text) <= maxName && utf8.ValidString(text) &&
		!strings.ContainsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) })
}

// notes are what is to be told of a lease.
type notes []*note

// essential leaves out what objects were written where claims have changed: it follows from that.
func (ns notes) essential() notes {
	if !slices.ContainsFunc(ns, func(n *note) bool { return slices.Contains(claiming, n.reason) }) {
		return ns
	}
	return slices.DeleteFunc(ns, func(n *note) bool { return slices.Contains(writing, n.reason) })
}

// add adds a line to the last note that takes it.
func (ns *notes) add(l line, at time.Time) {
	for _, n := range slices.Backward(*ns) {
		if n.takes(l) {
			n.add(l)
			return
		}
	}
	*ns = append(*ns, newNote(l, at))
}
