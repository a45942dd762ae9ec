package objects

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/state"
)

// A run creates a new route before it deletes the old one. An admission webhook may reject that, because the old route
// has the host: that of ingress-nginx does, and its message names the old route. Only then the run deletes the old
// route first, and puts it back if the new one is rejected again.

// webhookLag limits how long a webhook may take to notice that a route was deleted: that of ingress-nginx reads a
// cache.
const webhookLag = 5 * time.Second

// sendRoute applies an object. If a webhook rejects it because of a route that it replaces, sendRoute deletes that
// route and tries again.
func (r *Objects) sendRoute(ctx context.Context, o render.Object, live *unstructured.Unstructured) (report.Action, error) {
	action, err := r.SendObject(ctx, o, live)
	if r.obstacle(o, err) == nil {
		return action, err
	}
	r.replacing.Lock()
	defer r.replacing.Unlock()
	var removed []observed.Owned
	_ = wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, webhookLag, true, func(ctx context.Context) (bool, error) {
		old := r.obstacle(o, err)
		switch {
		case old == nil:
			return true, nil
		case !r.HasRemoved(old.Live):
			if failed := r.makeWay(ctx, *old); failed != nil {
				err = fmt.Errorf("%w\n%s %s/%s stays: %w", err, old.Kind.Singular, old.Live.GetNamespace(), old.Live.GetName(), failed)
				return false, failed
			}
			removed = append(removed, *old)
		}
		if !r.Cluster.Waits() { // a dry run cannot delete the old route
			action, err = report.Created, nil
			return true, nil
		}
		action, err = r.SendObject(ctx, o, live)
		return false, nil
	})
	if err != nil {
		err = errors.Join(err, r.putBack(ctx, removed))
	}
	return action, err
}

// obstacle returns the route that a rejection names and that the new one replaces; nil if there is none.
func (r *Objects) obstacle(o render.Object, refusal error) *observed.Owned {
	if answer := apierrors.APIStatus(nil); !errors.As(refusal, &answer) || !slices.Contains(kinds.RouteKinds, o.Kind) {
		return nil
	}
	named := strings.FieldsFunc(refusal.Error(), func(c rune) bool { return strings.ContainsRune(" \t\n\"'`,;:()[]", c) })
	for _, use := range state.HostUses(cluster.Rendered(o)) {
		h := r.Holds[state.HostName(use.Host)]
		for _, was := range r.Snapshot.Serving[state.HostName(use.Host)] {
			name := was.Live.GetNamespace() + "/" + was.Live.GetName()
			if was.Kind != o.Kind || was.Live.GetNamespace() == o.Namespace || !slices.Contains(named, name) ||
				r.Snapshot.Operators.Moves(was) {
				continue
			}
			if r.Successors.GoesFor(was, use) && (was.Group == r.Group || h != nil && r.strays(was, h)) {
				return &was
			}
		}
	}
	return nil
}

// makeWay deletes a route that a new one replaces, if the API server would let the run create it again.
func (r *Objects) makeWay(ctx context.Context, old observed.Owned) error {
	if err := r.checkCreate(ctx, copyOf(old)); err != nil {
		return fmt.Errorf("it could not be put back: %w", err)
	}
	mayGo := r.StrayFrom(old)
	if old.Group == r.Group {
		mayGo = r.Unwanted(old)
	}
	if err := r.RemoveWhile(ctx, old, report.Pruned, "", mayGo); err != nil {
		return err
	}
	if !r.HasRemoved(old.Live) {
		return errors.New("it serves for another lease by now")
	}
	return nil
}

// checkCreate asks the API server, before the run deletes an object, whether it would let the run create it again. It
// does nothing in a dry run, which deletes nothing.
func (r *Objects) checkCreate(ctx context.Context, o render.Object) error {
	if !r.Cluster.Waits() {
		return nil
	}
	err := r.Cluster.CreateRefusal(ctx, o, r.Manager(o))
	return r.Cluster.Explain(err, "create", o.Kind.Resource())
}

// putBack creates routes again that were deleted for one that was rejected.
func (r *Objects) putBack(ctx context.Context, removed []observed.Owned) error {
	var errs []error
	for _, old := range removed {
		o := copyOf(old)
		_, _, err := r.Patch(context.WithoutCancel(ctx), o, lease.FieldManager)
		if cluster.IsOvertaken(err) { // somebody else has made it
			continue
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s could not be put back: %w", o, r.Cluster.Explain(err, "create", o.Kind.Resource())))
			continue
		}
		r.Event(report.Created, o.Kind.Singular, o.Namespace, o.Name, "put back")
	}
	return errors.Join(errs...)
}

// copyOf returns a deleted route for an apply that must create it.
func copyOf(old observed.Owned) render.Object {
	body := &unstructured.Unstructured{Object: map[string]any{"spec": old.Live.Object["spec"]}}
	body.SetGroupVersionKind(old.Live.GroupVersionKind())
	body.SetNamespace(old.Live.GetNamespace())
	body.SetName(old.Live.GetName())
	body.SetLabels(old.Live.GetLabels())
	body.SetAnnotations(old.Live.GetAnnotations())
	body.SetOwnerReferences(old.Live.GetOwnerReferences())
	body.SetResourceVersion(cluster.Unwritten)
	return render.Object{Kind: old.Kind, Namespace: body.GetNamespace(), Name: body.GetName(), Config: body}
}
