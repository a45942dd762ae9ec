package apply

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
func (r *objects) sendRoute(ctx context.Context, o render.Object, live *unstructured.Unstructured) (Action, error) {
	action, err := r.sendObject(ctx, o, live)
	if r.obstacle(o, err) == nil {
		return action, err
	}
	r.yielding.Lock()
	defer r.yielding.Unlock()
	var gone []owned
	_ = wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, noticed, true, func(ctx context.Context) (bool, error) {
		old := r.obstacle(o, err)
		switch {
		case old == nil:
			return true, nil
		case !r.removed[old.live.GetUID()]:
			if failed := r.makeWay(ctx, *old); failed != nil {
				err = fmt.Errorf("%w\n%s %s/%s stays: %w", err, old.kind.Singular, old.live.GetNamespace(), old.live.GetName(), failed)
				return false, failed
			}
			gone = append(gone, *old)
		}
		if !r.cluster.Waits() { // the server judges a dry run with the old one there
			action, err = Created, nil
			return true, nil
		}
		action, err = r.sendObject(ctx, o, live)
		return false, nil
	})
	if err != nil {
		err = errors.Join(err, r.putBack(ctx, gone))
	}
	return action, err
}

// obstacle is the route that a refusal names and that the new one replaces; nil where there is none.
func (r *objects) obstacle(o render.Object, refusal error) *owned {
	if answer := apierrors.APIStatus(nil); !errors.As(refusal, &answer) || !slices.Contains(kinds.RouteKinds, o.Kind) {
		return nil
	}
	named := strings.FieldsFunc(refusal.Error(), func(c rune) bool { return strings.ContainsRune(" \t\n\"'`,;:()[]", c) })
	for _, use := range state.HostUses(cluster.Rendered(o)) {
		h := r.holds[state.HostName(use.Host)]
		for _, was := range r.snapshot.serving[state.HostName(use.Host)] {
			name := was.live.GetNamespace() + "/" + was.live.GetName()
			if was.kind != o.Kind || was.live.GetNamespace() == o.Namespace || !slices.Contains(named, name) || r.snapshot.operators.moves(was) {
				continue
			}
			if r.successors.goesFor(was, use) && (was.group == r.group || h != nil && strays(was, h) && !r.awaited(was, h)) {
				return &was
			}
		}
	}
	return nil
}

// makeWay deletes a route that is in the way of a new one, if it could be made again.
func (r *objects) makeWay(ctx context.Context, old owned) error {
	if err := r.mayMake(ctx, again(old)); err != nil {
		return fmt.Errorf("it could not be put back: %w", err)
	}
	goes := r.strayFrom(old)
	if old.group == r.group {
		goes = r.unwanted(old)
	}
	if err := r.removeWhile(ctx, old, Pruned, "", goes); err != nil {
		return err
	}
	if !r.removed[old.live.GetUID()] {
		return errors.New("it serves for another lease by now")
	}
	return nil
}

// mayMake asks the API server whether it would let the run make an object that is to be made anew, before the one that is
// there goes. A dry run deletes nothing.
func (r *objects) mayMake(ctx context.Context, o render.Object) error {
	if !r.cluster.Waits() {
		return nil
	}
	err := r.cluster.CreateRefusal(ctx, o, r.manager(o))
	return r.cluster.Explain(err, "create", o.Kind.Resource())
}

// putBack makes routes again that had gone for one that was refused.
func (r *objects) putBack(ctx context.Context, gone []owned) error {
	var errs []error
	for _, old := range gone {
		o := again(old)
		_, _, err := r.patch(context.WithoutCancel(ctx), o, lease.FieldManager)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s could not be put back: %w", o, r.cluster.Explain(err, "create", o.Kind.Resource())))
			continue
		}
		r.event(Created, o.Kind.Singular, o.Namespace, o.Name, "put back")
	}
	return errors.Join(errs...)
}

// again is a route as it was, to be made where there is none.
func again(old owned) render.Object {
	body := &unstructured.Unstructured{Object: map[string]any{"spec": old.live.Object["spec"]}}
	body.SetGroupVersionKind(old.live.GroupVersionKind())
	body.SetNamespace(old.live.GetNamespace())
	body.SetName(old.live.GetName())
	body.SetLabels(old.live.GetLabels())
	body.SetAnnotations(old.live.GetAnnotations())
	body.SetOwnerReferences(old.live.GetOwnerReferences())
	body.SetResourceVersion(cluster.Unwritten)
	return render.Object{Kind: old.kind, Namespace: body.GetNamespace(), Name: body.GetName(), Config: body}
}
