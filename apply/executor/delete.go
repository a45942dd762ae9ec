package executor

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/plan"
	"github.com/akash-net/kubectl-akash-net/report"
)

// Remove deletes an object unless it belongs to another tenant by now.
func (x *Executor) Remove(ctx context.Context, o observed.Owned, action report.Action) error {
	deleted, err := x.Command.Cluster.Remove(ctx, o.Kind, o.Live, func(ctx context.Context, live *unstructured.Unstructured) (bool, error) {
		may, err := observed.OfTenant(o.Live)(ctx, live)
		if err == nil && may {
			err = x.Change(func() plan.Change { return plan.Remove(o.Kind.Singular, live, "") })
		}
		return may, err
	})
	if deleted != nil {
		action, message := report.Deletion(action, deleted, "")
		x.Event(action, o.Kind.Singular, deleted.GetNamespace(), deleted.GetName(), message)
	}
	if errors.Is(err, cluster.ErrMoving) {
		return &report.MovingError{Done: "deleted", Kind: o.Kind.Singular, Namespace: o.Live.GetNamespace(), Name: o.Live.GetName(), Why: err.Error()}
	}
	return err
}

// Withdraw removes this program's fields from an object that stays because Akash's provider created it. It changes
// nothing of an object that this program created and Akash's operator keeps: the program owns most of its fields, and
// the operator needs them.
func (x *Executor) Withdraw(ctx context.Context, o observed.Owned) error {
	if x.Snapshot.Ownership(o.Live).Declared {
		if err := x.Command.Cluster.LetGo(ctx, o.Kind, o.Live, observed.ManagerOf(o.Kind, o.Group)); err != nil {
			return err
		}
	}
	x.Event(report.Kept, o.Kind.Singular, o.Live.GetNamespace(), o.Live.GetName(), "Akash's provider declares it too")
	return nil
}
