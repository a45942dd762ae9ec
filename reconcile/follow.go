package reconcile

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply"
	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/apply/repair"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/state"
)

// crashedAfter is after which time without a write a command counts as crashed, as for repair.
const crashedAfter = 2 * time.Minute

// selectedOwners is how many owners a LIST is limited to at most.
const selectedOwners = 50

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

// movedFor reports whether Akash's provider has given something that one of these deployment groups holds to another one, or the other
// way round.
func (r *Reconciler) movedFor(ctx context.Context, groups []lease.Group) (moved bool, err error) {
	ctx = cluster.Early(ctx)
	owners := map[string]bool{}
	for _, g := range groups {
		owners[g.Owner] = true
	}
	var opts metav1.ListOptions
	if len(owners) <= selectedOwners {
		opts.LabelSelector = lease.LabelOwner + " in (" + strings.Join(slices.Sorted(maps.Keys(owners)), ",") + ")"
	}
	theirs := map[string][]*unstructured.Unstructured{} // what Akash's provider alone declares, by its owner
	for _, kind := range kinds.ClaimLike {
		all, err := r.cluster.Objects(ctx, kind.Resource(), r.options.Config.ManifestNamespace, opts)
		if err != nil && !cluster.IsMissingKind(err) {
			return false, err
		}
		for _, o := range all {
			owner := o.GetLabels()[lease.LabelOwner]
			if whose := state.OwnershipOf(o, lease.ID{}); owners[owner] && whose.Shared && !whose.Ours {
				theirs[owner] = append(theirs[owner], o)
			}
		}
	}
	for owner, objects := range theirs {
		claims, err := ledger.New(r.cluster, r.options.Config.LedgerNamespace).ListOwner(ctx, owner)
		if err != nil {
			return false, err
		}
		for _, o := range objects {
			whose := state.OwnershipOf(o, lease.ID{})
			for _, c := range claims {
				for _, p := range c.Parts {
					if declares(o, c, p) && whose.Takes(p) && (slices.Contains(groups, whose.Lease.Group()) || slices.Contains(groups, p.Lease.Group())) {
						return true, nil
					}
				}
			}
		}
	}
	return false, nil
}

// declares reports whether a ProviderHost or a ProviderLeasedIP declares a part of a claim.
func declares(o *unstructured.Unstructured, c *state.Claim, p state.Part) bool {
	if !c.Kind.HasPorts() {
		return o.GetKind() == kinds.ProviderHost.Kind && o.GetName() == c.Thing && p.Key == state.RouteKey("/")
	}
	protocol, port := p.ProtocolPort()
	return o.GetKind() == kinds.ProviderLeasedIP.Kind && o.GetName() == lease.LeasedIPName(c.SharingKey, protocol, port)
}
