// Package executor is the work of a command on one lease as people see it: what happened, what has changed, and how long
// it may wait. It deletes single objects.
package executor

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/plan"
	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/state"
)

// Executor reports the work on one lease. If the run carries out a plan, it refuses any change that is not in the
// plan. It does not know of dry runs: the connection of a dry run answers writes without making them.
type Executor struct {
	// Command is what the work is part of.
	Command *command.Command
	Request state.Request
	Group   lease.Group
	// Only lists the permitted changes of a run that carries out a plan; nil permits any.
	Only     []plan.Change
	Snapshot *observed.Snapshot
	start    time.Time

	mu sync.Mutex
	// rest is how the lease stands once the work on it has ended; nil where only its changes are known.
	rest *report.Rest
	// begun is when the command turned to the lease, of several; zero before, and for an only lease.
	begun   time.Time
	changed bool
	// changes describe what the run has changed, as "host/shop.example.com claimed".
	changes []string
	// reported are the withheld things about which the run has sent an event.
	reported map[string]bool
	// until is the end of all waits; the first wait sets it.
	until time.Time
}

// New returns an executor for one lease.
func New(c *command.Command, req state.Request) *Executor {
	return &Executor{
		Command: c, Request: req, Group: req.Lease.Group(), start: time.Now(),
		reported: map[string]bool{},
	}
}

// Event sends an event of the lease. A withheld thing is reported once.
func (x *Executor) Event(action report.Action, kind, namespace, name, message string) {
	x.Send(report.Event{Action: action, Kind: kind, Namespace: namespace, Name: name, Message: message})
}

// Send is Event for an event that says more. It counts the action as a change if it is one.
func (x *Executor) Send(e report.Event) {
	e.Time, e.Lease = time.Now(), x.Request.Lease
	if e.Action == report.Withheld {
		x.mu.Lock()
		again := x.reported[e.Kind+"/"+e.Name]
		x.reported[e.Kind+"/"+e.Name] = true
		x.mu.Unlock()
		if again {
			return
		}
	}
	switch e.Action {
	case report.Unchanged, report.Withheld, report.Pruning, report.Waiting, report.Granted, report.Accepted, report.Served, report.Kept, report.Skipped, report.Refused, report.Unconfirmed, report.Lacks,
		report.Free, report.Held, report.Proved, report.Unproved, report.Rolling, report.Ready:
	default:
		x.mu.Lock()
		x.changed = true
		x.changes = append(x.changes, fmt.Sprintf("%s/%s %s", e.Kind, e.Name, e.Action))
		x.mu.Unlock()
	}
	x.Command.Send(e)
}

// Wrote records a change that has no event, unless the write failed.
func (x *Executor) Wrote(err error) {
	if err == nil {
		x.mu.Lock()
		x.changed = true
		x.mu.Unlock()
	}
}

// Change must be called before each change. A run that makes a plan records the change; a run that carries out a plan
// gets an error if the plan does not have the change. Other runs do not call describe.
func (x *Executor) Change(describe func() plan.Change) error {
	if x.Command.Options.Plan == nil && x.Only == nil {
		return nil
	}
	c := describe()
	if x.Command.Options.Plan != nil {
		x.Command.Report.Lock()
		defer x.Command.Report.Unlock()
		x.Command.Options.Plan(x.Request.Lease, c)
	}
	if x.Only == nil || slices.ContainsFunc(x.Only, c.Same) {
		return nil
	}
	return x.moved(c)
}

// moved returns the error for a change that is not in the plan.
func (x *Executor) moved(c plan.Change) error {
	return &report.MovedError{Lease: x.Request.Lease, Moved: []string{c.ID()}, Kept: x.Command.Options.Heal}
}

// Looks limits how often a command reads all of a lease again because something of it has changed.
const Looks = 10

// Failed reports the error that has ended the run, and returns it with the lease and the changes made so far; nil for
// nil.
func (x *Executor) Failed(err error) error {
	if err == nil {
		return nil
	}
	rest, changes := x.stands()
	x.Command.Send(report.Event{
		Time: time.Now(), Action: report.Failed, Lease: x.Request.Lease, Kind: "lease", Name: x.Request.Lease.String(), Err: err, Rest: rest,
	})
	fs, ok := errors.AsType[report.Failures](err)
	if !ok {
		fs = report.Failures{err}
	}
	named := make(report.Failures, len(fs))
	for i, e := range fs {
		named[i] = &report.LeaseError{Lease: x.Group, Err: e, Done: changes, Rest: rest}
	}
	return named
}

// stands returns how the lease stands, and the changes made to it so far.
func (x *Executor) stands() (report.Rest, []string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.rest != nil {
		return *x.rest, slices.Clone(x.changes)
	}
	return report.Rest{Stays: len(x.changes) > 0, Held: true}, slices.Clone(x.changes)
}
