package history

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/akash-net/kubectl-akash-net/plugin/terminal"
)

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
