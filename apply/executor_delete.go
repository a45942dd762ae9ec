package apply

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
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/plan"
	"github.com/akash-net/kubectl-akash-net/render"
)

// deleteWhile deletes an object while it may go, pinned to what was read before that was asked. One that
// has changed since is read again, and decided on anew.
func (x *executor) deleteWhile(ctx context.Context, o owned, action Action, told string, goes mayGo) error {
	err := x.cluster.Rewrite(ctx, o.kind, o.live, func(ctx context.Context, live *unstructured.Unstructured) (func(context.Context) error, error) {
		if may, err := goes(ctx, live); err != nil || !may {
			return nil, err
		}
		if err := x.change(func() plan.Change { return plan.Remove(o.kind.Singular, live, told) }); err != nil {
			return nil, err
		}
		return func(ctx context.Context) error {
			err := x.cluster.DeletePinned(ctx, o.kind, live.GetNamespace(), live.GetName(), live.GetUID(), live.GetResourceVersion())
			if err == nil {
				x.removed[live.GetUID()] = true
				x.leaves(o.kind, live)
				x.event(action, o.kind.Singular, live.GetNamespace(), live.GetName(), told)
			}
			return x.cluster.Explain(err, "delete", o.kind.Resource())
		}, nil
	})
	if errors.Is(err, cluster.ErrMoving) {
		return fmt.Errorf("%s %s/%s changes faster than it can be deleted; try again", o.kind.Singular, o.live.GetNamespace(), o.live.GetName())
	}
	return err
}

// leaves notes an object that was deleted, and that finalizers keep.
func (x *executor) leaves(kind kinds.Kind, live *unstructured.Unstructured) {
	if len(live.GetFinalizers()) > 0 {
		x.leaving = append(x.leaving, owned{kind: kind, live: live, group: x.group})
	}
}

// madeObject is an object that a run has created.
type madeObject struct {
	object          render.Object
	uid             types.UID
	resourceVersion string
}

// retract deletes the objects that were created and are chosen, as they were written. The errors are of those
// that could not be deleted.
func (x *executor) retract(ctx context.Context, chosen func(render.Object) bool) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()
	var errs []error
	for _, m := range slices.Backward(x.made) {
		if !chosen(m.object) {
			continue
		}
		if err := x.retractOne(ctx, m); err != nil {
			errs = append(errs, fmt.Errorf("%s could not be taken back: %w", m.object, err))
		}
	}
	x.made = slices.DeleteFunc(x.made, func(m madeObject) bool { return chosen(m.object) })
	return errors.Join(errs...)
}

// retractOne deletes an object as the run has written it. One that somebody has written since goes only
// while nobody else relies on it, and one that serves for another lease since a transfer stays.
func (x *executor) retractOne(ctx context.Context, m madeObject) (err error) {
	o := m.object
	made := owned{kind: o.Kind, live: cluster.Rendered(o), group: x.group}
	made.live.SetUID(m.uid)
	made.live.SetResourceVersion(m.resourceVersion)
	first := made.live
	if x.unsure[o.String()] {
		if first, err = x.cluster.Get(ctx, o.Kind, o.Namespace, o.Name); err != nil {
			return err
		}
	}
	stays := false
	if first != nil && first.GetUID() == m.uid {
		err = x.cluster.Rewrite(ctx, o.Kind, first, func(ctx context.Context, now *unstructured.Unstructured) (func(context.Context) error, error) {
			going, err := x.by.keepForOthers(ctx, []owned{made})
			if stays = len(going) == 0; err != nil || stays {
				return nil, err
			}
			if now != made.live || x.lost {
				mine, err := x.by.stillMine(ctx, m, now)
				if stays = !mine; err != nil || stays {
					if err == nil {
						x.event(Left, o.Kind.Singular, o.Namespace, o.Name, "somebody else relies on it by now")
					}
					return nil, err
				}
			}
			return func(ctx context.Context) error {
				err := x.cluster.DeletePinned(ctx, o.Kind, o.Namespace, o.Name, m.uid, now.GetResourceVersion())
				if err == nil {
					x.leaves(o.Kind, now)
					x.event(Deleted, o.Kind.Singular, o.Namespace, o.Name, "taken back")
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

// restoreAltered gives the objects that this run has changed the values that they had, and gives up the fields
// that it did not own before. What has been applied under the same manager since stays. The errors are of
// those that stay as the run has made them.
func (x *executor) restoreAltered(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()
	var errs []error
	for _, a := range slices.Backward(x.altered) {
		err := x.cluster.Withdraw(ctx, a.object.Kind, a.before, a.answer, x.by.manager(a.object))
		switch {
		case err == nil:
			x.event(Configured, a.object.Kind.Singular, a.object.Namespace, a.object.Name, "taken back")
		case cluster.IsOwned(err), cluster.IsOvertaken(err), apierrors.IsNotFound(err): // somebody else has changed it since
		default:
			errs = append(errs, fmt.Errorf("%s could not be given its former values: %w", a.object, err))
		}
	}
	x.altered = nil
	return errors.Join(errs...)
}
