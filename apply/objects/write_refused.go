package objects

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/plan"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/state"
)

// Refused handles a conflict with another field manager. For one of Akash's claim-like objects it returns a HeldError:
// somebody else was first. If that was another deployment of the same owner, and the run holds the claim, a transfer
// has left the object behind: Refused takes it over, pinned to the version that it has read.
func (r *Objects) Refused(ctx context.Context, o render.Object, err error) (taken bool, _ error) {
	conflict := &report.ConflictError{Object: o.String(), Managers: cluster.Owners(err), Err: err}
	live, getErr := r.Cluster.Get(ctx, o.Kind, o.Namespace, o.Name)
	if getErr != nil || live == nil {
		return false, conflict
	}
	conflict.Differs = !plan.Contains(live.Object, cluster.Rendered(o).Object)
	id, labelled := lease.IDFromLabels(live.GetLabels())
	// An object that Akash's provider has moved to this lease still has fields of the former deployment.
	former := labelled && id.Group() == r.Group && slices.Contains(kinds.ClaimLike, o.Kind)
	if former {
		// Others may have written since the conflict: check the managers of the version that was read.
		now := r.Cluster.Refusal(ctx, o, r.Manager(o), live)
		if now != nil && !cluster.IsOwned(now) {
			return false, conflict
		}
		conflict.Managers, conflict.Err = cluster.Owners(now), cmp.Or(now, err)
		former = areFormer(r.Group.Owner, conflict.Managers)
	}
	adopts := former || r.adopts(o, live, id, labelled)
	if adopts && labelled && id.Group() != r.Group {
		entitled, err := r.isEntitled(ctx, o.Kind, live, id.Group())
		if err != nil {
			return false, err
		}
		adopts = !entitled
	}
	if adopts {
		if err := r.stillHolds(ctx, o.Kind, live); err != nil {
			return false, err
		}
		err := r.Seize(ctx, o, live)
		if cluster.IsOvertaken(err) || cluster.IsOwned(err) {
			return false, conflict
		}
		return err == nil, err
	}
	if !slices.Contains(kinds.ClaimLike, o.Kind) || labelled && id.Group() == r.Group {
		return false, conflict
	}
	holder := state.Holder{Object: o.Kind.Singular + " " + o.Namespace + "/" + o.Name, Since: live.GetCreationTimestamp().Time}
	if labelled {
		holder.Owner, holder.Lease, holder.Namespace = id.Owner, id, id.Namespace()
	}
	kind := state.Host
	if o.Kind == kinds.ProviderLeasedIP {
		kind = state.Address
	}
	return false, &report.HeldError{Lease: r.Request.Lease, Held: []report.HeldThing{{Kind: kind, Thing: o.Name, By: holder}}}
}

// areFormer reports whether all field managers are those of deployments of the owner.
func areFormer(owner string, managers []string) bool {
	return !slices.ContainsFunc(managers, func(manager string) bool {
		text, ours := strings.CutPrefix(manager, lease.FieldManager+"/")
		g, err := lease.ParseGroup(text)
		return !ours || err != nil || g.Owner != owner
	})
}

// adopts reports whether the run may take over an object: it belongs to another deployment of the owner and this
// program has written it, or the command adopts the owner's objects.
func (r *Objects) adopts(o render.Object, live *unstructured.Unstructured, id lease.ID, labelled bool) bool {
	if labelled && id.Owner == r.Group.Owner && id.Group() != r.Group && slices.Contains(kinds.ClaimLike, o.Kind) {
		return r.Snapshot.Ownership(live).Ours || r.Options.Adopt
	}
	if !labelled {
		id, labelled = r.Snapshot.Tenants[live.GetNamespace()], true
	}
	return r.Options.Adopt && labelled && id.Owner == r.Group.Owner
}

// isEntitled reports whether a deployment group holds what one of Akash's objects declares for it. A ProviderLeasedIP is for all
// addresses of its endpoint, so that two deployments may hold its port on two of them.
func (r *Objects) isEntitled(ctx context.Context, kind kinds.Kind, live *unstructured.Unstructured, g lease.Group) (bool, error) {
	grounds, err := observed.ReadGrounds(ctx, r.Ledger, observed.Owned{Kind: kind, Live: live, Group: g})
	return slices.ContainsFunc(grounds, func(g observed.Ground) bool { return g.Standing() == state.Entitled }), err
}

// stillHolds returns an OvertakenError if the run's group does not hold the claims of an object that the run is about
// to take over. It reads the claims after the object, to which the write is pinned: a transfer moves the claim before
// the object.
func (r *Objects) stillHolds(ctx context.Context, kind kinds.Kind, live *unstructured.Unstructured) error {
	grounds, err := observed.ReadGrounds(ctx, r.Ledger, observed.Owned{Kind: kind, Live: live, Group: r.Group})
	if err != nil {
		return err
	}
	for _, h := range r.SortedHolds() {
		for _, g := range grounds {
			lost := len(g.Claim.PartsOf(r.Group)) == 0 || kind == kinds.ProviderLeasedIP && g.Standing() == state.Stray
			if g.Name == h.Want.Name() && lost {
				return r.Overtaken(h)
			}
		}
	}
	return nil
}
