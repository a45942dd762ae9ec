package repair

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/reading"
	"github.com/akash-net/kubectl-akash-net/engine/observed"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
)

// removeWhile deletes an object that this program wrote, if mayGo lets the version go that is there, and returns it. What Akash's provider or
// operators still need stays: only this program's fields are taken out of it.
func (r *repair) removeWhile(ctx context.Context, kind kinds.Kind, live *unstructured.Unstructured, mayGo reading.MayGo) (deleted *unstructured.Unstructured, err error) {
	whose := r.snapshot.Ownership(live)
	group := whose.Lease.Group()
	switch stays := r.snapshot.Stays(kind, live); {
	case stays && whose.Declared:
		return nil, r.command.Cluster.LetGo(ctx, kind, live, observed.ManagerOf(kind, group))
	case stays:
		return nil, nil //nolint:nilnil // nothing is deleted
	}
	return r.delete(ctx, kind, live, mayGo)
}

// delete deletes an object, whoever wrote it, if mayGo lets the version go that is there, and returns it.
func (r *repair) delete(ctx context.Context, kind kinds.Kind, live *unstructured.Unstructured, mayGo reading.MayGo) (deleted *unstructured.Unstructured, err error) {
	deleted, err = r.command.Cluster.Remove(ctx, kind, live, mayGo)
	if errors.Is(err, cluster.ErrMoving) {
		err = &report.MovingError{Done: "deleted", Kind: kind.Singular, Namespace: live.GetNamespace(), Name: live.GetName(), Why: err.Error()}
	}
	return deleted, err
}

// awaitGone waits until finalizers have let go of deleted objects. until is the end of the message of a TimeoutError; it says
// what the wait delays.
func (r *repair) awaitGone(ctx context.Context, deleted []*unstructured.Unstructured, until string) error {
	deleted = slices.DeleteFunc(deleted, func(o *unstructured.Unstructured) bool { return o == nil || len(o.GetFinalizers()) == 0 })
	kept, err := r.stillThere(ctx, deleted, r.command.Options.Wait)
	if kept == nil {
		return err
	}
	return &report.TimeoutError{After: r.command.Options.Wait.Round(time.Millisecond), Waiting: []string{
		fmt.Sprintf("%s %s/%s to be gone (finalizers %v); %s", kinds.Of(kept.GetKind()).Singular, kept.GetNamespace(), kept.GetName(), kept.GetFinalizers(), until),
	}}
}

// stillThere waits for a time until deleted objects are gone, and returns one that is still there then.
func (r *repair) stillThere(ctx context.Context, deleted []*unstructured.Unstructured, limit time.Duration) (*unstructured.Unstructured, error) {
	if len(deleted) == 0 {
		return nil, nil //nolint:nilnil // none is there
	}
	kept := deleted[0]
	err := r.command.WaitUntil(ctx, limit, func(ctx context.Context) (bool, error) {
		for _, o := range deleted {
			now, err := r.command.Cluster.Get(ctx, kinds.Of(o.GetKind()), o.GetNamespace(), o.GetName())
			if err != nil {
				return false, err
			}
			if now != nil && now.GetUID() == o.GetUID() {
				kept = now
				return false, nil
			}
		}
		return true, nil
	})
	if errors.Is(err, report.ErrTimedOut) {
		return kept, nil
	}
	return nil, err
}
