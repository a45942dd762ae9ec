// Package executor carries out what is written for one lease: each write is pinned to what was read, sent again where its
// answer was lost, reported, and remembered, so that it can be taken back.
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
	"github.com/akash-net/kubectl-akash-net/apply/report"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/plan"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
)

// Executor carries out what the work on one lease writes. It creates, applies and deletes objects, pinned to what was
// read, sends again what may not have taken effect, knows what it has done, to take it back, and tells of it. It makes
// no change that is not in the plan which is carried out. Whether anything is kept is the business of the connection:
// that of a dry run answers as if it were.
type Executor struct {
	*command.Command
	By      decisions
	Request state.Request
	Group   lease.Group
	// Only are the changes that may be made, where a plan is carried out; nil where any may.
	Only     []plan.Change
	Snapshot *observed.Snapshot
	start    time.Time

	mu      sync.Mutex
	changed bool
	// changes are what has been changed, as "host/shop.example.com claimed".
	changes []string
	// told are the things that were said to be withheld.
	told map[string]bool
	// lost is true once another command has taken this one for dead.
	lost bool
	// Quiet work tells nothing of its own.
	Quiet bool
	// made are the objects that were created, altered those that were changed, removed those that were deleted.
	made    []MadeObject
	altered []alteredObject
	removed map[types.UID]bool
	// leaving are the objects among the deleted that finalizers keep, until they are seen to be gone.
	leaving []observed.Owned
	// unsure are objects, by what they are called, of which no answer says whether this work has made them.
	unsure map[string]bool
	// takenBack are the kinds of the objects that were made and taken back.
	takenBack []kinds.Kind
	// pins are the resource versions to which the writes of some objects are pinned, by the object.
	pins map[string]string
	// until is when the work has waited long enough; it is set when it first waits.
	until time.Time
}

// decisions are what the work on a lease decides of its writes.
type decisions interface {
	// Find is what was read under an object's name, nil for nothing.
	Find(o render.Object) *unstructured.Unstructured
	// Manager is the field manager under which an object is written.
	Manager(o render.Object) string
	// Refused deals with an object of which another manager owns fields; it may take it over.
	Refused(ctx context.Context, o render.Object, err error) (taken bool, _ error)
	// SendAgain deals with an object that somebody else has made since it was read.
	SendAgain(ctx context.Context, o render.Object) (report.Action, error)
	// KeepForOthers leaves out the objects that serve for another lease.
	KeepForOthers(ctx context.Context, objects []observed.Owned) ([]observed.Owned, error)
	// StillMine is true for an object that was made and on which nobody else relies.
	StillMine(ctx context.Context, m MadeObject, now *unstructured.Unstructured) (bool, error)
	// Summary is how the lease stands.
	Summary() *report.Summary
}

// New begins the work on one lease.
func New(c *command.Command, req state.Request) *Executor {
	return &Executor{
		Command: c, Request: req, Group: req.Lease.Group(), start: time.Now(),
		removed: map[types.UID]bool{}, pins: map[string]string{}, unsure: map[string]bool{}, told: map[string]bool{},
	}
}

// Event reports one thing; events of different leases never mix within a line.
func (x *Executor) Event(action report.Action, kind, namespace, name, message string) {
	if x.Quiet {
		return
	}
	e := report.Event{Time: time.Now(), Action: action, Lease: x.Request.Lease, Kind: kind, Namespace: namespace, Name: name, Message: message}
	if action == report.Withheld {
		x.mu.Lock()
		again := x.told[kind+"/"+name]
		x.told[kind+"/"+name] = true
		x.mu.Unlock()
		if again {
			return
		}
	}
	switch action {
	case report.Unchanged, report.Withheld, report.Waiting, report.Granted, report.Accepted, report.Served, report.Left, report.Lacks, report.Free, report.Held, report.Proved, report.Unproved, report.Rolling, report.Ready:
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

// Wrote notes that the run has changed something of which no event tells.
func (x *Executor) Wrote(err error) {
	if err == nil {
		x.mu.Lock()
		x.changed = true
		x.mu.Unlock()
	}
}

// Change is called before each change that the run makes. Making a plan records it; carrying one out refuses a
// change that the plan does not have. Any other run does not even describe it.
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

func (x *Executor) moved(c plan.Change) error {
	return &report.MovedError{Lease: x.Request.Lease, Moved: []string{c.ID()}, Kept: x.Options.Heal}
}

// ChangeClaim is change of what the lease holds of a thing. A mark or a note changes nothing of that.
func (x *Executor) ChangeClaim(action plan.Action, c *state.Claim, after []state.Part) error {
	was, is := planParts(c.PartsOf(x.Group)), planParts(after)
	if maps.Equal(was, is) {
		return nil
	}
	return x.Change(func() plan.Change {
		return plan.Change{Action: action, Kind: string(c.Kind), Name: c.Thing, UID: c.UID, ResourceVersion: c.ResourceVersion, Before: was, After: is}
	})
}

// WriteOf describes the write of an object; live is what is there, nil for nothing.
func (x *Executor) WriteOf(o render.Object, live *unstructured.Unstructured) func() plan.Change {
	return func() plan.Change {
		return plan.Write(o.Kind.Singular, cluster.Rendered(o).Object, live, x.By.Manager(o))
	}
}

// Looks bounds how often all of a lease is looked at again because something of it has changed.
const Looks = 10

// planParts are the parts of a claim as a plan shows them: the path or the port, and where it leads; nil
// for none.
func planParts(parts []state.Part) map[string]any {
	out := map[string]any{}
	for _, p := range parts {
		if p.For != "" { // a note holds nothing
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

// Failed tells of the error that has ended the work on the lease. What it returns names the lease; it is nil
// where there was no error.
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
		named[i] = &report.LeaseError{Lease: x.Group, Err: e, Done: slices.Clone(x.changes)}
	}
	return named
}
