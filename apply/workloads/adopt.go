package workloads

import (
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/managed"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state/deployed"
)

// Akash's provider writes whole objects by Update, so it is the manager of every field. An apply of the same values makes
// the lease a second manager and does not change the object. Then Akash's entry is removed: fields that only Akash managed
// keep their values, such as the label with the Manifest's version on pods, and the lease may change the others.

// EndAdoption removes Akash's provider from the managers of what the lease has taken over. Call it last, because
// nothing can be undone after it. If a command is killed before, the next run of the same command does it.
func (w *Work) EndAdoption(ctx context.Context) error {
	for _, o := range w.adopted() {
		if err := w.disown(ctx, o); err != nil {
			return err
		}
	}
	return nil
}

// disown removes Akash's entry from the managed fields of an object, pinned to what is read.
func (w *Work) disown(ctx context.Context, o render.Object) error {
	live, err := w.cluster.Get(ctx, o.Kind, o.Namespace, o.Name)
	if live == nil || err != nil {
		return err
	}
	return w.cluster.Rewrite(ctx, o.Kind, live, func(_ context.Context, now *unstructured.Unstructured) (func(context.Context) error, error) {
		entries := now.GetManagedFields()
		left := slices.DeleteFunc(slices.Clone(entries), func(e metav1.ManagedFieldsEntry) bool {
			return e.Manager == managed.Akash && e.Subresource == ""
		})
		if len(left) == len(entries) || deployed.StandingOf(now, w.id.Group(), w.id.Namespace()) != deployed.Ours {
			return nil, nil
		}
		return func(ctx context.Context) error {
			patch := map[string]any{"metadata": map[string]any{"managedFields": left}}
			err := w.cluster.MergePinned(ctx, o.Kind, now, patch, lease.FieldManager)
			if apierrors.IsNotFound(err) {
				return nil
			}
			return w.cluster.Explain(err, "patch", o.Kind.Resource())
		}, nil
	})
}
