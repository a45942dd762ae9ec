package reconcile

import (
	"context"
	"errors"
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
	"github.com/akash-net/kubectl-akash-net/apply/turn"
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

// WorkAfter is Work for deployment groups after another command that is announced for them: if that has crashed, what it has left is
// finished, and its announcement removed, also if nothing else is due.
func (r *Reconciler) WorkAfter(ctx context.Context, groups []lease.Group) (failed map[lease.Group]error, err error) {
	view, err := r.Look(ctx)
	if err != nil {
		return nil, err
	}
	alone := view.unnamed(groups)
	if len(alone) > 0 {
		c := command.New(r.cluster, r.options)
		err = c.InTurn(ctx, alone, func(ctx context.Context, t *turn.Turn) ([]lease.Group, error) {
			if _, err := t.Begin(ctx); err != nil {
				return nil, err
			}
			return r.holding(ctx, alone, func(state.Part) bool { return true })
		})
	}
	if err != nil {
		failed = FailAll(alone, err)
		groups = slices.DeleteFunc(slices.Clone(groups), func(g lease.Group) bool { return failed[g] != nil })
	}
	opts := r.options
	opts.InTurn = true
	worked, err := r.work(ctx, groups, opts)
	if err != nil {
		return failed, err
	}
	maps.Copy(worked, failed)
	return worked, nil
}

// errUnfinished says that a deployment group that no source names holds something that can be neither finished nor given up yet.
var errUnfinished = errors.New("no source names the lease, and a command that claimed something for it has not finished; " +
	"\"kubectl akash-net state --problems\" says what; this is tried again")

// finish ends what crashed commands have claimed for deployment groups that no source names and of which nothing is kept, and what half a
// release has left of them: no other command will come after it. It returns those for which that is to be tried again.
func (r *Reconciler) finish(ctx context.Context, groups []lease.Group) map[lease.Group]error {
	left, err := r.holding(ctx, groups, func(p state.Part) bool { return p.Run != "" || p.Applied })
	if err != nil {
		return FailAll(groups, err)
	}
	if len(left) == 0 {
		return nil
	}
	opts := r.options
	opts.AssumeCrashed = false
	err = repair.Finish(ctx, apply.New(r.cluster, opts), crashedAfter, left)
	_, half := errors.AsType[*repair.Unmended](err)
	if err != nil && !half {
		return FailAll(left, err)
	}
	again, err := r.holding(ctx, left, func(p state.Part) bool { return p.Run != "" || half && p.Applied })
	if err != nil {
		return FailAll(left, err)
	}
	return FailAll(again, errUnfinished)
}

// holding returns those of the deployment groups that have an entry of a kind on a claim.
func (r *Reconciler) holding(ctx context.Context, groups []lease.Group, is func(state.Part) bool) (holding []lease.Group, err error) {
	if len(groups) == 0 {
		return nil, nil
	}
	claims, err := ledger.New(r.cluster, r.options.Config.LedgerNamespace).List(cluster.Early(ctx))
	for _, g := range groups {
		if slices.ContainsFunc(claims, func(c *state.Claim) bool { return slices.ContainsFunc(c.Entries(g), is) }) {
			holding = append(holding, g)
		}
	}
	return holding, err
}
