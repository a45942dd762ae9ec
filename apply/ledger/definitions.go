package ledger

import (
	"context"
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state/kept"
)

// NoDefinitions selects the Leases of the ledger that keep no definition.
const NoDefinitions = "!" + kept.Label

// Definition reads the definition that is kept for a deployment group; it is nil where there is none.
func (l Ledger) Definition(ctx context.Context, g lease.Group) (*kept.Definition, error) {
	meta, err := l.get(ctx, kept.Name(g))
	if meta == nil || err != nil {
		return nil, err
	}
	d, _ := kept.Read(meta)
	return d, nil
}

// Definitions reads the definitions that are kept: of one owner, or all where the owner is empty. Of those for which
// want is false nothing is held.
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

// Keep keeps a definition in the place of the one that was read, nil for none; ErrAgain says that there is another by
// now. It forces: nobody but the deployment group writes its definition, and the write is pinned.
func (l Ledger) Keep(ctx context.Context, d *kept.Definition, g lease.Group, there *kept.Definition) (*kept.Definition, error) {
	ac, force := d.Configuration(l.Namespace, g, there), true
	if there == nil {
		ac.WithResourceVersion(cluster.Unwritten)
	}
	body, err := json.Marshal(ac)
	if err != nil {
		return nil, err
	}
	meta, err := l.patch(ctx, d.Name, types.ApplyPatchType, body, metav1.PatchOptions{
		FieldManager: g.FieldManager(), Force: &force, FieldValidation: cluster.SkipFieldValidation,
	})
	if err != nil {
		return nil, err
	}
	now, _ := kept.Read(meta)
	return now, nil
}

// Forget deletes a definition that is exactly as it was read.
func (l Ledger) Forget(ctx context.Context, d *kept.Definition) error {
	return l.delete(ctx, d.Name, &d.UID, &d.ResourceVersion)
}
