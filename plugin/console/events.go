package console

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/apply/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/thing"
	"github.com/akash-net/kubectl-akash-net/plugin/terminal"
	"github.com/akash-net/kubectl-akash-net/state"
)

// Events prints what a run tells: a line for people, or a JSON object a line.
type Events struct {
	c      *Console
	output string
	suffix string
	// Check is true where withheld things are a remark and not an answer.
	Check bool
	// view prints what is said of leases on a terminal; nil prints a line an event.
	view *leaseView
	// named are the names that were printed: of an object whose address is granted later there are two events.
	named map[eventKey]bool
}

// eventKey is what an event is about.
type eventKey struct{ namespace, name string }

// The outputs of commands that change something.
const (
	OutputEvents = "events"
	OutputName   = "name"
)

// NewEvents prints on the console as --output and --dry-run ask for.
func NewEvents(c *Console, output, dryRun string) *Events {
	e := &Events{c: c, output: output, named: map[eventKey]bool{}}
	switch dryRun {
	case command.DryRunClient:
		e.suffix = dryRunSuffix
	case command.DryRunServer:
		e.suffix = " (server dry run)"
	}
	if c.Terminal && output == "" {
		e.view = newLeaseView(e)
		c.view = e.view
	}
	return e
}

// dryRunSuffix ends what is said in a dry run of the client.
const dryRunSuffix = " (dry run)"

// line is the JSON form of an event, one a line.
type line struct {
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
	Changed   *bool    `json:"changed,omitempty"`
	Seconds   float64  `json:"seconds,omitempty"`
}

// eventSchema is the version of the lines; a change that is not additive counts it up.
const eventSchema = "net.akash.network/events/v1"

// Report prints an event.
func (e *Events) Report(event report.Event) {
	switch e.output {
	case OutputEvents:
		e.json(event)
	case OutputName:
		switch event.Action {
		case report.Waiting:
			e.text(event)
		case report.Failed, report.Done, report.Lacks, report.Proved, report.Unproved, report.Rolling, report.Ready: // what becomes of a host is said by another event
		default:
			if key := (eventKey{event.Namespace, eventName(event)}); !e.named[key] {
				e.named[key] = true
				e.line(e.c.People, "%s", key.name)
			}
		}
	default:
		e.text(event)
	}
}

// Progress tells how many works of a step are done.
func (e *Events) Progress(what string, done, all int) {
	if e.view != nil {
		e.view.count(what, done, all)
	}
}

func (e *Events) text(event report.Event) {
	thing := eventThing(event)
	switch {
	case e.Check && event.Action == report.Withheld:
		e.line(e.c.ErrOut, "%s %s", thing, said(event))
	case event.Action == report.Waiting: // now, not when the lease is done
		e.line(e.c.ErrOut, "%s %s", thing, said(event))
	case e.view != nil && !e.Check && event.Lease != (lease.ID{}):
		e.view.add(event)
	case event.Action == report.Failed: // printed once, at the end
	case event.Action == report.Done:
		e.line(e.c.People, "%s%s", summary(event), e.suffix)
	default:
		s := fmt.Sprintf("%s %s%s", thing, said(event), e.suffix)
		if event.Next != "" {
			s += ": " + event.Next
		}
		e.line(e.c.People, "%s", s)
	}
}

// said is what an event says of its object.
func said(event report.Event) string {
	switch s := string(event.Action); {
	case event.Message == "" || event.Action == report.Unproved: // why is said at the end
		return s
	case event.Action == report.Lacks || event.Action == report.Granted:
		return s + " " + event.Message
	default:
		return s + " (" + event.Message + ")"
	}
}

// eventThing is how an event's object, or the thing claimed, is called.
func eventThing(event report.Event) string { return thing.Print(event.Kind, event.Name) }

// eventName is eventThing for -o name: a problem has the word before it that state prints too.
func eventName(event report.Event) string {
	if slices.Contains(state.ProblemKinds, event.Kind) {
		return ProblemPrefix + event.Kind + "/" + event.Name
	}
	return eventThing(event)
}

// line prints one line, whatever its parts hold.
func (e *Events) line(w io.Writer, format string, args ...any) {
	fmt.Fprintln(w, terminal.OneLine(fmt.Sprintf(format, args...), terminal.MaxCell))
}

func (e *Events) json(event report.Event) {
	l := line{
		Schema: eventSchema, Time: event.Time.UTC().Format(time.RFC3339Nano), Action: string(event.Action),
		Kind: event.Kind, Namespace: event.Namespace, Name: event.Name, Message: event.Message, Next: event.Next, DryRun: e.suffix != "",
	}
	if event.Lease != (lease.ID{}) {
		l.Lease = event.Lease.String()
	}
	if event.Err != nil {
		l.Error = event.Err.Error()
	}
	if s := event.Summary; s != nil {
		l.Hosts, l.Addresses, l.Withheld, l.Unrouted, l.Changed, l.Seconds = s.Hosts, s.Addresses, s.Withheld, s.Unrouted, &s.Changed, s.Took.Seconds()
	}
	_ = json.NewEncoder(e.c.Out).Encode(l) // what cannot be written is told in the end: the work goes on
}

// summary is the last line of a lease.
func summary(event report.Event) string {
	s := event.Summary
	parts := []string{terminal.Count(len(s.Hosts)-s.Unrouted, "host")}
	if s.Unrouted > 0 {
		parts = append(parts, fmt.Sprintf("%d not routed over HTTP", s.Unrouted))
	}
	if len(s.Addresses) > 0 {
		parts = append(parts, fmt.Sprintf("%s (%s)", terminal.Count(len(s.Addresses), "address"), strings.Join(s.Addresses, ", ")))
	}
	if s.Withheld > 0 {
		parts = append(parts, fmt.Sprintf("%d withheld", s.Withheld))
	}
	if !s.Changed {
		parts = append(parts, "unchanged")
	}
	parts = append(parts, s.Took.Round(100*time.Millisecond).String())
	return fmt.Sprintf("lease %s is %s: %s", event.Lease.Group(), event.Message, strings.Join(parts, ", "))
}

// EventLine is what kubectl prints of an object in a dry run.
func EventLine(e report.Event) string {
	if e.Action == report.Done {
		return summary(e) + dryRunSuffix
	}
	s := eventThing(e) + " " + said(e) + dryRunSuffix
	if e.Next != "" {
		s += ": " + e.Next
	}
	return s
}

// ProblemPrefix is the word before problems where names are printed.
const ProblemPrefix = "problem/"
