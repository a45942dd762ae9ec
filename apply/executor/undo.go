package executor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/report"
)

// MadeObject is an object that the run has created.
type MadeObject struct {
	Object          render.Object
	uid             types.UID
	resourceVersion string
}

// IsUnwritten reports whether nobody has written the object since the run created it.
func (m MadeObject) IsUnwritten(now *unstructured.Unstructured) bool {
	return now.GetResourceVersion() == m.resourceVersion
}

// undoTimeout limits how long a run takes to undo its writes.
const undoTimeout = 30 * time.Second

// errUndoTimeout is the cause of an undo that did not end in time.
var errUndoTimeout = fmt.Errorf("the API server did not answer within %s", undoTimeout)

// UndoError returns an error of an undo. It names the reason if the time was over.
func UndoError(ctx context.Context, err error) error {
	if err != nil && errors.Is(context.Cause(ctx), errUndoTimeout) {
		return errUndoTimeout
	}
	return err
}

// UndoContext returns a context for undoing writes: the run's context may have been cancelled already.
func UndoContext(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(context.WithoutCancel(ctx), undoTimeout, errUndoTimeout)
}

// Retract deletes the chosen objects among those that the run has created, the last one first. The error joins those of
// objects that could not be deleted.
func (x *Executor) Retract(ctx context.Context, chosen func(render.Object) bool) error {
	ctx, cancel := UndoContext(ctx)
	defer cancel()
	var errs []error
	var stay []MadeObject
	for _, m := range slices.Backward(x.made) {
		if !chosen(m.Object) {
			stay = append(stay, m)
			continue
		}
		if err := x.retractOne(ctx, m); err != nil {
			errs = append(errs, fmt.Errorf("%s could not be taken back: %w", m.Object, UndoError(ctx, err)))
			stay = append(stay, m)
		}
	}
	slices.Reverse(stay)
	x.made = stay
	return errors.Join(errs...)
}

// retractOne deletes an object that the run has created. If somebody has written it since, retractOne deletes it only
// if nobody else relies on it; it keeps an object that serves another lease since a transfer.
func (x *Executor) retractOne(ctx context.Context, m MadeObject) (err error) {
	o := m.Object
	made := observed.Owned{Kind: o.Kind, Live: cluster.Rendered(o), Group: x.Group}
	made.Live.SetUID(m.uid)
	made.Live.SetResourceVersion(m.resourceVersion)
	first := made.Live
	if x.unsure[o.String()] {
		if first, err = x.Cluster.Get(ctx, o.Kind, o.Namespace, o.Name); err != nil {
			return err
		}
	}
	stays := false
	if first != nil && first.GetUID() == m.uid {
		var deleted *unstructured.Unstructured
		deleted, err = x.Cluster.Remove(ctx, o.Kind, first, func(ctx context.Context, now *unstructured.Unstructured) (bool, error) {
			deletable, err := x.By.KeepForOthers(ctx, []observed.Owned{made})
			if stays = len(deletable) == 0; err != nil || stays {
				return false, err
			}
			if now != made.Live || x.lost {
				mine, err := x.By.StillMine(ctx, m, now)
				if stays = !mine; err != nil || stays {
					if err == nil {
						x.Event(report.Left, o.Kind.Singular, o.Namespace, o.Name, "somebody else relies on it by now")
					}
					return false, err
				}
			}
			return true, nil
		})
		if deleted != nil {
			x.noteLeaving(o.Kind, deleted)
			x.Event(report.Deleted, o.Kind.Singular, o.Namespace, o.Name, "taken back")
		}
	}
	if err == nil && !stays {
		x.takenBack = append(x.takenBack, o.Kind)
	}
	return err
}

// alteredObject is an existing object that the run has changed, or of which it has become a field manager.
type alteredObject struct {
	object render.Object
	before *unstructured.Unstructured
	// answer is the API server's answer to the write.
	answer *metav1.PartialObjectMetadata
}
