package console

import (
	"encoding/json"
	"fmt"
	"io"
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
