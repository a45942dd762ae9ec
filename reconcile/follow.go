package reconcile

import (
	"context"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akash-net/kubectl-akash-net/apply"
	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/apply/repair"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
)

// crashedAfter is after which time without a write a command counts as crashed, as for repair.
const crashedAfter = 2 * time.Minute

// follow lets the claims follow that Akash's provider has moved from or to one of these deployment groups, before anything is decided: else
// the former group would keep them, and the new one would be withheld what it serves.
func (r *Reconciler) follow(ctx context.Context, groups []lease.Group, opts command.Options) error {
	moved, err := r.movedFor(ctx, groups)
	if err != nil || !moved {
		return err
	}
	opts.AssumeCrashed = false
	return repair.Follow(ctx, apply.New(r.cluster, opts), crashedAfter, groups)
}

// movedFor reports whether Akash's provider has moved something from or to one of these deployment groups that this program has written.
func (r *Reconciler) movedFor(ctx context.Context, groups []lease.Group) (moved bool, err error) {
	owners := map[string]bool{}
	for _, g := range groups {
		owners[g.Owner] = true
	}
	for _, kind := range kinds.ClaimLike {
		all, err := r.cluster.Objects(cluster.Early(ctx), kind.Resource(), r.options.Config.ManifestNamespace, metav1.ListOptions{})
		if err != nil && !cluster.IsMissingKind(err) {
			return false, err
		}
		for _, o := range all {
			if !owners[o.GetLabels()[lease.LabelOwner]] {
				continue
			}
			whose := state.OwnershipOf(o, lease.ID{})
			concerns := func(g lease.Group) bool { return slices.Contains(groups, g) }
			if len(whose.MovedFrom) > 0 && (concerns(whose.Lease.Group()) || slices.ContainsFunc(whose.MovedFrom, concerns)) {
				return true, nil
			}
		}
	}
	return false, nil
}
