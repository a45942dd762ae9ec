package apply

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/plan"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// executor carries out what the work on one lease writes. It creates, applies and deletes objects, pinned to what was
// read, sends again what may not have taken effect, knows what it has done, to take it back, and tells of it. It makes
// no change that is not in the plan which is carried out. Whether anything is kept is the business of the connection:
// that of a dry run answers as if it were.
type executor struct {
	*Command
	by    decisions
	req   state.Request
	group lease.Group
	// only are the changes that may be made, where a plan is carried out; nil where any may.
	only     []plan.Change
	snapshot *snapshot
	start    time.Time

	// yielding is held while a route goes for a new one.
	yielding sync.Mutex

	mu      sync.Mutex
	changed bool
	// changes are what has been changed, as "host/shop.example.com claimed".
	changes []string
	// told are the things that were said to be withheld.
	told map[string]bool
	// lost is true once another command has taken this one for dead.
	lost bool
	// quiet work tells nothing of its own.
	quiet bool
	// made are the objects that were created, altered those that were changed, removed those that were deleted.
	made    []madeObject
	altered []alteredObject
	removed map[types.UID]bool
	// leaving are the objects among the deleted that finalizers keep, until they are seen to be gone.
	leaving []owned
	// unsure are objects, by what they are called, of which no answer says whether this work has made them.
	unsure map[string]bool
	// takenBack are the kinds of the objects that were made and taken back.
	takenBack []kinds.Kind
	// pins are the resource versions to which the writes of some objects are pinned, by the object.
	pins map[string]string
	// keptFor are objects of the lease that stay because they serve for another.
	keptFor map[types.UID]bool
	// until is when the work has waited long enough; it is set when it first waits.
	until time.Time
}

// decisions are what the work on a lease decides of its writes.
type decisions interface {
	// find is what was read under an object's name, nil for nothing.
	find(o render.Object) *unstructured.Unstructured
	// manager is the field manager under which an object is written.
	manager(o render.Object) string
	// refused deals with an object of which another manager owns fields; it may take it over.
	refused(ctx context.Context, o render.Object, err error) (taken bool, _ error)
	// sendAgain deals with an object that somebody else has made since it was read.
	sendAgain(ctx context.Context, o render.Object) (Action, error)
	// keepForOthers leaves out the objects that serve for another lease.
	keepForOthers(ctx context.Context, objects []owned) ([]owned, error)
	// stillMine is true for an object that was made and on which nobody else relies.
	stillMine(ctx context.Context, m madeObject, now *unstructured.Unstructured) (bool, error)
	// summary is how the lease stands.
	summary() *Summary
}

func newExecutor(c *Command, req state.Request) *executor {
	return &executor{
		Command: c, req: req, group: req.Lease.Group(), start: time.Now(),
		removed: map[types.UID]bool{}, pins: map[string]string{}, keptFor: map[types.UID]bool{}, unsure: map[string]bool{}, told: map[string]bool{},
	}
}

// event reports one thing; events of different leases never mix within a line.
func (x *executor) event(action Action, kind, namespace, name, message string) {
	if x.quiet {
		return
	}
	e := Event{Time: time.Now(), Action: action, Lease: x.req.Lease, Kind: kind, Namespace: namespace, Name: name, Message: message}
	if action == Withheld {
		x.mu.Lock()
		again := x.told[kind+"/"+name]
		x.told[kind+"/"+name] = true
		x.mu.Unlock()
		if again {
			return
		}
	}
	switch action {
	case Unchanged, Withheld, Waiting, Granted, Accepted, Served, Left, Lacks, Free, Held, Proved, Unproved, Rolling, Ready:
	case Done:
		e.Summary = x.by.summary()
	default:
		x.mu.Lock()
		x.changed = true
		x.changes = append(x.changes, fmt.Sprintf("%s/%s %s", kind, name, action))
		x.mu.Unlock()
	}
	x.send(e)
}

// wrote notes that the run has changed something of which no event tells.
func (x *executor) wrote(err error) {
	if err == nil {
		x.mu.Lock()
		x.changed = true
		x.mu.Unlock()
	}
}

// change is called before each change that the run makes. Making a plan records it; carrying one out refuses a
// change that the plan does not have. Any other run does not even describe it.
func (x *executor) change(describe func() plan.Change) error {
	if x.opts.Plan == nil && x.only == nil {
		return nil
	}
	c := describe()
	if x.opts.Plan != nil && !x.quiet {
		x.report.Lock()
		defer x.report.Unlock()
		x.opts.Plan(x.req.Lease, c)
	}
	if x.only == nil || slices.ContainsFunc(x.only, c.Same) {
		return nil
	}
	return x.moved(c)
}

func (x *executor) moved(c plan.Change) error {
	return &MovedError{Lease: x.req.Lease, Moved: []string{c.ID()}, Kept: x.opts.heal}
}

// changeClaim is change of what the lease holds of a thing. A mark or a note changes nothing of that.
func (x *executor) changeClaim(action plan.Action, c *state.Claim, after []state.Part) error {
	was, is := planParts(c.PartsOf(x.group)), planParts(after)
	if maps.Equal(was, is) {
		return nil
	}
	return x.change(func() plan.Change {
		return plan.Change{Action: action, Kind: string(c.Kind), Name: c.Thing, UID: c.UID, ResourceVersion: c.ResourceVersion, Before: was, After: is}
	})
}

// writeOf describes the write of an object; live is what is there, nil for nothing.
func (x *executor) writeOf(o render.Object, live *unstructured.Unstructured) func() plan.Change {
	return func() plan.Change {
		return plan.Write(o.Kind.Singular, cluster.Rendered(o).Object, live, x.by.manager(o))
	}
}

// looks bounds how often all of a lease is looked at again because something of it has changed.
const looks = 10

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

// failed tells of the error that has ended the work on the lease. What it returns names the lease; it is nil
// where there was no error.
func (r *executor) failed(err error) error {
	if err == nil {
		return nil
	}
	r.send(Event{Time: time.Now(), Action: Failed, Lease: r.req.Lease, Kind: "lease", Name: r.req.Lease.String(), Err: err})
	r.mu.Lock()
	defer r.mu.Unlock()
	fs, ok := errors.AsType[Failures](err)
	if !ok {
		fs = Failures{err}
	}
	named := make(Failures, len(fs))
	for i, e := range fs {
		named[i] = &LeaseError{Lease: r.group, Err: e, Done: slices.Clone(r.changes)}
	}
	return named
}
