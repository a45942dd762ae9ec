package objects

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/report"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/plan"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
)

// Refused deals with a conflict. On one of Akash's claim-like objects it means that somebody else
// got there first, unless that was another deployment of the same owner and the claim is ours: then
// the object is what a transfer has left behind, and is taken over, pinned to what was read.
func (r *Objects) Refused(ctx context.Context, o render.Object, err error) (taken bool, _ error) {
	if r.Running != nil && r.Running.Has(o) {
		return r.Running.Refused(ctx, o, err)
	}
	conflict := &report.ConflictError{Object: o.String(), Managers: cluster.Owners(err), Err: err}
	live, getErr := r.Cluster.Get(ctx, o.Kind, o.Namespace, o.Name)
	if getErr != nil || live == nil {
		return false, conflict
	}
	conflict.Differs = !plan.Contains(live.Object, cluster.Rendered(o).Object)
	id, labelled := lease.IDFromLabels(live.GetLabels())
	// What Akash's provider has moved to this lease still has the fields of the deployment that had it.
	former := labelled && id.Group() == r.Group && slices.Contains(kinds.ClaimLike, o.Kind)
	if former {
		// Others may have written since the refusal: the managers that count are those of what was read.
		now := r.Cluster.Refusal(ctx, o, r.Manager(o), live)
		if now != nil && !cluster.IsOwned(now) {
			return false, conflict
		}
		conflict.Managers, conflict.Err = cluster.Owners(now), cmp.Or(now, err)
		former = r.ofFormer(conflict.Managers)
	}
	if former || r.adopts(o, live, id, labelled) {
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

// ofFormer is true where nobody is in the way but other deployments of the owner.
func (r *Objects) ofFormer(managers []string) bool {
	return !slices.ContainsFunc(managers, func(manager string) bool {
		text, ours := strings.CutPrefix(manager, lease.FieldManager+"/")
		g, err := lease.ParseGroup(text)
		return !ours || err != nil || g.Owner != r.Group.Owner
	})
}

// adopts is true for an object of the lease's own owner that this run may take over.
func (r *Objects) adopts(o render.Object, live *unstructured.Unstructured, id lease.ID, labelled bool) bool {
	if labelled && id.Owner == r.Group.Owner && id.Group() != r.Group && slices.Contains(kinds.ClaimLike, o.Kind) {
		return r.Snapshot.Ownership(live).Ours || r.Options.Adopt
	}
	if !labelled {
		id, labelled = r.Snapshot.Tenants[live.GetNamespace()], true
	}
	return r.Options.Adopt && labelled && id.Owner == r.Group.Owner
}
