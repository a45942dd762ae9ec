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

// errClosed says that nothing is left that could print.
var errClosed = errors.New("the lease is closed")

// How often it is asked, while nothing is read, whether anything is left that could print.
const firstLook, lastLook = 500 * time.Millisecond, 10 * time.Second

// awaitClosed ends with errClosed once all logs that were followed have ended, and neither pods nor what makes them are left.
// A lease that has had no pods yet is waited for.
func (f *following) awaitClosed(ctx context.Context) error {
	pause := firstLook
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
		if !f.isIdle() {
			pause = firstLook
			continue
		}
		closed, err := f.isClosed(ctx)
		switch {
		case closed && f.isIdle():
			return errClosed
		case ctx.Err() != nil:
			return nil //nolint:nilerr // whoever follows has gone
		case apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err):
			f.note("No end of the lease is noticed: " + cluster.NeedsRole(err, Role).Error())
			return nil
		}
		pause = min(2*pause, lastLook)
	}
}

// isIdle is true where there were pods, and nothing is read.
func (f *following) isIdle() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.seen && f.reading == 0
}

// isClosed is true where neither pods are there nor workloads that would make any.
func (f *following) isClosed(ctx context.Context) (bool, error) {
	for _, kind := range []kinds.Kind{kinds.Pod, kinds.Deployment, kinds.StatefulSet} {
		left, err := cluster.ListMetas(ctx, f.cluster, kind.Resource(), f.namespace, f.pods(), func(meta *metav1.ObjectMeta) (string, bool) {
			return meta.Name, kind == kinds.Pod || meta.DeletionTimestamp == nil
		})
		if err != nil || len(left) > 0 {
			return false, err
		}
	}
	return true, nil
}

// ends notes that the log of a container is read no more.
func (f *following) ends() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reading--
}
