package executor

import (
	"context"
	"time"

	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"k8s.io/apimachinery/pkg/util/wait"
)

// Poll asks until it is done, for as long as the run still waits, and at least once.
func (r *Executor) Poll(ctx context.Context, done wait.ConditionWithContextFunc) error {
	return r.WaitUntil(ctx, r.Left(), done)
}

// Left is for how long the run still waits. All that it waits for has one time, which begins with the first:
// what is not there when that is over is looked at once.
func (r *Executor) Left() time.Duration {
	if r.Options.Wait == 0 {
		return 0
	}
	r.Mu.Lock()
	defer r.Mu.Unlock()
	if r.Until.IsZero() {
		r.Until = time.Now().Add(r.Options.Wait)
	}
	return max(time.Until(r.Until), 0)
}

// Gone waits until an object is not there any more, or is another lease's.
func (r *Executor) Gone(ctx context.Context, o observed.Owned) error {
	return r.Poll(ctx, func(ctx context.Context) (bool, error) {
		live, err := r.Cluster.Get(ctx, o.Kind, o.Live.GetNamespace(), o.Live.GetName())
		return err == nil && (live == nil || live.GetUID() != o.Live.GetUID() || !observed.SameTenant(o.Live, live)), err
	})
}
