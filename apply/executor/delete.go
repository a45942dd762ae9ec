package executor

import (
	"context"
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/apply/report"
	"github.com/akash-net/kubectl-akash-net/plan"
	"github.com/akash-net/kubectl-akash-net/render"
)

// Remove deletes one object that has not changed hands since it was read.
func (x *Executor) Remove(ctx context.Context, o observed.Owned, action report.Action) error {
	return x.RemoveWhile(ctx, o, action, "", observed.OfTenant(o.Live))
}

// RemoveWhile deletes one object while it may go, with a reason to tell. What the run has removed already
// is left alone.
func (x *Executor) RemoveWhile(ctx context.Context, o observed.Owned, action report.Action, why string, goes observed.MayGo) error {
	if x.removed[o.Live.GetUID()] {
		return nil
	}
	if x.Snapshot.Stays(o) {
		if may, err := goes(ctx, o.Live); err != nil || !may {
			return err
		}
		x.removed[o.Live.GetUID()] = true
		return x.withdraw(ctx, o)
	}
	return x.DeleteWhile(ctx, o, action, why, goes)
}

// RemoveAsRead deletes a route, whoever wrote it, only if it is unchanged since it was read; message goes
// into the event, hint into the error.
func (x *Executor) RemoveAsRead(ctx context.Context, o observed.Owned, message, hint string) error {
	return x.DeleteWhile(ctx, o, report.Deleted, message, func(_ context.Context, now *unstructured.Unstructured) (bool, error) {
		if !SameRoute(now, o.Live) {
			return false, fmt.Errorf("%s %s/%s was changed meanwhile; it stays, and %s", o.Kind.Singular, now.GetNamespace(), now.GetName(), hint)
		}
		return true, nil
	})
}

// withdraw takes back what this program wrote on an object that Akash's provider made, which stays. What
// this program made and Akash's operator keeps is left as it is: most of its fields are only ours, and
// would go with them.
func (x *Executor) withdraw(ctx context.Context, o observed.Owned) error {
	if x.Snapshot.Ownership(o.Live).Declared {
		empty := &unstructured.Unstructured{}
		empty.SetGroupVersionKind(o.Kind.GroupVersionKind)
		empty.SetNamespace(o.Live.GetNamespace())
		empty.SetName(o.Live.GetName())
		empty.SetUID(o.Live.GetUID())
		object := render.Object{Kind: o.Kind, Namespace: o.Live.GetNamespace(), Name: o.Live.GetName(), Config: empty}
		if _, _, err := x.Patch(ctx, object, observed.ManagerOf(o.Kind, o.Group)); err != nil && !cluster.IsOvertaken(err) {
			return x.Cluster.Explain(err, "patch", o.Kind.Resource())
		}
	}
	x.Event(report.Left, o.Kind.Singular, o.Live.GetNamespace(), o.Live.GetName(), "Akash's provider declares it too")
	return nil
}

// SameRoute is true where nothing but the status has changed.
func SameRoute(a, b *unstructured.Unstructured) bool {
	return plan.Contains(a.Object["spec"], b.Object["spec"]) && plan.Contains(b.Object["spec"], a.Object["spec"]) &&
		maps.Equal(a.GetAnnotations(), b.GetAnnotations()) && maps.Equal(a.GetLabels(), b.GetLabels())
}
