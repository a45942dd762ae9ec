package apply

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
)

// owned is an object of a lease that this program wrote.
type owned struct {
	kind render.Kind
	live *unstructured.Unstructured
}

// ownedBy are the objects of a deployment group that carry the hash of a definition, which only
// this program writes. What Akash's provider wrote for the lease is not among them. They come in
// the order in which they are to go: what serves traffic before what entitles to it.
func (s *snapshot) ownedBy(group lease.Group) []owned {
	var out []owned
	for _, kinds := range [][]render.Kind{routeKinds, claimLikeKinds} {
		for _, kind := range kinds {
			var names []string
			for name, o := range s.live[kind.Plural] {
				id, ok := lease.IDFromLabels(o.GetLabels())
				if ok && id.Group() == group && o.GetAnnotations()[lease.AnnotationDefinition] != "" {
					names = append(names, name)
				}
			}
			slices.Sort(names)
			for _, name := range names {
				out = append(out, owned{kind: kind, live: s.live[kind.Plural][name]})
			}
		}
	}
	return out
}

// prune removes what the lease no longer defines: objects first, the claims they rest on last.
func (r *run) prune(ctx context.Context, desired []render.Object) error {
	keep := map[string]bool{}
	for _, o := range desired {
		keep[o.Kind.Plural+"/"+o.Namespace+"/"+o.Name] = true
	}
	for _, o := range r.snapshot.ownedBy(r.group) {
		if keep[o.kind.Plural+"/"+o.live.GetNamespace()+"/"+o.live.GetName()] {
			continue
		}
		if err := r.remove(ctx, o, Pruned); err != nil {
			return err
		}
	}
	return r.leaveClaims(ctx, func(c *state.Claim, p state.Part) bool { return !r.wants(c, p) }, Pruned)
}

// remove deletes one object, pinned to what was read. An object that has changed since is read
// again and deleted if it is still the lease's and ours.
func (r *run) remove(ctx context.Context, o owned, action Action) error {
	live, dryRun := o.live, r.opts.DryRun
	if dryRun == DryRunClient {
		r.event(action, o.kind.Singular, live.GetNamespace(), live.GetName(), "")
		return nil
	}
	err := wait.ExponentialBackoffWithContext(ctx, retries, func(ctx context.Context) (bool, error) {
		err := r.cluster.deletePinned(ctx, o.kind, live.GetNamespace(), live.GetName(), live.GetUID(), live.GetResourceVersion(), dryRun == DryRunServer)
		if err == nil {
			r.event(action, o.kind.Singular, live.GetNamespace(), live.GetName(), "")
			return true, nil
		}
		if !isOvertaken(err) && !isUnclear(err) {
			return false, r.cluster.explain(err, "delete", o.kind.Resource())
		}
		now, err := r.cluster.get(ctx, o.kind, live.GetNamespace(), live.GetName())
		if err != nil {
			return false, err
		}
		if now == nil || now.GetUID() != live.GetUID() {
			return true, nil
		}
		live = now
		return false, nil
	})
	if wait.Interrupted(err) && ctx.Err() == nil {
		return fmt.Errorf("%s %s/%s changes faster than it can be deleted; try again", o.kind.Singular, live.GetNamespace(), live.GetName())
	}
	return err
}

// leaveClaims gives up the parts for which drop says so, of all claims of the snapshot on which
// the group holds any.
func (r *run) leaveClaims(ctx context.Context, drop func(*state.Claim, state.Part) bool, action Action) error {
	var claims []*state.Claim
	for _, c := range r.snapshot.claims {
		if slices.ContainsFunc(c.PartsOf(r.group), func(p state.Part) bool { return drop(c, p) }) {
			claims = append(claims, c)
		}
	}
	slices.SortFunc(claims, func(a, b *state.Claim) int { return -stateCompare(a, b) })
	for _, c := range claims {
		if err := r.leaveClaim(ctx, c, func(p state.Part) bool { return drop(c, p) }, action); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) leaveClaim(ctx context.Context, c *state.Claim, drop func(state.Part) bool, action Action) error {
	if c.Kind == state.Address && r.opts.Config.IP.Mode == config.ModeDedicated && !slices.ContainsFunc(c.Parts, func(p state.Part) bool {
		return p.Lease.Group() != r.group || !drop(p)
	}) {
		if err := r.pools.remove(ctx, r, c.Addr(), action); err != nil {
			return err
		}
	}
	if r.opts.DryRun == DryRunClient {
		r.event(action, string(c.Kind), "", c.Thing, "")
		return nil
	}
	left, err := r.ledger.leave(ctx, c.Name(), r.group, drop)
	if err != nil {
		return fmt.Errorf("%s %s could not be released: %w", c.Kind, c.Thing, err)
	}
	if left {
		r.event(action, string(c.Kind), "", c.Thing, "")
	}
	return nil
}

func stateCompare(a, b *state.Claim) int {
	return state.Hold{Kind: a.Kind, Thing: a.Thing}.Compare(state.Hold{Kind: b.Kind, Thing: b.Thing})
}
