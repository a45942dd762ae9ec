package repair

import (
	"context"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/executor"
	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/managed"
	"github.com/akash-net/kubectl-akash-net/state"
)

// dropOld removes managed fields of API versions that no longer exist from an object, and restores this program's marks
// if it had any.
func (r *repair) dropOld(ctx context.Context, m state.DropManagedFields) error {
	kind, live := kinds.Of(m.Object.Kind), r.live(m.Object)
	if err := dropOldManagers(ctx, r.command.Cluster, kind, live); err != nil {
		return err
	}
	now, err := r.command.Cluster.Get(ctx, kind, live.GetNamespace(), live.GetName())
	if err != nil || now == nil || len(r.snapshot.Ownership(now).Lost) == 0 {
		return err
	}
	return r.mark(ctx, kind, now, m.Hash)
}

// mark applies an object as it is, with the marks that it has lost, pinned to what was read.
func (r *repair) mark(ctx context.Context, kind kinds.Kind, live *unstructured.Unstructured, hash string) error {
	id := r.snapshot.Ownership(live).Lease
	manager := observed.ManagerOf(kind, id.Group())
	o := executor.AppliedBy(live, manager)
	if kind == kinds.Service {
		if err := executor.LeaveGiven(o, live); err != nil {
			return err
		}
	}
	annotations, labels := o.GetAnnotations(), o.GetLabels()
	if annotations == nil {
		annotations = map[string]string{}
	}
	if labels == nil {
		labels = map[string]string{}
	}
	for key, value := range live.GetAnnotations() {
		if strings.HasPrefix(key, lease.Domain+"/") {
			annotations[key] = value
		}
	}
	if annotations[lease.AnnotationDefinition] == "" {
		annotations[lease.AnnotationDefinition] = hash
	}
	maps.Copy(labels, markLabels(id, live.GetLabels(), slices.Contains(kinds.ClaimLike, kind)))
	o.SetAnnotations(annotations)
	o.SetLabels(labels)
	if err := r.command.Cluster.Seize(ctx, cluster.Applicable(kind, o), manager, live); err != nil {
		return asChanged(err)
	}
	return r.refresh(ctx, kind, live)
}

// markLabels returns the labels that name the lease. It includes Akash's label only if the object has it or Akash's
// operators read all objects of the kind: they stop at others.
func markLabels(id lease.ID, has map[string]string, claimLike bool) map[string]string {
	labels := id.Labels()
	if has[lease.LabelManaged] == "" && !claimLike {
		delete(labels, lease.LabelManaged)
		labels[lease.LabelOurs] = "true"
	}
	return labels
}

// takeFields makes the managers of the leases own their parts of a claim again.
func (r *repair) takeFields(ctx context.Context, c *state.Claim) error {
	for _, g := range c.Unmanaged {
		now, err := r.command.Ledger.Seize(ctx, c, g, c.Entries(g))
		if err != nil {
			return asChanged(err)
		}
		c = now
	}
	return nil
}

// dropOldManagers removes managed fields of other API versions from an object: the API server fails every apply because
// of them (kubernetes/kubernetes#111937).
func dropOldManagers(ctx context.Context, c *cluster.Cluster, kind kinds.Kind, live *unstructured.Unstructured) error {
	return c.Rewrite(ctx, kind, live, func(_ context.Context, now *unstructured.Unstructured) (func(context.Context) error, error) {
		kept, dropped := managed.OfVersion(now, kind.GroupVersion())
		if dropped == 0 {
			return nil, nil
		}
		if len(kept) == 0 {
			kept = []metav1.ManagedFieldsEntry{{}} // the API server ignores an empty list
		}
		return func(ctx context.Context) error {
			return c.MergePinned(ctx, kind, now, map[string]any{"metadata": map[string]any{"managedFields": kept}}, lease.FieldManager)
		}, nil
	})
}
