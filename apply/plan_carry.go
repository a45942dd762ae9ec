package apply

import (
	"context"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/plan"
	"github.com/akash-net/kubectl-akash-net/render"
)

// MovedError says that the cluster is not as it was when a plan was made. Lease is the zero ID where it was
// found before anything was written; otherwise what was written for the lease was taken back.
type MovedError struct {
	Lease lease.ID
	// Moved are the objects and things that have changed, or would be changed otherwise.
	Moved []string
}

func (e *MovedError) Error() string {
	return "the plan is out of date: " + strings.Join(e.Moved, ", ") + " changed since it was made, or would be changed otherwise. Make a new plan with: kubectl akash-net diff -o json"
}

// CarryOut makes the changes of a plan and no others. Where anything that the plan rests on has moved since it
// was made, the error is a MovedError: nothing is written where that shows before the first write; each
// write is pinned to what the plan rests on, and one that is refused undoes the lease's.
// The definitions are those of the plan's leases, in their order.
func (a *Applier) CarryOut(ctx context.Context, p plan.Plan, defs []*lease.Definition) error {
	now, err := Plan(ctx, a.cluster, a.opts, defs)
	if err != nil {
		return err
	}
	var moved []string
	for i, l := range p.Leases {
		moved = append(moved, l.Moved(now.Leases[i])...)
	}
	if len(moved) > 0 {
		return &MovedError{Moved: moved}
	}
	opts := a.opts
	opts.Only = &now // the same changes, of what is there now
	return New(a.cluster, opts).Apply(ctx, defs)
}

// changesOf are the changes that a run on a lease may make; nil where it may make any.
func (o Options) changesOf(id lease.ID) []plan.Change {
	if o.Only == nil {
		return nil
	}
	for _, l := range o.Only.Leases {
		if l.Lease == id.String() {
			return append([]plan.Change{}, l.Changes...)
		}
	}
	return []plan.Change{}
}

// change is called before each change that the run makes. Making a plan records it; carrying one out refuses a
// change that the plan does not have. Any other run does not even describe it.
func (r *run) change(describe func() plan.Change) error {
	if r.opts.Plan == nil && r.only == nil {
		return nil
	}
	c := describe()
	if r.opts.Plan != nil && !r.quiet {
		r.report.Lock()
		defer r.report.Unlock()
		r.opts.Plan(r.req.Lease, c)
	}
	if r.only == nil || slices.ContainsFunc(r.only, c.Same) {
		return nil
	}
	return r.moved(c)
}

func (r *run) moved(c plan.Change) error {
	return &MovedError{Lease: r.req.Lease, Moved: []string{c.ID()}}
}

// patchMoved sends an object again of which a write was refused because somebody has written it since it was read, as
// long as the plan holds: controllers write its status.
func (r *run) patchMoved(ctx context.Context, o render.Object) (meta *metav1.PartialObjectMetadata, made bool, err error) {
	for range looks {
		live, err := r.cluster.Get(ctx, o.Kind, o.Namespace, o.Name)
		if err != nil {
			return nil, false, err
		}
		if err := r.change(r.writeOf(o, live)); err != nil {
			return nil, false, err
		}
		body := cluster.Rendered(o)
		body.SetResourceVersion(pinOf(live))
		meta, made, err = r.patch(ctx, render.Object{Kind: o.Kind, Namespace: o.Namespace, Name: o.Name, Config: body})
		if !cluster.IsOvertaken(err) {
			return meta, made, err
		}
	}
	return nil, false, r.moved(plan.Change{Kind: o.Kind.Singular, Namespace: o.Namespace, Name: o.Name})
}
