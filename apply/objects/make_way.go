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
	"github.com/akash-net/kubectl-akash-net/apply/report"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
)

// A new route is written before the old one goes. An admission webhook may refuse that, because the old one has the host:
// ingress-nginx's does, and names the old one. Only then does the old one go first, and it is put back where the new one
// is refused all the same.

// noticed is how long a webhook may take to notice that a route has gone: ingress-nginx's asks what it has seen.
const noticed = 5 * time.Second

// sendRoute sends an object. What is in its way goes first.
func (r *Objects) sendRoute(ctx context.Context, o render.Object, live *unstructured.Unstructured) (report.Action, error) {
	action, err := r.SendObject(ctx, o, live)
	if r.obstacle(o, err) == nil {
		return action, err
	}
	r.yielding.Lock()
	defer r.yielding.Unlock()
	var gone []observed.Owned
	_ = wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, noticed, true, func(ctx context.Context) (bool, error) {
		old := r.obstacle(o, err)
		switch {
		case old == nil:
			return true, nil
		case !r.HasRemoved(old.Live):
			if failed := r.makeWay(ctx, *old); failed != nil {
				err = fmt.Errorf("%w\n%s %s/%s stays: %w", err, old.Kind.Singular, old.Live.GetNamespace(), old.Live.GetName(), failed)
				return false, failed
			}
			gone = append(gone, *old)
		}
		if !r.Cluster.Waits() { // the server judges a dry run with the old one there
			action, err = report.Created, nil
			return true, nil
		}
		action, err = r.SendObject(ctx, o, live)
		return false, nil
	})
	if err != nil {
		err = errors.Join(err, r.putBack(ctx, gone))
	}
	return action, err
}

// obstacle is the route that a refusal names and that the new one replaces; nil where there is none.
func (r *Objects) obstacle(o render.Object, refusal error) *observed.Owned {
	if answer := apierrors.APIStatus(nil); !errors.As(refusal, &answer) || !slices.Contains(kinds.RouteKinds, o.Kind) {
		return nil
	}
	named := strings.FieldsFunc(refusal.Error(), func(c rune) bool { return strings.ContainsRune(" \t\n\"'`,;:()[]", c) })
	for _, use := range state.HostUses(cluster.Rendered(o)) {
		h := r.Holds[state.HostName(use.Host)]
		for _, was := range r.Snapshot.Serving[state.HostName(use.Host)] {
			name := was.Live.GetNamespace() + "/" + was.Live.GetName()
			if was.Kind != o.Kind || was.Live.GetNamespace() == o.Namespace || !slices.Contains(named, name) || r.Snapshot.Operators.Moves(was) {
				continue
			}
			if r.Successors.GoesFor(was, use) && (was.Group == r.Group || h != nil && strays(was, h) && !r.awaited(was, h)) {
				return &was
			}
		}
	}
	return nil
}

// makeWay deletes a route that is in the way of a new one, if it could be made again.
func (r *Objects) makeWay(ctx context.Context, old observed.Owned) error {
	if err := r.mayMake(ctx, again(old)); err != nil {
		return fmt.Errorf("it could not be put back: %w", err)
	}
	goes := r.StrayFrom(old)
	if old.Group == r.Group {
		goes = r.Unwanted(old)
	}
	if err := r.RemoveWhile(ctx, old, report.Pruned, "", goes); err != nil {
		return err
	}
	if !r.HasRemoved(old.Live) {
		return errors.New("it serves for another lease by now")
	}
	return nil
}

// mayMake asks the API server whether it would let the run make an object that is to be made anew, before the one that is
// there goes. A dry run deletes nothing.
func (r *Objects) mayMake(ctx context.Context, o render.Object) error {
	if !r.Cluster.Waits() {
		return nil
	}
	err := r.Cluster.CreateRefusal(ctx, o, r.Manager(o))
	return r.Cluster.Explain(err, "create", o.Kind.Resource())
}

// putBack makes routes again that had gone for one that was refused.
func (r *Objects) putBack(ctx context.Context, gone []observed.Owned) error {
	var errs []error
	for _, old := range gone {
		o := again(old)
		_, _, err := r.Patch(context.WithoutCancel(ctx), o, lease.FieldManager)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s could not be put back: %w", o, r.Cluster.Explain(err, "create", o.Kind.Resource())))
			continue
		}
		r.Event(report.Created, o.Kind.Singular, o.Namespace, o.Name, "put back")
	}
	return errors.Join(errs...)
}

// again is a route as it was, to be made where there is none.
func again(old observed.Owned) render.Object {
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
