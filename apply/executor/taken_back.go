package executor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/apply/report"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/plan"
	"github.com/akash-net/kubectl-akash-net/render"
)

// DeleteWhile deletes an object while it may go, pinned to what was read before that was asked. One that
// has changed since is read again, and decided on anew.
func (x *Executor) DeleteWhile(ctx context.Context, o observed.Owned, action report.Action, told string, goes observed.MayGo) error {
	err := x.Cluster.Rewrite(ctx, o.Kind, o.Live, func(ctx context.Context, live *unstructured.Unstructured) (func(context.Context) error, error) {
		if may, err := goes(ctx, live); err != nil || !may {
			return nil, err
		}
		if err := x.Change(func() plan.Change { return plan.Remove(o.Kind.Singular, live, told) }); err != nil {
			return nil, err
		}
		return func(ctx context.Context) error {
			err := x.Cluster.DeletePinned(ctx, o.Kind, live.GetNamespace(), live.GetName(), live.GetUID(), live.GetResourceVersion())
			if err == nil {
				x.removed[live.GetUID()] = true
				x.leaves(o.Kind, live)
				x.Event(action, o.Kind.Singular, live.GetNamespace(), live.GetName(), told)
			}
			return x.Cluster.Explain(err, "delete", o.Kind.Resource())
		}, nil
	})
	if errors.Is(err, cluster.ErrMoving) {
		return fmt.Errorf("%s %s/%s changes faster than it can be deleted; try again", o.Kind.Singular, o.Live.GetNamespace(), o.Live.GetName())
	}
	return err
}

// leaves notes an object that was deleted, and that finalizers keep.
func (x *Executor) leaves(kind kinds.Kind, live *unstructured.Unstructured) {
	if len(live.GetFinalizers()) > 0 {
		x.leaving = append(x.leaving, observed.Owned{Kind: kind, Live: live, Group: x.Group})
	}
}

// MadeObject is an object that a run has created.
type MadeObject struct {
	Object          render.Object
	uid             types.UID
	resourceVersion string
}

// Retract deletes the objects that were created and are chosen, as they were written. The errors are of those
// that could not be deleted.
func (x *Executor) Retract(ctx context.Context, chosen func(render.Object) bool) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()
	var errs []error
	for _, m := range slices.Backward(x.made) {
		if !chosen(m.Object) {
			continue
		}
		if err := x.retractOne(ctx, m); err != nil {
			errs = append(errs, fmt.Errorf("%s could not be taken back: %w", m.Object, err))
		}
	}
	x.made = slices.DeleteFunc(x.made, func(m MadeObject) bool { return chosen(m.Object) })
	return errors.Join(errs...)
}

// retractOne deletes an object as the run has written it. One that somebody has written since goes only
// while nobody else relies on it, and one that serves for another lease since a transfer stays.
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
		err = x.Cluster.Rewrite(ctx, o.Kind, first, func(ctx context.Context, now *unstructured.Unstructured) (func(context.Context) error, error) {
			going, err := x.By.KeepForOthers(ctx, []observed.Owned{made})
			if stays = len(going) == 0; err != nil || stays {
				return nil, err
			}
			if now != made.Live || x.lost {
				mine, err := x.By.StillMine(ctx, m, now)
				if stays = !mine; err != nil || stays {
					if err == nil {
						x.Event(report.Left, o.Kind.Singular, o.Namespace, o.Name, "somebody else relies on it by now")
					}
					return nil, err
				}
			}
			return func(ctx context.Context) error {
				err := x.Cluster.DeletePinned(ctx, o.Kind, o.Namespace, o.Name, m.uid, now.GetResourceVersion())
				if err == nil {
					x.leaves(o.Kind, now)
					x.Event(report.Deleted, o.Kind.Singular, o.Namespace, o.Name, "taken back")
				}
				return err
			}, nil
		})
	}
	if err == nil && !stays {
		x.takenBack = append(x.takenBack, o.Kind)
	}
	return err
}

// alteredObject is an object that was there, and that a run has changed or become a manager of.
type alteredObject struct {
	object render.Object
	before *unstructured.Unstructured
	// answer is what the API server said of the change.
	answer *metav1.PartialObjectMetadata
}

// RestoreAltered gives the objects that this run has changed the values that they had, and gives up the fields
// that it did not own before. What has been applied under the same manager since stays. The errors are of
// those that stay as the run has made them.
func (x *Executor) RestoreAltered(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()
	var errs []error
	for _, a := range slices.Backward(x.altered) {
		err := x.Cluster.Withdraw(ctx, a.object.Kind, a.before, a.answer, x.By.Manager(a.object))
		switch {
		case err == nil:
			x.Event(report.Configured, a.object.Kind.Singular, a.object.Namespace, a.object.Name, "taken back")
		case cluster.IsOwned(err), cluster.IsOvertaken(err), apierrors.IsNotFound(err): // somebody else has changed it since
		default:
			errs = append(errs, fmt.Errorf("%s could not be given its former values: %w", a.object, err))
		}
	}
	x.altered = nil
	return errors.Join(errs...)
}
