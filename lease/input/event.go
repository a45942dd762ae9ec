package input

import (
	"slices"
	"strings"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/document"
	"github.com/akash-net/kubectl-akash-net/lease/suggest"
)

// EventType says what has happened to a lease, in the words of Akash's provider.
type EventType string

// The types of events.
const (
	LeaseWon         EventType = "LeaseWon"
	ManifestReceived EventType = "ManifestReceived"
	LeaseClosed      EventType = "LeaseClosed"
)

var eventTypes = []string{string(LeaseWon), string(ManifestReceived), string(LeaseClosed)}

// The keys of an event: ours, and those with which Akash's programs encode theirs (provider: event/events.go, LeaseWon and
// ManifestReceived; chain: EventLeaseClosed). What else these have says nothing that is needed.
var (
	leaseOfEvent    = []string{"lease", "LeaseID", "id"}
	manifestOfEvent = []string{"manifest", "Manifest"}
	eventKeys       = slices.Concat([]string{"type"}, leaseOfEvent, manifestOfEvent, []string{"Group", "Price", "Deployment", "price", "reason"})
)

// Event is something that has happened to a lease.
type Event struct {
	// Type and Lease are empty if they could not be read.
	Type  EventType
	Lease lease.ID
	// Definition is what the manifest of ManifestReceived defines; nil for other types.
	Definition *lease.Definition
}

// ReadEvent reads an event from a line of JSON. The manifest may have any of the formats of Read but a List, and need not name its lease:
// that is the event's. With errors the event has what could be read all the same.
func ReadEvent(line []byte, file string, number int, opt Options) (Event, lease.Problems) {
	doc := document.Line(line, file, number)
	if doc.Problems.Failed() {
		return Event{}, doc.Problems.Sorted()
	}
	if doc.Root().IsNull() {
		doc.Root().Errorf("expected an event, found nothing")
		return Event{}, doc.Problems
	}
	doc.Strict = true
	root := doc.Root().Mapping(eventKeys)
	if !root.Present() {
		return Event{}, doc.Problems
	}
	event := Event{Type: readEventType(root.Require("type")), Lease: readEventLease(oneOf(root, leaseOfEvent))}
	if doc.Strict = false; event.Type != ManifestReceived {
		return event, doc.Problems.Sorted()
	}
	manifest := oneOf(root, manifestOfEvent)
	if doc.Problems.Failed() {
		return event, doc.Problems.Sorted()
	}
	if opt.Lease = &event.Lease; manifest.IsMapping() && manifest.Has("kind") {
		opt.Lease = nil // it names its own
	}
	defs, problems := readOne(manifest, opt)
	if len(defs) == 0 {
		if !problems.Failed() {
			problems.Add(manifest.At(), "the manifest defines nothing")
		}
		return event, problems
	}
	if of := defs[0].Lease; of != event.Lease {
		problems.Add(manifest.At(), "the manifest is for lease %s, and the event for lease %s", of, event.Lease)
		return event, problems
	}
	event.Definition = defs[0]
	return event, problems
}

// oneOf requires a value under one of the keys that mean the same.
func oneOf(m document.Mapping, keys []string) document.Cursor {
	i := max(slices.IndexFunc(keys, func(key string) bool { return m.Has(key) }), 0)
	for _, other := range keys[i+1:] {
		if m.Has(other) {
			m.Get(other).Errorf("%q and %q mean the same; give one of them", keys[i], other)
		}
	}
	return m.Require(keys[i])
}

// readEventType reads a type, with or without what the chain puts before it (akash.market.v1.EventLeaseClosed).
func readEventType(c document.Cursor) EventType {
	text, ok := c.ValidText()
	text = strings.TrimPrefix(text[strings.LastIndexByte(text, '.')+1:], "Event")
	for _, known := range eventTypes {
		if text == known {
			return EventType(known)
		}
	}
	if ok && !c.IsNull() { // Require reports null
		c.Errorf("unknown type %q%s; the types are %s", text, suggest.For(text, eventTypes), strings.Join(eventTypes, ", "))
	}
	return ""
}

// ignored is a value of which nothing is read.
type ignored struct{}

// Decode reads nothing.
func (*ignored) Decode(document.Cursor) {}

// readEventLease reads a lease, which is a text or, as in a LeaseDefinition, a mapping.
func readEventLease(c document.Cursor) lease.ID {
	if !c.IsScalar() {
		var id struct {
			Of   lease.ID `doc:",inline"`
			BSeq ignored  `doc:"bseq"`
		}
		document.Decode(c, &id, rules)
		return id.Of
	}
	text, ok := c.ValidText()
	if !ok || c.IsNull() { // Require reports null
		return lease.ID{}
	}
	id, err := lease.ParseID(text)
	if err == nil {
		err = id.CheckWallets()
	}
	if err != nil {
		c.Errorf("%v", err)
		return lease.ID{}
	}
	return id
}
