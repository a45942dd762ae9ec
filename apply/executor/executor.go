// Package executor is the work of a command on one lease as people see it: what happened, what has changed, and how long
// it may wait. It deletes single objects.
package executor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/engine/observed"
	"github.com/akash-net/kubectl-akash-net/engine/plan"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/managed"
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
	e.Time, e.Lease, e.Homes = time.Now(), x.Request.Lease, x.homes()
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

// homes returns the leases of the deployment group that have a namespace, nil if that was not read.
func (x *Executor) homes() []lease.ID {
	if x.Snapshot == nil {
		return nil
	}
	homes := []lease.ID{}
	if _, there := x.Snapshot.Namespace(x.Request.Lease.Namespace()); there {
		homes = append(homes, x.Request.Lease)
	}
	for _, name := range x.Snapshot.NamespacesOf(x.Group) {
		if id, ok := x.Snapshot.Tenant(name); ok && id.Namespace() == name && !slices.Contains(homes, id) {
			homes = append(homes, id)
		}
	}
	return homes
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
		Time: time.Now(), Action: report.Failed, Lease: x.Request.Lease, Homes: x.homes(), Kind: "lease", Name: x.Request.Lease.String(), Err: err, Rest: rest,
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

// AppliedOnly returns the fields of a live route that this program applies, pinned to the live version; to apply them
// changes nothing. Without a field of the spec that the program owns, as on a route of Akash's provider, the spec is
// left out.
func AppliedOnly(live *unstructured.Unstructured) *unstructured.Unstructured {
	o := Applied(live)
	if own, _ := managed.Applied(live, lease.FieldManager); !own.Owns("spec") {
		unstructured.RemoveNestedField(o.Object, "spec")
	}
	o.SetUID(live.GetUID())
	o.SetResourceVersion(live.GetResourceVersion())
	return o
}

// LeaveGiven removes the fields of a Service that the API server has assigned, so that an apply does not own them. It
// keeps the fields that the program owns according to the managed fields; if there are none, it removes only the
// cluster IPs and the node ports.
func LeaveGiven(service, live *unstructured.Unstructured) error {
	own, err := cluster.Owned(live, lease.FieldManager)
	if err != nil {
		return err
	}
	if spec, ok := own["spec"].(map[string]any); ok && len(spec) > 0 {
		service.Object["spec"] = spec
		return nil
	}
	unstructured.RemoveNestedField(service.Object, "spec", "clusterIP")
	unstructured.RemoveNestedField(service.Object, "spec", "clusterIPs")
	spec, _ := service.Object["spec"].(map[string]any)
	ports, _ := spec["ports"].([]any)
	for _, port := range ports {
		if port, ok := port.(map[string]any); ok {
			unstructured.RemoveNestedField(port, "nodePort")
		}
	}
	return nil
}

// Applied returns what this program sends to apply a live object unchanged: its spec, and the labels and annotations
// that the program owns.
func Applied(live *unstructured.Unstructured) *unstructured.Unstructured {
	return AppliedBy(live, lease.FieldManager)
}

// AppliedBy is Applied for another field manager.
func AppliedBy(live *unstructured.Unstructured, manager string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{}}
	o.SetGroupVersionKind(live.GroupVersionKind())
	o.SetNamespace(live.GetNamespace())
	o.SetName(live.GetName())
	own, _ := managed.Applied(live, manager)
	o.SetAnnotations(only(live.GetAnnotations(), own.Names("metadata", "annotations")))
	o.SetLabels(only(live.GetLabels(), own.Names("metadata", "labels")))
	o.Object["spec"] = live.DeepCopy().Object["spec"]
	return o
}

// Marked is AppliedBy with the marks by which this program knows the object of a lease; definition is the hash of the lease's definition for one
// that has lost its own.
func Marked(kind kinds.Kind, live *unstructured.Unstructured, id lease.ID, manager, definition string) (*unstructured.Unstructured, error) {
	o := AppliedBy(live, manager)
	if kind == kinds.Service {
		if err := LeaveGiven(o, live); err != nil {
			return nil, err
		}
	}
	annotations := o.GetAnnotations()
	for key, value := range live.GetAnnotations() {
		if strings.HasPrefix(key, lease.Domain+"/") {
			annotations[key] = value
		}
	}
	if annotations[lease.AnnotationDefinition] == "" {
		annotations[lease.AnnotationDefinition] = definition
	}
	labels := o.GetLabels()
	maps.Copy(labels, markLabels(id, live.GetLabels(), slices.Contains(kinds.ClaimLike, kind)))
	o.SetAnnotations(annotations)
	o.SetLabels(labels)
	return o, nil
}

// markLabels returns the labels that name the lease. It includes Akash's label only if the object has it or Akash's
// operators read all objects of the kind: they stop at others.
func markLabels(id lease.ID, has map[string]string, claimLike bool) map[string]string {
	labels := id.Labels()
	if has[lease.LabelManaged] == "" && !claimLike {
		delete(labels, lease.LabelManaged)
		labels[lease.LabelOurs] = "true"
	}
	return labels
}

// only returns the entries whose names are in owned.
func only(all map[string]string, owned map[string]bool) map[string]string {
	kept := map[string]string{}
	for name, value := range all {
		if owned[name] {
			kept[name] = value
		}
	}
	return kept
}

// Remove deletes an object unless it belongs to another tenant by now, or is still used. isFree is asked after each version of the object
// was read, and the delete is pinned to that version.
func (x *Executor) Remove(ctx context.Context, o observed.Object, action report.Action, isFree func(context.Context) (bool, error)) error {
	deleted, err := x.Command.Cluster.Remove(ctx, o.Kind, o.Live, func(ctx context.Context, live *unstructured.Unstructured) (bool, error) {
		if !state.SameTenant(o.Live, live) {
			return false, nil
		}
		if free, err := isFree(ctx); err != nil || !free {
			return false, err
		}
		return true, x.Change(func() plan.Change { return plan.Remove(o.Kind.Singular, live, "") })
	})
	if deleted != nil {
		action, message := report.Deletion(action, deleted, "")
		x.Event(action, o.Kind.Singular, deleted.GetNamespace(), deleted.GetName(), message)
	}
	if errors.Is(err, cluster.ErrMoving) {
		return &report.MovingError{Done: "deleted", Kind: o.Kind.Singular, Namespace: o.Live.GetNamespace(), Name: o.Live.GetName(), Why: err.Error()}
	}
	return err
}

// RemoveAdvertisements deletes this program's advertisements of a pool, unless they are still used.
func (x *Executor) RemoveAdvertisements(ctx context.Context, namespace, pool string, action report.Action, isFree func(context.Context) (bool, error)) error {
	for _, kind := range kinds.Advertisements {
		if live := x.Snapshot.At(kind, namespace, pool); live != nil && live.GetLabels()[lease.LabelOurs] == "true" {
			if err := x.Remove(ctx, observed.Object{Kind: kind, Live: live}, action, isFree); err != nil {
				return err
			}
		}
	}
	return nil
}

// Withdraw removes this program's fields from an object that stays because Akash's provider created it. It changes
// nothing of an object that this program created and Akash's operator keeps: the program owns most of its fields, and
// the operator needs them.
func (x *Executor) Withdraw(ctx context.Context, o observed.Object) error {
	if x.Snapshot.Ownership(o.Live).Declared {
		if err := x.Command.Cluster.As(observed.ManagerOf(o.Kind, o.Group)).LetGo(ctx, o.Kind, o.Live); err != nil {
			return err
		}
	}
	x.Event(report.Kept, o.Kind.Singular, o.Live.GetNamespace(), o.Live.GetName(), "Akash's provider declares it too")
	return nil
}

// Changed reports whether the run has changed anything.
func (x *Executor) Changed() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.changed
}

// Begin says that the command turns to the lease, of several: the time that it takes is its own from then on.
func (x *Executor) Begin() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.begun.IsZero() {
		x.begun = time.Now()
	}
}

// Took returns how long the run on the lease has lasted so far.
func (x *Executor) Took() time.Duration {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.begun.IsZero() {
		return time.Since(x.begun)
	}
	return time.Since(x.start)
}

// Ends says how the lease stands when the work on it has ended.
func (x *Executor) Ends(rest report.Rest) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.rest = &rest
}

// IsNew reports whether the lease had nothing before the run: neither claims nor objects of anybody.
func (x *Executor) IsNew() bool {
	s := x.Snapshot
	return s != nil && !x.Command.Options.Adopt && len(s.Claims.Held(x.Group)) == 0 && !s.Written.Has(x.Group) && !s.Theirs.Has(x.Group) && !s.Shared.Has(x.Group)
}

// undoTimeout limits how long a run takes to undo its writes.
const undoTimeout = 30 * time.Second

// errUndoTimeout is the cause of an undo that did not end in time.
var errUndoTimeout = fmt.Errorf("the API server did not answer within %s", undoTimeout)

// UndoError returns an error of an undo. It names the reason if the time was over.
func UndoError(ctx context.Context, err error) error {
	if err != nil && errors.Is(context.Cause(ctx), errUndoTimeout) {
		return errUndoTimeout
	}
	return err
}

// UndoContext returns a context for undoing writes: the run's context may have been cancelled already.
func UndoContext(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(context.WithoutCancel(ctx), undoTimeout, errUndoTimeout)
}

// waitInterval is the time between two looks at what a run waits for.
const waitInterval = 200 * time.Millisecond

// Await is AwaitEvery for what takes a request or two to look at.
func (x *Executor) Await(ctx context.Context, what string, lacking func(context.Context) ([]string, error)) error {
	return x.AwaitEvery(ctx, waitInterval, what, nil, lacking)
}

// AwaitEvery asks until nothing is lacking any more what the run waits for, at least once, and at most until the run's wait time is over:
// then the error has what was lacking last. What says for what it waits, changes is that of WaitEvery.
func (x *Executor) AwaitEvery(ctx context.Context, interval time.Duration, what string, changes func(context.Context) <-chan struct{}, lacking func(context.Context) ([]string, error)) error {
	defer x.waits(what)()
	var last []string
	err := x.Command.WaitEvery(ctx, interval, x.Left(), changes, func(ctx context.Context) (bool, error) {
		now, err := lacking(ctx)
		if err != nil { // the time may be over: what was lacking last stays
			return false, err
		}
		last = now
		return len(now) == 0, nil
	})
	switch {
	case err != nil && ctx.Err() != nil: // it was interrupted, whatever a request says that was under way
		return ctx.Err()
	case errors.Is(err, report.ErrTimedOut):
		return &report.TimeoutError{After: x.Command.Options.Wait.Round(time.Millisecond), Waiting: last}
	}
	return err
}

// waits tells for what the run waits, since when and how long at most, unless over is called soon. Nothing is told after over has
// returned.
func (x *Executor) waits(what string) (over func()) {
	left := x.Left()
	if left <= report.Patience || !x.Command.Cluster.Waits() {
		return func() {}
	}
	since := time.Now()
	var mu sync.Mutex
	isOver := false
	timer := time.AfterFunc(report.Patience, func() {
		mu.Lock()
		defer mu.Unlock()
		if !isOver {
			x.Send(report.Event{
				Action: report.Waiting, Kind: "lease", Name: x.Group.String(), Message: "for " + what, Since: since, Until: since.Add(left),
			})
		}
	})
	return func() {
		timer.Stop()
		mu.Lock()
		defer mu.Unlock()
		isOver = true
	}
}

// Left returns the rest of the run's wait time (--wait). All waits share it; it starts with the first one.
func (x *Executor) Left() time.Duration {
	if x.Command.Options.Wait == 0 {
		return 0
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.until.IsZero() {
		x.until = time.Now().Add(x.Command.Options.Wait)
	}
	return max(time.Until(x.until), 0)
}

// WaitAnew sets the rest of the run's wait time.
func (x *Executor) WaitAnew(rest time.Duration) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.until = time.Now().Add(rest)
}
