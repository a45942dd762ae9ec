package console

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/thing"
	"github.com/akash-net/kubectl-akash-net/plugin/terminal"
	"github.com/akash-net/kubectl-akash-net/state"
)

// Events prints the events of a run, each as a line of text or of JSON.
type Events struct {
	c      *Console
	output string
	suffix string
	// Check is true for the command check, which prints withheld things on standard error.
	Check bool
	// view groups the events by lease on a terminal; nil prints them one by one.
	view *leaseView
	// named are the printed names. An object has two events if its address is granted later.
	named map[eventKey]bool
}

// eventKey identifies the object of an event.
type eventKey struct{ namespace, name string }

// The values of --output for commands that write.
const (
	OutputEvents = "events"
	OutputName   = "name"
)

// NewEvents returns a printer of events on a console. output and dryRun are the values of --output and --dry-run.
func NewEvents(c *Console, output, dryRun string) *Events {
	e := &Events{c: c, output: output, named: map[eventKey]bool{}}
	switch dryRun {
	case command.DryRunClient:
		e.suffix = dryRunSuffix
	case command.DryRunServer:
		e.suffix = " (server dry run)"
	}
	c.states, c.suffix = map[lease.Group]string{}, e.suffix
	if dryRun != "" && output == "" {
		c.tally = &report.Tally{}
	}
	if c.Terminal && output == "" {
		e.view = newLeaseView(e)
		c.view = e.view
	}
	return e
}

// dryRunSuffix ends the lines of a dry run of the client.
const dryRunSuffix = " (dry run)"

// jsonEvent is the JSON form of an event.
type jsonEvent struct {
	Schema    string   `json:"schema"`
	Time      string   `json:"time"`
	Action    string   `json:"action"`
	Lease     string   `json:"lease,omitempty"`
	Kind      string   `json:"kind,omitempty"`
	Namespace string   `json:"namespace,omitempty"`
	Name      string   `json:"name,omitempty"`
	Message   string   `json:"message,omitempty"`
	Next      string   `json:"next,omitempty"`
	Error     string   `json:"error,omitempty"`
	DryRun    bool     `json:"dryRun,omitempty"`
	Hosts     []string `json:"hosts,omitempty"`
	Addresses []string `json:"addresses,omitempty"`
	Withheld  int      `json:"withheld,omitempty"`
	Unrouted  int      `json:"unrouted,omitempty"`
	Lacks     []string `json:"lacks,omitempty"`
	Doubts    []string `json:"doubts,omitempty"`
	Changed   *bool    `json:"changed,omitempty"`
	Seconds   float64  `json:"seconds,omitempty"`
	Since     string   `json:"since,omitempty"`
	Until     string   `json:"until,omitempty"`
}

// eventSchema is the version of jsonEvent. It changes with every incompatible change.
const eventSchema = "net.akash.network/events/v1"

// Report prints an event, and adds it to the story of its lease.
func (e *Events) Report(event report.Event) {
	e.c.Tell(event)
	if e.c.tally != nil {
		e.c.tally.Add(event.Action, event.Kind)
	}
	switch e.output {
	case OutputEvents:
		e.json(event)
	case OutputName:
		switch event.Action {
		case report.Waiting:
			e.text(event)
		case report.Failed, report.Done, report.Lacks, report.Proved, report.Unproved, report.Rolling, report.Ready:
			// other events name the same object
		default:
			if key := (eventKey{event.Namespace, eventName(event)}); !e.named[key] {
				e.named[key] = true
				e.line(e.c.Text, "%s", key.name)
			}
		}
	default:
		e.text(event)
	}
}

// Progress shows how many items of a step are done.
func (e *Events) Progress(what string, done, all int) {
	if e.view != nil {
		e.view.count(what, done, all)
	}
}

func (e *Events) text(event report.Event) {
	thing := eventThing(event)
	switch event.Action {
	case report.Done:
		e.c.states[event.Lease.Group()] = event.Message
	case report.Failed:
		delete(e.c.states, event.Lease.Group())
	case report.Released:
		if _, done := e.c.states[event.Lease.Group()]; !done {
			e.c.states[event.Lease.Group()] = string(report.Released)
		}
	}
	switch {
	case e.view != nil && !event.Until.IsZero():
		e.view.add(event)
	case e.Check && event.Action == report.Withheld, event.Action == report.Waiting:
		e.line(e.c.ErrOut, "%s %s", thing, describe(event))
	case e.view != nil && !e.Check && event.Lease != (lease.ID{}):
		e.view.add(event)
	case event.Action == report.Failed: // End prints the error
	default:
		e.line(e.c.Text, "%s", eventLine(event, e.suffix))
	}
}

// describe returns the action and the message of an event.
func describe(event report.Event) string {
	switch s := string(event.Action); {
	case !event.Until.IsZero():
		return fmt.Sprintf("%s %s (since %s, until %s at most)", s, event.Message, event.Since.Format(time.TimeOnly), event.Until.Format(time.TimeOnly))
	case event.Message == "" || event.Action == report.Unproved: // End prints the reason
		return s
	case event.Action == report.Lacks || event.Action == report.Granted:
		return s + " " + event.Message
	default:
		return s + " (" + event.Message + ")"
	}
}

// eventThing returns the name of an event's object or claimed thing.
func eventThing(event report.Event) string { return thing.Print(event.Kind, event.Name) }

// eventName returns eventThing for -o name. The name of a problem has the prefix that state prints.
func eventName(event report.Event) string {
	if slices.Contains(state.ProblemKinds, event.Kind) {
		return ProblemPrefix + event.Kind + "/" + event.Name
	}
	return eventThing(event)
}

// line prints one line. It escapes line ends in args. On a terminal it shortens the names of leases.
func (e *Events) line(w io.Writer, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if e.c.Terminal && e.output != OutputName {
		text = thing.ShortenLeases(text)
	}
	columns := e.c.Columns()
	if e.output == OutputName {
		columns = 0
	}
	fmt.Fprintln(w, terminal.Hang(terminal.OneLine(text, terminal.MaxCell), columns))
}

func (e *Events) json(event report.Event) {
	_ = json.NewEncoder(e.c.Out).Encode(e.jsonOf(event)) // End reports a write error
}

// jsonOf returns the JSON form of an event.
func (e *Events) jsonOf(event report.Event) jsonEvent {
	l := jsonEvent{
		Schema: eventSchema, Time: event.Time.UTC().Format(time.RFC3339Nano), Action: string(event.Action),
		Kind: event.Kind, Namespace: event.Namespace, Name: event.Name, Message: event.Message, Next: event.Next,
		DryRun: e.suffix != "",
	}
	if event.Lease != (lease.ID{}) {
		l.Lease = event.Lease.String()
	}
	if event.Err != nil {
		l.Error = event.Err.Error()
	}
	if !event.Until.IsZero() {
		l.Since, l.Until = event.Since.UTC().Format(time.RFC3339), event.Until.UTC().Format(time.RFC3339)
	}
	if s := event.Summary; s != nil {
		l.Hosts, l.Addresses, l.Withheld, l.Unrouted = s.Hosts, s.Addresses, s.Withheld, s.Unrouted
		l.Lacks, l.Doubts = s.Lacks, s.Doubts
		l.Changed, l.Seconds = &s.Changed, s.Took.Seconds()
	}
	return l
}

// summary returns the last line of a lease.
func summary(event report.Event) string {
	s := event.Summary
	if len(s.Lacks) > 0 {
		return fmt.Sprintf("lease %s would not be %s: %s", event.Lease.Group(), strings.Replace(event.Message, "applied", "live", 1), strings.Join(s.Lacks, "; "))
	}
	parts := []string{lease.Count(len(s.Hosts)-s.Unrouted, "host")}
	if s.Unrouted > 0 {
		parts = append(parts, fmt.Sprintf("%d not routed over HTTP", s.Unrouted))
	}
	if len(s.Addresses) > 0 {
		parts = append(parts, fmt.Sprintf("%s (%s)", lease.Count(len(s.Addresses), "address"), strings.Join(s.Addresses, ", ")))
	}
	if s.Withheld > 0 {
		parts = append(parts, fmt.Sprintf("%d withheld", s.Withheld))
	}
	if !s.Changed {
		parts = append(parts, "unchanged")
	}
	parts = append(parts, s.Took.Round(100*time.Millisecond).String())
	text := fmt.Sprintf("lease %s is %s: %s", event.Lease.Group(), event.Message, strings.Join(parts, ", "))
	if len(s.Doubts) > 0 {
		text += fmt.Sprintf("; perhaps not live: %s (kubectl akash-net doctor)", strings.Join(s.Doubts, "; "))
	}
	return text
}

// DryRunLine returns the line for an event of a dry run of the client.
func DryRunLine(event report.Event) string { return eventLine(event, dryRunSuffix) }

// eventLine returns the line for an event.
func eventLine(event report.Event, suffix string) string {
	if event.Action == report.Done {
		return summary(event) + suffix
	}
	s := eventThing(event) + " " + describe(event) + suffix
	if event.Next != "" {
		s += ": " + event.Next
	}
	return s
}

// ProblemPrefix is the prefix of the names of problems.
const ProblemPrefix = "problem/"

// manyLeases is the number of leases from which a terminal shows one line for each lease, and the progress.
const manyLeases = 6

// leaseView prints events on a terminal, grouped by lease. It prints a lease when its processing ends, with at most one line
// for each object, or one line for the lease if there are many leases.
type leaseView struct {
	*Events
	progress terminal.Progress
	// counted is the progress with "; " while the status shows it, otherwise empty.
	counted string
	// blocks are the leases that have not been printed yet.
	blocks map[lease.Group]*leaseBlock
	// failed are the leases that have been printed as failed.
	failed map[lease.Group]bool
}

// leaseBlock collects the events of a lease.
type leaseBlock struct {
	group   lease.Group
	objects []*objectLine
	// counts are the numbers of events by action, actions the actions in the order of their first event.
	counts  map[report.Action]int
	actions []report.Action
	// end is the event that ended the processing; its action is "" before.
	end report.Event
}

// objectLine collects the events of an object.
type objectLine struct {
	object       report.Event
	descriptions []string
	next         string
}

func newLeaseView(e *Events) *leaseView {
	return &leaseView{Events: e, blocks: map[lease.Group]*leaseBlock{}, failed: map[lease.Group]bool{}}
}

func (v *leaseView) isMany() bool { return v.c.Leases >= manyLeases }

func (v *leaseView) add(event report.Event) {
	g := event.Lease.Group()
	b := v.blocks[g]
	if b == nil {
		b = &leaseBlock{group: g, counts: map[report.Action]int{}}
		v.blocks[g] = b
	}
	switch event.Action {
	case report.Unchanged:
	case report.Rolling, report.Waiting: // shown only as the status
		v.c.status.Show(v.counted + thing.ShortenLeases(eventThing(event)+" "+describe(event)))
	case report.Done, report.Failed:
		b.end = event
		v.print(b)
	default:
		if o := b.add(event); v.counted == "" {
			v.c.status.Show(o.text(v.suffix))
		}
	}
}

// count shows the progress of a step with many items.
func (v *leaseView) count(what string, done, all int) {
	if v.counted = ""; all >= manyLeases {
		text := v.progress.Text(what, done, all)
		v.c.status.Show(text)
		v.counted = text + "; "
	}
}

// flush prints the leases whose processing has not ended, in order.
func (v *leaseView) flush() {
	if v == nil {
		return
	}
	for _, g := range slices.SortedFunc(maps.Keys(v.blocks), lease.Group.Compare) {
		v.print(v.blocks[g])
	}
	v.c.status.Clear()
}

func (b *leaseBlock) add(event report.Event) *objectLine {
	if b.counts[event.Action]++; b.counts[event.Action] == 1 {
		b.actions = append(b.actions, event.Action)
	}
	i := slices.IndexFunc(b.objects, func(o *objectLine) bool {
		return o.object.Kind == event.Kind && o.object.Namespace == event.Namespace && o.object.Name == event.Name
	})
	if i < 0 {
		i = len(b.objects)
		b.objects = append(b.objects, &objectLine{object: event})
	}
	o := b.objects[i]
	if text := describe(event); !slices.Contains(o.descriptions, text) {
		o.descriptions = append(o.descriptions, text)
	}
	o.next = cmp.Or(event.Next, o.next)
	return o
}

func (o *objectLine) text(suffix string) string {
	s := eventThing(o.object) + " " + strings.Join(o.descriptions, ", ") + suffix
	if o.next != "" {
		s += ": " + o.next
	}
	return s
}

func (v *leaseView) print(b *leaseBlock) {
	delete(v.blocks, b.group)
	isPrinted := len(b.objects) > 0 || v.isPrintedWithoutObjects(b)
	v.failed[b.group] = v.failed[b.group] || b.end.Action == report.Failed
	if !isPrinted {
		v.c.status.Clear() // what it waited for is over
		return
	}
	head, indent := v.heading(b), "  "
	summaryLast := v.c.Leases == 1 && b.end.Action == report.Done
	if summaryLast {
		indent = ""
	} else {
		v.line(v.c.Text, "%s", head)
	}
	if !v.isMany() {
		for _, o := range b.objects {
			v.line(v.c.Text, "%s%s", indent, o.text(v.suffix))
		}
	}
	if summaryLast {
		v.line(v.c.Text, "%s", head)
	}
}

// isPrintedWithoutObjects reports whether a lease without events about objects is printed: one that is done, or one of several
// that has failed for the first time. End prints the error of an only lease, and of leases that a stop ended.
func (v *leaseView) isPrintedWithoutObjects(b *leaseBlock) bool {
	return b.end.Action == report.Done ||
		b.end.Action == report.Failed && v.c.Leases > 1 && !v.failed[b.group] && !isStop(b.end.Err)
}

// heading returns the name of a lease with its outcome and, if there are many leases, the numbers of its events.
func (v *leaseView) heading(b *leaseBlock) string {
	s, counted := "lease "+b.group.String(), b.actions
	switch {
	case b.end.Action == report.Done:
		s = summary(b.end)
		counted = slices.DeleteFunc(slices.Clone(counted), func(a report.Action) bool { return !a.Undone() && a != report.Lacks })
	case b.end.Action == report.Failed && isStop(b.end.Err) && !b.end.Rest.Stays:
		s += " is as it was before"
	case b.end.Action == report.Failed && isStop(b.end.Err):
		s += " is not finished"
	case b.end.Action == report.Failed:
		s += " failed"
	}
	if !v.isMany() {
		if b.end.Action == report.Done {
			s += v.suffix
		}
		return s
	}
	separator := ": "
	if b.end.Action == report.Done {
		separator = ", "
	}
	for _, action := range counted {
		word := string(action)
		if action == report.Lacks {
			word = "lacking"
		}
		s += fmt.Sprintf("%s%d %s", separator, b.counts[action], word)
		separator = ", "
	}
	return s + v.suffix
}
