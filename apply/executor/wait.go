package executor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/report"
)

// Poll calls done until it returns true, at least once, and at most until the run's wait time is over.
func (x *Executor) Poll(ctx context.Context, done wait.ConditionWithContextFunc) error {
	return x.WaitUntil(ctx, x.Left(), done)
}

// Left returns the rest of the run's wait time (--wait). All waits share it; it starts with the first one.
func (x *Executor) Left() time.Duration {
	if x.Options.Wait == 0 {
		return 0
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.until.IsZero() {
		x.until = time.Now().Add(x.Options.Wait)
	}
	return max(time.Until(x.until), 0)
}

// WaitAnew sets the rest of the run's wait time.
func (x *Executor) WaitAnew(rest time.Duration) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.until = time.Now().Add(rest)
}

// AwaitDeleted waits until an object does not exist any more, or has been created anew. until is the end of the message
// of a TimeoutError; it says what the wait delays.
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
	return x.TimedOut(err, fmt.Sprintf("%s %s/%s to be gone (finalizers %v); %s",
		kind.Singular, live.GetNamespace(), live.GetName(), last.GetFinalizers(), until))
}

// TimedOut returns a TimeoutError with what the run waited for if a wait has timed out, err otherwise.
func (x *Executor) TimedOut(err error, waiting ...string) error {
	if errors.Is(err, report.ErrTimedOut) {
		return &report.TimeoutError{After: x.Options.Wait.Round(time.Millisecond), Waiting: waiting}
	}
	return err
}

// AwaitDeletion waits until an object is not being deleted, because a write to it would be lost, and returns the object
// that exists then, or nil.
func (x *Executor) AwaitDeletion(ctx context.Context, o render.Object, live *unstructured.Unstructured) (_ *unstructured.Unstructured, err error) {
	for live != nil && live.GetDeletionTimestamp() != nil {
		switch {
		case !x.Cluster.Waits():
			return nil, nil //nolint:nilnil // no object: a dry run does not wait
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
