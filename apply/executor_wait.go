package apply

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// poll asks until it is done, for as long as the run still waits, and at least once.
func (r *executor) poll(ctx context.Context, done wait.ConditionWithContextFunc) error {
	return r.waitUntil(ctx, r.left(), done)
}

// left is for how long the run still waits. All that it waits for has one time, which begins with the first:
// what is not there when that is over is looked at once.
func (r *executor) left() time.Duration {
	if r.opts.Wait == 0 {
		return 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.until.IsZero() {
		r.until = time.Now().Add(r.opts.Wait)
	}
	return max(time.Until(r.until), 0)
}

// gone waits until an object is not there any more, or is another lease's.
func (r *executor) gone(ctx context.Context, o owned) error {
	return r.poll(ctx, func(ctx context.Context) (bool, error) {
		live, err := r.cluster.Get(ctx, o.kind, o.live.GetNamespace(), o.live.GetName())
		return err == nil && (live == nil || live.GetUID() != o.live.GetUID() || !sameTenant(o.live, live)), err
	})
}
