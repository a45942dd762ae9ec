package executor

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/akash-net/kubectl-akash-net/apply/observed"
)

// Poll asks until it is done, for as long as the run still waits, and at least once.
func (x *Executor) Poll(ctx context.Context, done wait.ConditionWithContextFunc) error {
	return x.WaitUntil(ctx, x.Left(), done)
}

// Left is for how long the run still waits. All that it waits for has one time, which begins with the first:
// what is not there when that is over is looked at once.
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

// WaitAnew gives the run that much time from now on, whatever it has waited before.
func (x *Executor) WaitAnew(long time.Duration) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.until = time.Now().Add(long)
}

// Gone waits until an object is not there any more, or is another lease's.
func (x *Executor) Gone(ctx context.Context, o observed.Owned) error {
	return x.Poll(ctx, func(ctx context.Context) (bool, error) {
		live, err := x.Cluster.Get(ctx, o.Kind, o.Live.GetNamespace(), o.Live.GetName())
		return err == nil && (live == nil || live.GetUID() != o.Live.GetUID() || !observed.SameTenant(o.Live, live)), err
	})
}
