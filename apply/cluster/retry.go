package cluster

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/akash-net/kubectl-akash-net/kinds"
)

// ErrMoving reports that every attempt lost a race against other writers.
var ErrMoving = errors.New("it changes faster than it can be written")

// Retry calls try until it is done or fails, at most as often as Retries allows.
func (c *Cluster) Retry(ctx context.Context, try wait.ConditionWithContextFunc) error {
	return wait.ExponentialBackoffWithContext(ctx, c.Retries, try)
}

// Rewrite changes an object that was read. decide returns the write to send, pinned to the object it is given, or nil
// for none. If the write loses a race or its effect is unclear, Rewrite reads the object and decides again. It returns
// nil if the object is gone.
func (c *Cluster) Rewrite(ctx context.Context, kind kinds.Kind, live *unstructured.Unstructured,
	decide func(context.Context, *unstructured.Unstructured) (write func(context.Context) error, err error),
) error {
	now, read := live, true
	err := c.Retry(ctx, func(ctx context.Context) (_ bool, err error) {
		if !read {
			if now, err = c.Get(ctx, kind, live.GetNamespace(), live.GetName()); err != nil || now == nil || now.GetUID() != live.GetUID() {
				return err == nil, err
			}
		}
		read = false
		write, err := decide(ctx, now)
		if write == nil || err != nil {
			return err == nil, err
		}
		if err = write(ctx); err != nil && ctx.Err() == nil && (IsOvertaken(err) || IsUnclear(err)) {
			return false, nil
		}
		return err == nil, err
	})
	if wait.Interrupted(err) && ctx.Err() == nil {
		return ErrMoving
	}
	return err
}
