package repair

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/executor"
	"github.com/akash-net/kubectl-akash-net/engine"
	"github.com/akash-net/kubectl-akash-net/engine/observed"
	"github.com/akash-net/kubectl-akash-net/engine/plan"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/managed"
	"github.com/akash-net/kubectl-akash-net/state"
)

// edit is one write of an object: what a field manager applies, whoever has set that, or a patch of the object, or of a subresource. A zero
// one writes nothing.
type edit struct {
	manager     string
	applies     *unstructured.Unstructured
	patch       map[string]any
	subresource []string
}

// editing returns the write of an object as it is now.
type editing func(*repair, *state.Fix, *unstructured.Unstructured) (edit, error)

// edits are the writes of single objects that fix problems, one after the other. The first one is pinned to the object as the problem was
// found, the others to what it said when the one before had been written.
var edits = map[state.Way][]editing{
	state.RewriteRoute:      {rewriteRoute},
	state.SetSharingKey:     {setSharingKey},
	state.AskAddress:        {askAddress, dropOtherGrant},
	state.DropGrant:         {dropGrant},
	state.ClearReports:      {clearReports},
	state.RestoreMarks:      {restoreMarks},
	state.DropManagedFields: {dropManagedFields, restoreMarks},
}

// edit fixes a problem by writes of an object.
func (r *repair) edit(ctx context.Context, f *state.Fix) error {
	kind, live := kinds.Of(f.Object().Kind), r.live(f.Object())
	for i, of := range edits[f.Do] {
		unclear := false
		err := r.command.Cluster.Rewrite(ctx, kind, live, func(_ context.Context, now *unstructured.Unstructured) (func(context.Context) error, error) {
			e, err := of(r, f, now)
			same := now.GetResourceVersion() == live.GetResourceVersion() || i > 0 && engine.SameRoute(now, live) // a controller writes the status
			switch done := e.isDone(kind, now); {
			case !same && (!unclear || !done):
				return nil, report.ErrChanged
			case err != nil || done:
				return nil, err
			}
			return func(ctx context.Context) error {
				err := r.send(ctx, kind, now, e)
				unclear = unclear || err != nil && cluster.IsUnclear(err)
				return err
			}, nil
		})
		switch {
		case errors.Is(err, cluster.ErrMoving):
			return report.ErrChanged
		case err != nil:
			return err
		}
		now, err := r.command.Cluster.Get(ctx, kind, live.GetNamespace(), live.GetName())
		if err != nil || now == nil || now.GetUID() != live.GetUID() {
			return err
		}
		live, r.snapshot = now, r.snapshot.With(kind, now.GetNamespace(), now.GetName(), now) // other fixes of the object write over that
	}
	return nil
}

// isDone reports whether an object is as an edit makes it.
func (e edit) isDone(kind kinds.Kind, now *unstructured.Unstructured) bool {
	return e.patch == nil && (e.applies == nil || plan.Unchanged(cluster.Applicable(kind, e.applies), now, e.manager))
}

// send sends an edit, pinned to the object as it is now.
func (r *repair) send(ctx context.Context, kind kinds.Kind, now *unstructured.Unstructured, e edit) error {
	c, resource := r.command.Cluster, kind.Resource()
	if e.applies != nil {
		_, _, err := c.As(e.manager).ApplyOver(ctx, cluster.Applicable(kind, e.applies), now, true)
		return c.Explain(err, "patch", resource)
	}
	resource.Resource = strings.Join(append([]string{resource.Resource}, e.subresource...), "/")
	return c.Explain(c.As(lease.FieldManager).MergePinned(ctx, kind, now, e.patch, e.subresource...), "patch", resource)
}

// rewriteRoute sets the backend of a route to that of the claim, and leaves everything else.
func rewriteRoute(_ *repair, f *state.Fix, now *unstructured.Unstructured) (edit, error) {
	o := executor.Applied(now)
	if err := state.SetBackend(o, f.Part.Service, f.Part.Port); err != nil {
		return edit{}, fmt.Errorf("%s %s/%s: %w", f.Object().Kind, now.GetNamespace(), now.GetName(), err)
	}
	return edit{manager: lease.FieldManager, applies: o}, nil
}

func setSharingKey(r *repair, f *state.Fix, now *unstructured.Unstructured) (edit, error) {
	return r.asks(now, "allow-shared-ip", f.Value)
}

func askAddress(r *repair, f *state.Fix, now *unstructured.Unstructured) (edit, error) {
	return r.asks(now, "loadBalancerIPs", f.Address.String())
}

// asks changes one of the annotations by which a Service asks MetalLB for something, and leaves everything else.
func (r *repair) asks(now *unstructured.Unstructured, annotation, value string) (edit, error) {
	o := executor.AppliedOnly(now)
	annotations := o.GetAnnotations()
	annotations[r.command.Options.Config.IP.AnnotationPrefix+"/"+annotation] = value
	o.SetAnnotations(annotations)
	return edit{manager: lease.FieldManager, applies: o}, executor.LeaveGiven(o, now)
}

// dropOtherGrant removes the grant of another address of the family than the one that a Service asks for.
func dropOtherGrant(r *repair, f *state.Fix, now *unstructured.Unstructured) (edit, error) {
	uses := state.AddressUses(now)
	if !slices.ContainsFunc(uses, func(u state.Use) bool { return !u.Granted && u.Address == f.Address }) {
		return edit{}, report.ErrChanged
	}
	other := func(u state.Use) bool {
		return u.Granted && u.Address != f.Address && u.Address.BitLen() == f.Address.BitLen()
	}
	if !slices.ContainsFunc(uses, other) {
		return edit{}, nil
	}
	return dropGrant(r, f, now)
}

// dropGrant removes the granted addresses from a Service's status. The load balancer then grants what the Service asks for.
func dropGrant(_ *repair, _ *state.Fix, now *unstructured.Unstructured) (edit, error) {
	if !slices.ContainsFunc(state.AddressUses(now), func(u state.Use) bool { return u.Granted }) {
		return edit{}, nil
	}
	return edit{patch: map[string]any{"status": map[string]any{"loadBalancer": nil}}, subresource: []string{"status"}}, nil
}

// clearReports removes stale reports from a route's status.
func clearReports(r *repair, _ *state.Fix, now *unstructured.Unstructured) (edit, error) {
	field, kept := state.WithoutStale(now, r.routers)
	if entries, _, _ := unstructured.NestedSlice(now.Object, "status", field); len(kept) == len(entries) {
		return edit{}, nil
	}
	return edit{patch: map[string]any{"status": map[string]any{field: kept}}, subresource: []string{"status"}}, nil
}

// dropManagedFields removes managed fields of other API versions from an object: the API server fails every apply because of them
// (kubernetes/kubernetes#111937).
func dropManagedFields(_ *repair, f *state.Fix, now *unstructured.Unstructured) (edit, error) {
	kept, dropped := managed.OfVersion(now, kinds.Of(f.Object().Kind).GroupVersion())
	if dropped == 0 {
		return edit{}, nil
	}
	if len(kept) == 0 {
		kept = []metav1.ManagedFieldsEntry{{}} // the API server ignores an empty list
	}
	return edit{patch: map[string]any{"metadata": map[string]any{"managedFields": kept}}}, nil
}

// restoreMarks applies an object as it is, with the marks that it has lost.
func restoreMarks(r *repair, f *state.Fix, now *unstructured.Unstructured) (edit, error) {
	whose, kind := r.snapshot.Ownership(now), kinds.Of(f.Object().Kind)
	if len(whose.Lost) == 0 {
		return edit{}, nil
	}
	manager := observed.ManagerOf(kind, whose.Lease.Group())
	o, err := executor.Marked(kind, now, whose.Lease, manager, f.Value)
	return edit{manager: manager, applies: o}, err
}
