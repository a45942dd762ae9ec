package apply

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/render"
)

// awaitGone waits for what the run has deleted, and what others hold back with a finalizer: as long as it is there it may
// serve, and its claims are kept.
func (r *executor) awaitGone(ctx context.Context) error {
	for _, o := range r.leaving {
		if err := r.awaitDeleted(ctx, o.kind, o.live, "its claim is kept until then"); err != nil {
			return err
		}
	}
	r.leaving = nil
	return nil
}

// awaitDeleted waits until an object is not there any more, or is another one of its name. Until says what happens then.
func (r *executor) awaitDeleted(ctx context.Context, kind kinds.Kind, live *unstructured.Unstructured, until string) error {
	last := live
	err := r.poll(ctx, func(ctx context.Context) (bool, error) {
		now, err := r.cluster.Get(ctx, kind, live.GetNamespace(), live.GetName())
		if err != nil || now == nil || now.GetUID() != live.GetUID() {
			return err == nil, err
		}
		last = now
		return false, nil
	})
	if errors.Is(err, errTimedOut) {
		return &TimeoutError{After: r.opts.Wait, Waiting: []string{
			fmt.Sprintf("%s %s/%s to be gone (finalizers %v); %s", kind.Singular, live.GetNamespace(), live.GetName(), last.GetFinalizers(), until),
		}}
	}
	return err
}

// awaitDeletion is what there is of an object when none that is being deleted is in its place any more: what is written
// to such a one goes with it.
func (r *executor) awaitDeletion(ctx context.Context, o render.Object, live *unstructured.Unstructured) (_ *unstructured.Unstructured, err error) {
	for live != nil && live.GetDeletionTimestamp() != nil {
		switch {
		case !r.cluster.Waits():
			return nil, nil //nolint:nilnil // it would be gone
		case r.opts.Wait == 0:
			return nil, &DeletingError{Object: o, Finalizers: live.GetFinalizers()}
		}
		if err := r.awaitDeleted(ctx, o.Kind, live, "it is being deleted, and is made anew then"); err != nil {
			return nil, err
		}
		if live, err = r.cluster.Get(ctx, o.Kind, o.Namespace, o.Name); err != nil {
			return nil, err
		}
	}
	return live, nil
}
