package executor

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/plan"
	"github.com/akash-net/kubectl-akash-net/report"
)

// Remove deletes an object unless it belongs to another tenant by now.
func (x *Executor) Remove(ctx context.Context, o observed.Owned, action report.Action) error {
	return x.RemoveWhile(ctx, o, action, "", observed.OfTenant(o.Live))
}

// RemoveWhile deletes an object if mayGo allows it; why is the message of the event. If Akash's provider or operators
// still need the object, it only withdraws this program's fields. It does nothing for an object that the run has
// removed before.
func (x *Executor) RemoveWhile(ctx context.Context, o observed.Owned, action report.Action, why string, mayGo observed.MayGo) error {
	if x.removed[o.Live.GetUID()] {
		return nil
	}
	if x.Snapshot.Stays(o) {
		if may, err := mayGo(ctx, o.Live); err != nil || !may {
			return err
		}
		x.removed[o.Live.GetUID()] = true
		return x.Withdraw(ctx, o)
	}
	return x.DeleteWhile(ctx, o, action, why, mayGo)
}

// DeleteWhile deletes an object if mayGo allows it, pinned to the version that mayGo was asked about. If the object has
// changed since, it is read again and mayGo is asked again. message is the message of the event.
func (x *Executor) DeleteWhile(ctx context.Context, o observed.Owned, action report.Action, message string, mayGo observed.MayGo) error {
	deleted, err := x.Cluster.Remove(ctx, o.Kind, o.Live, func(ctx context.Context, live *unstructured.Unstructured) (bool, error) {
		may, err := mayGo(ctx, live)
		if err == nil && may {
			err = x.Change(func() plan.Change { return plan.Remove(o.Kind.Singular, live, message) })
		}
		return may, err
	})
	if deleted != nil {
		x.removed[deleted.GetUID()] = true
		x.Event(action, o.Kind.Singular, deleted.GetNamespace(), deleted.GetName(), message)
	}
	if errors.Is(err, cluster.ErrMoving) {
		return fmt.Errorf("%s %s/%s changes faster than it can be deleted; try again", o.Kind.Singular, o.Live.GetNamespace(), o.Live.GetName())
	}
	return err
}

// Withdraw removes this program's fields from an object that stays because Akash's provider created it. It changes
// nothing of an object that this program created and Akash's operator keeps: the program owns most of its fields, and
// the operator needs them.
func (x *Executor) Withdraw(ctx context.Context, o observed.Owned) error {
	if x.Snapshot.Ownership(o.Live).Declared {
		if err := x.Cluster.LetGo(ctx, o.Kind, o.Live, observed.ManagerOf(o.Kind, o.Group)); err != nil {
			return err
		}
	}
	x.Event(report.Left, o.Kind.Singular, o.Live.GetNamespace(), o.Live.GetName(), "Akash's provider declares it too")
	return nil
}

// SameRoute reports whether two versions of a route have the same spec, labels and annotations.
func SameRoute(a, b *unstructured.Unstructured) bool {
	return plan.Contains(a.Object["spec"], b.Object["spec"]) && plan.Contains(b.Object["spec"], a.Object["spec"]) &&
		maps.Equal(a.GetAnnotations(), b.GetAnnotations()) && maps.Equal(a.GetLabels(), b.GetLabels())
}
