package apply

import (
	"context"
	"fmt"
	"maps"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/plan"
	"github.com/akash-net/kubectl-akash-net/render"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// remove deletes one object that has not changed hands since it was read.
func (r *executor) remove(ctx context.Context, o owned, action Action) error {
	return r.removeWhile(ctx, o, action, "", ofTenant(o.live))
}

// removeWhile deletes one object while it may go, with a reason to tell. What the run has removed already
// is left alone.
func (r *executor) removeWhile(ctx context.Context, o owned, action Action, why string, goes mayGo) error {
	if r.removed[o.live.GetUID()] {
		return nil
	}
	if r.snapshot.stays(o) {
		if may, err := goes(ctx, o.live); err != nil || !may {
			return err
		}
		r.removed[o.live.GetUID()] = true
		return r.withdraw(ctx, o)
	}
	return r.deleteWhile(ctx, o, action, why, goes)
}

// removeAsRead deletes a route, whoever wrote it, only if it is unchanged since it was read; message goes
// into the event, hint into the error.
func (r *executor) removeAsRead(ctx context.Context, o owned, message, hint string) error {
	return r.deleteWhile(ctx, o, Deleted, message, func(_ context.Context, now *unstructured.Unstructured) (bool, error) {
		if !sameRoute(now, o.live) {
			return false, fmt.Errorf("%s %s/%s was changed meanwhile; it stays, and %s", o.kind.Singular, now.GetNamespace(), now.GetName(), hint)
		}
		return true, nil
	})
}

// withdraw takes back what this program wrote on an object that Akash's provider made, which stays. What
// this program made and Akash's operator keeps is left as it is: most of its fields are only ours, and
// would go with them.
func (r *executor) withdraw(ctx context.Context, o owned) error {
	if r.snapshot.ownership(o.live).Declared {
		empty := &unstructured.Unstructured{}
		empty.SetGroupVersionKind(o.kind.GroupVersionKind)
		empty.SetNamespace(o.live.GetNamespace())
		empty.SetName(o.live.GetName())
		empty.SetUID(o.live.GetUID())
		object := render.Object{Kind: o.kind, Namespace: o.live.GetNamespace(), Name: o.live.GetName(), Config: empty}
		if _, _, err := r.patch(ctx, object, managerOf(o.kind, o.group)); err != nil && !cluster.IsOvertaken(err) {
			return r.cluster.Explain(err, "patch", o.kind.Resource())
		}
	}
	r.event(Left, o.kind.Singular, o.live.GetNamespace(), o.live.GetName(), "Akash's provider declares it too")
	return nil
}

// sameRoute is true where nothing but the status has changed.
func sameRoute(a, b *unstructured.Unstructured) bool {
	return plan.Contains(a.Object["spec"], b.Object["spec"]) && plan.Contains(b.Object["spec"], a.Object["spec"]) &&
		maps.Equal(a.GetAnnotations(), b.GetAnnotations()) && maps.Equal(a.GetLabels(), b.GetLabels())
}
