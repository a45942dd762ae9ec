package ledger

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state/kept"
)

// OnlySuspended selects the definitions of leases that the reconciler leaves as they are.
const OnlySuspended = kept.LabelSuspended + "=true"

// NoDefinitions selects the Leases of the ledger that store no definition.
const NoDefinitions = "!" + kept.Label

// Definition reads the definition stored for a deployment group. It returns nil if there is none.
func (l Ledger) Definition(ctx context.Context, g lease.Group) (*kept.Definition, error) {
	meta, err := l.get(ctx, kept.Name(g))
	if meta == nil || err != nil {
		return nil, err
	}
	d, _ := kept.Read(meta)
	return d, nil
}

// Definitions reads the stored definitions of one owner, or of all if owner is empty. It skips those for which want is
// false.
func (l Ledger) Definitions(ctx context.Context, owner string, want func(name string) bool) ([]*kept.Definition, error) {
	opts := metav1.ListOptions{LabelSelector: kept.Label}
	if owner != "" {
		opts.LabelSelector += "=" + owner
	}
	return cluster.ListMetas(ctx, l.cluster, cluster.Leases, l.Namespace, opts, func(meta *metav1.ObjectMeta) (*kept.Definition, bool) {
		if !want(meta.Name) {
			return nil, false
		}
		return kept.Read(meta)
	})
}

// Keep stores a definition in place of the one that was read, nil for none. ErrAgain means that somebody else has
// written it. The write uses force, which is safe: only the deployment group writes its definition, and the write is
// pinned.
func (l Ledger) Keep(ctx context.Context, d *kept.Definition, g lease.Group, there *kept.Definition) (*kept.Definition, error) {
	ac := d.Configuration(l.Namespace, g, there)
	if there == nil {
		ac.WithResourceVersion(cluster.Unwritten)
	}
	meta, err := l.apply(ctx, d.Name, ac, g.FieldManager(), true)
	if err != nil {
		return nil, err
	}
	now, _ := kept.Read(meta)
	return now, nil
}

// Suspend lets the reconciler leave the lease of a definition as it is, or go on with it. The write is pinned to what was read: ErrAgain
// means that somebody else has written the definition.
func (l Ledger) Suspend(ctx context.Context, d *kept.Definition, suspended bool) error {
	var value any // nil removes the label
	if suspended {
		value = "true"
	}
	patch := map[string]any{"metadata": map[string]any{
		"uid": d.UID, "resourceVersion": d.ResourceVersion, "labels": map[string]any{kept.LabelSuspended: value},
	}}
	_, err := l.patch(ctx, d.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: lease.FieldManager})
	return err
}

// Suspended returns the deployment groups that the reconciler leaves as they are, without those whose definition cannot be read.
func (l Ledger) Suspended(ctx context.Context) (map[lease.Group]bool, error) {
	groups := map[lease.Group]bool{}
	opts := metav1.ListOptions{LabelSelector: OnlySuspended}
	err := cluster.EachMeta(ctx, l.cluster, cluster.Leases, l.Namespace, opts, func(meta *metav1.ObjectMeta) {
		if d, ok := kept.Read(meta); ok && d.Suspended {
			if def, err := d.Decode(); err == nil {
				groups[def.Lease.Group()] = true
			}
		}
	}, func() { clear(groups) })
	return groups, err
}

// Forget deletes a definition, pinned to what was read.
func (l Ledger) Forget(ctx context.Context, d *kept.Definition) error {
	return l.delete(ctx, d.Name, &d.UID, &d.ResourceVersion)
}
