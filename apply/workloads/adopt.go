package workloads

import (
	"context"
	"encoding/json"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/managed"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state/deployed"
)

// Akash's provider writes whole objects by Update, so it is the manager of every field. An apply of the same values makes
// the lease a second one, and changes nothing of the object. Then Akash's entry is taken out: what only that one managed
// stays as it is, such as the label with the Manifest's version on pods, and the lease may change the rest.

// MayForce is true for a conflict with Akash's provider alone over an object of the lease, where its objects are taken
// over: nobody else's fields are forced.
func (w *Work) MayForce(live *unstructured.Unstructured, conflict error) bool {
	owners := cluster.Owners(conflict)
	return w.opts.Adopt && len(owners) > 0 && deployed.StandingOf(live, w.id.Group(), w.id.Namespace()) != deployed.Foreign &&
		!slices.ContainsFunc(owners, func(manager string) bool { return manager != managed.Akash })
}

// EndAdoption takes Akash's provider out of the managers of what the lease has taken over. It is done last: nothing is
// taken back after it. Where a command was killed before it, the same command finishes it.
func (w *Work) EndAdoption(ctx context.Context) error {
	if !w.opts.Adopt {
		return nil
	}
	for _, o := range w.objects {
		if err := w.disown(ctx, o); err != nil {
			return err
		}
	}
	return nil
}

// disown takes Akash's entry out of the managed fields of an object, pinned to what is read.
func (w *Work) disown(ctx context.Context, o render.Object) error {
	if before := w.Find(o); before == nil || !managed.Names(before, managed.Akash) {
		return nil
	}
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
		body, err := json.Marshal(map[string]any{"metadata": map[string]any{
			"uid": now.GetUID(), "resourceVersion": now.GetResourceVersion(), "managedFields": left,
		}})
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context) error {
			err := w.cluster.Write(ctx, func(write context.Context) error {
				_, err := w.cluster.Metadata.Resource(o.Kind.Resource()).Namespace(o.Namespace).Patch(write, o.Name, types.MergePatchType, body,
					metav1.PatchOptions{FieldManager: lease.FieldManager, FieldValidation: cluster.SkipFieldValidation})
				return err
			})
			if apierrors.IsNotFound(err) {
				return nil
			}
			return w.cluster.Explain(err, "patch", o.Kind.Resource())
		}, nil
	})
}
