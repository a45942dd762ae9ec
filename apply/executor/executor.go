// Package executor performs the writes for one lease: it pins each write to the version that was read, retries it if
// the answer was lost, reports it, and remembers it so that it can be undone.
package executor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/plan"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/state"
)

// Executor performs the writes for one lease. If the run carries out a plan, it refuses any change that is not in the
// plan. It does not know of dry runs: the connection of a dry run answers writes without making them.
type Executor struct {
	*command.Command
	By      decisions
	Request state.Request
	Group   lease.Group
	// Only lists the permitted changes of a run that carries out a plan; nil permits any.
	Only     []plan.Change
	Snapshot *observed.Snapshot
	start    time.Time

	mu      sync.Mutex
	changed bool
	// changes describe what the run has changed, as "host/shop.example.com claimed".
	changes []string
	// reported are the withheld things about which the run has sent an event.
	reported map[string]bool
	// lost is true once another command has taken this one for dead.
	lost bool
	// Quiet suppresses events.
	Quiet bool
	// made are the created objects, altered the changed ones, removed the UIDs of the deleted ones.
	made    []MadeObject
	altered []alteredObject
	removed map[types.UID]bool
	// leaving are the deleted objects that finalizers keep and that the run has not seen gone yet.
	leaving []observed.Owned
	// unsure are the objects, by kind and name, that this run or somebody else may have created: the answer was lost.
	unsure map[string]bool
	// takenBack are the kinds of the objects that were created and retracted.
	takenBack []kinds.Kind
	// pins are those that writes must have, by kind and name of the object.
	pins map[string]Pin
	// until is the end of all waits; the first wait sets it.
	until time.Time
}

// decisions are the rules of the run for its writes.
type decisions interface {
	// Find returns the object as it was read, nil if there was none.
	Find(o render.Object) *unstructured.Unstructured
	// Manager returns the field manager under which an object is applied.
	Manager(o render.Object) string
	// Refused handles a conflict with another field manager; taken is true if it has taken the object over.
	Refused(ctx context.Context, o render.Object, err error) (taken bool, _ error)
	// SendAgain applies an object that somebody else has created since it was read.
	SendAgain(ctx context.Context, o render.Object) (report.Action, error)
	// KeepForOthers returns the objects that do not serve another lease.
	KeepForOthers(ctx context.Context, objects []observed.Owned) ([]observed.Owned, error)
	// StillMine reports whether nobody else relies on an object that the run has created.
	StillMine(ctx context.Context, m MadeObject, now *unstructured.Unstructured) (bool, error)
	// Summary returns the counts for the last event of the lease.
	Summary() *report.Summary
}

// New returns an executor for one lease.
func New(c *command.Command, req state.Request) *Executor {
	return &Executor{
		Command: c, Request: req, Group: req.Lease.Group(), start: time.Now(),
		removed: map[types.UID]bool{}, pins: map[string]Pin{}, unsure: map[string]bool{}, reported: map[string]bool{},
	}
}

// Event sends an event, and counts its action as a change if it is one. A withheld thing is reported once.
func (x *Executor) Event(action report.Action, kind, namespace, name, message string) {
	if x.Quiet {
		return
	}
	e := report.Event{Time: time.Now(), Action: action, Lease: x.Request.Lease, Kind: kind, Namespace: namespace, Name: name, Message: message}
	if action == report.Withheld {
		x.mu.Lock()
		again := x.reported[kind+"/"+name]
		x.reported[kind+"/"+name] = true
		x.mu.Unlock()
		if again {
			return
		}
	}
	switch action {
	case report.Unchanged, report.Withheld, report.Waiting, report.Granted, report.Accepted, report.Served, report.Left, report.Lacks,
		report.Free, report.Held, report.Proved, report.Unproved, report.Rolling, report.Ready:
	case report.Done:
		e.Summary = x.By.Summary()
	default:
		x.mu.Lock()
		x.changed = true
		x.changes = append(x.changes, fmt.Sprintf("%s/%s %s", kind, name, action))
		x.mu.Unlock()
	}
	x.Send(e)
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
	if x.Options.Plan == nil && x.Only == nil {
		return nil
	}
	c := describe()
	if x.Options.Plan != nil && !x.Quiet {
		x.Report.Lock()
		defer x.Report.Unlock()
		x.Options.Plan(x.Request.Lease, c)
	}
	if x.Only == nil || slices.ContainsFunc(x.Only, c.Same) {
		return nil
	}
	return x.moved(c)
}

// moved returns the error for a change that is not in the plan.
func (x *Executor) moved(c plan.Change) error {
	return &report.MovedError{Lease: x.Request.Lease, Moved: []string{c.ID()}, Kept: x.Options.Heal}
}

// ChangeClaim is Change for the parts that the lease holds of a claim. A write of marks or notes alone is no change.
func (x *Executor) ChangeClaim(action plan.Action, c *state.Claim, after []state.Part) error {
	was, is := planParts(c.PartsOf(x.Group)), planParts(after)
	if maps.Equal(was, is) {
		return nil
	}
	return x.Change(func() plan.Change {
		return plan.Change{Action: action, Kind: string(c.Kind), Name: c.Thing, UID: c.UID, ResourceVersion: c.ResourceVersion, Before: was, After: is}
	})
}

// WriteOf returns a description for Change of the apply of an object over the live one, which may be nil.
func (x *Executor) WriteOf(o render.Object, live *unstructured.Unstructured) func() plan.Change {
	return func() plan.Change {
		return plan.Write(o.Kind.Singular, cluster.Rendered(o).Object, live, x.By.Manager(o))
	}
}

// Looks limits how often a command reads all of a lease again because something of it has changed.
const Looks = 10

// planParts returns the parts of a claim as a plan shows them: the backend by path or port; nil if there are none.
func planParts(parts []state.Part) map[string]any {
	out := map[string]any{}
	for _, p := range parts {
		if p.For != "" { // a note of a withheld part
			continue
		}
		name, backend := p.Path, ""
		if _, port := p.ProtocolPort(); port != 0 {
			name = p.PortText()
		} else if name == "" {
			name = "/"
		}
		if p.Service != "" {
			backend = fmt.Sprintf("%s:%d", p.Service, p.Port)
		}
		out[name] = backend
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// Failed reports the error that has ended the run, and returns it with the lease and the changes made so far; nil for
// nil.
func (x *Executor) Failed(err error) error {
	if err == nil {
		return nil
	}
	x.Send(report.Event{Time: time.Now(), Action: report.Failed, Lease: x.Request.Lease, Kind: "lease", Name: x.Request.Lease.String(), Err: err})
	x.mu.Lock()
	defer x.mu.Unlock()
	fs, ok := errors.AsType[report.Failures](err)
	if !ok {
		fs = report.Failures{err}
	}
	named := make(report.Failures, len(fs))
	for i, e := range fs {
		named[i] = &report.LeaseError{Lease: x.Group, Err: e, Done: slices.Clone(x.changes), New: x.IsNew()}
	}
	return named
}
