package leaselogs

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/kinds"
)

// errClosed ends the following of a lease when nothing is left that could write logs.
var errClosed = errors.New("the lease is closed")

// firstCheck and lastCheck are the shortest and longest time between two checks whether the lease is closed.
const firstCheck, lastCheck = 500 * time.Millisecond, 10 * time.Second

// awaitClosed returns errClosed once all followed logs have ended, and neither pods nor workloads are left. It waits
// for a lease that has had no pods yet.
func (f *following) awaitClosed(ctx context.Context) error {
	pause := firstCheck
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
		if !f.isIdle() {
			pause = firstCheck
			continue
		}
		closed, err := f.isClosed(ctx)
		switch {
		case closed && f.isIdle():
			return errClosed
		case ctx.Err() != nil:
			return nil //nolint:nilerr // the command has ended
		case apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err):
			f.note("No end of the lease is noticed: " + cluster.NeedsRole(err, Role).Error())
			return nil
		}
		pause = min(2*pause, lastCheck)
	}
}

// isIdle reports whether there were pods and no log is being read.
func (f *following) isIdle() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.seen && f.reading == 0
}

// isClosed reports whether there are neither pods nor workloads that would create any.
func (f *following) isClosed(ctx context.Context) (bool, error) {
	for _, kind := range []kinds.Kind{kinds.Pod, kinds.Deployment, kinds.StatefulSet} {
		remains := func(meta *metav1.ObjectMeta) (string, bool) {
			return meta.Name, kind == kinds.Pod || meta.DeletionTimestamp == nil
		}
		left, err := cluster.ListMetas(ctx, f.cluster, kind.Resource(), f.namespace, f.pods(), remains)
		if err != nil || len(left) > 0 {
			return false, err
		}
	}
	return true, nil
}

// ended records that the log of a container has ended.
func (f *following) ended() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reading--
}
