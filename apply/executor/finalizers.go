package executor

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/report"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/render"
)

// AwaitGone waits for what the run has deleted, and what others hold back with a finalizer: as long as it is there it may
// serve, and its claims are kept.
func (x *Executor) AwaitGone(ctx context.Context) error {
	for _, o := range x.leaving {
		if err := x.AwaitDeleted(ctx, o.Kind, o.Live, "its claim is kept until then"); err != nil {
			return err
		}
	}
	x.leaving = nil
	return nil
}

// AwaitDeleted waits until an object is not there any more, or is another one of its name. Until says what happens then.
func (x *Executor) AwaitDeleted(ctx context.Context, kind kinds.Kind, live *unstructured.Unstructured, until string) error {
	last := live
	err := x.Poll(ctx, func(ctx context.Context) (bool, error) {
		now, err := x.Cluster.Get(ctx, kind, live.GetNamespace(), live.GetName())
		if err != nil || now == nil || now.GetUID() != live.GetUID() {
			return err == nil, err
		}
		last = now
		return false, nil
	})
	if errors.Is(err, report.ErrTimedOut) {
		return &report.TimeoutError{After: x.Options.Wait, Waiting: []string{
			fmt.Sprintf("%s %s/%s to be gone (finalizers %v); %s", kind.Singular, live.GetNamespace(), live.GetName(), last.GetFinalizers(), until),
		}}
	}
	return err
}

// AwaitDeletion is what there is of an object when none that is being deleted is in its place any more: what is written
// to such a one goes with it.
func (x *Executor) AwaitDeletion(ctx context.Context, o render.Object, live *unstructured.Unstructured) (_ *unstructured.Unstructured, err error) {
	for live != nil && live.GetDeletionTimestamp() != nil {
		switch {
		case !x.Cluster.Waits():
			return nil, nil //nolint:nilnil // it would be gone
		case x.Options.Wait == 0:
			return nil, &report.DeletingError{Object: o, Finalizers: live.GetFinalizers()}
		}
		if err := x.AwaitDeleted(ctx, o.Kind, live, "it is being deleted, and is made anew then"); err != nil {
			return nil, err
		}
		if live, err = x.Cluster.Get(ctx, o.Kind, o.Namespace, o.Name); err != nil {
			return nil, err
		}
	}
	return live, nil
}
