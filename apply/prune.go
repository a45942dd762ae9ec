package apply

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
)

// prune removes what the lease no longer defines: objects first, the claims they rest on last.
func (r *objects) prune(ctx context.Context, desired []render.Object) error {
	if err := r.pruneObjects(ctx, r.snapshot, desired); err != nil {
		return err
	}
	drop := func(c *state.Claim, p state.Part) bool {
		return !r.wants(c, p) && r.knows(c.Name(), p) && (p.Applied || !r.opts.heal)
	}
	if err := r.removeFormer(ctx, drop, Pruned); err != nil {
		return err
	}
	if err := r.operated.awaitUnserved(ctx, r.snapshot, drop); err != nil {
		return err
	}
	if err := r.removeStrays(ctx, desired); err != nil {
		return err
	}
	return r.leaveSeen(ctx, Pruned, func(ctx context.Context, now *snapshot) (func(*state.Claim, state.Part) bool, error) {
		return drop, r.pruneObjects(ctx, now, desired)
	}, drop)
}

// pruneObjects removes the objects of a snapshot that the lease no longer defines.
func (r *objects) pruneObjects(ctx context.Context, s *snapshot, desired []render.Object) error {
	keep := map[string]bool{}
	for _, o := range desired {
		keep[o.Kind.Plural+"/"+o.Namespace+"/"+o.Name] = true
	}
	unwanted, err := r.keepForOthers(ctx, slices.DeleteFunc(slices.Clone(s.written[r.group]), func(o owned) bool {
		return keep[o.kind.Plural+"/"+o.live.GetNamespace()+"/"+o.live.GetName()] || r.removed[o.live.GetUID()] || r.successors.stays(o)
	}))
	if err != nil {
		return err
	}
	for _, o := range unwanted {
		if err := r.removeWhile(ctx, o, Pruned, "", r.unwanted(o)); err != nil {
			return err
		}
	}
	return nil
}

// removeStrays deletes the routes and Services that this program wrote for other leases and that
// serve what the run holds: a transfer's old routes, or those of a run that stood still, was
// overtaken, and wrote on.
func (r *objects) removeStrays(ctx context.Context, desired []render.Object) error {
	wanted := map[string]bool{}
	for _, o := range desired {
		wanted[o.Kind.Plural+"/"+o.Namespace+"/"+o.Name] = true
	}
	gone := map[*unstructured.Unstructured]bool{}
	for _, h := range r.sortedHolds() {
		for _, o := range r.snapshot.serving[h.want.Name()] {
			key := o.kind.Plural + "/" + o.live.GetNamespace() + "/" + o.live.GetName()
			if o.group == r.group || !r.removes(o.group, h.claim) || wanted[key] || gone[o.live] || !strays(o, h) || r.snapshot.operators.moves(o) || r.awaited(o, h) || r.successors.stays(o) {
				continue
			}
			gone[o.live] = true
			if err := r.removeWhile(ctx, o, Pruned, "", r.strayFrom(o)); err != nil {
				return err
			}
		}
	}
	r.followed = r.opts.Prune || !r.opts.heal
	return nil
}

// awaited is true for an object that serves a part of which the run knows no route yet.
func (r *objects) awaited(o owned, h *held) bool {
	return slices.ContainsFunc(h.claim.FormerOf(o.group), func(p state.Part) bool {
		return slices.Contains(r.routeless[h.want.Name()], p.Key) && standsFor(o, h.claim, p)
	})
}

// strays is true for an object of another group that serves a path of a host or a port of an address
// which the run holds, or a host of which the run holds a part and that group none.
func strays(o owned, h *held) bool {
	if o.kind != kinds.Service {
		return len(h.claim.PartsOf(o.group)) == 0 || slices.ContainsFunc(state.HostUses(o.live), func(u state.Use) bool {
			return slices.ContainsFunc(h.want.Parts, func(p state.Part) bool { return p.Key == state.RouteKey(u.Path) })
		})
	}
	return slices.ContainsFunc(h.want.Parts, func(p state.Part) bool { return servesPort(o.live, p) })
}
