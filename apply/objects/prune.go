package objects

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/claims"
	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/state"
)

// Prune deletes the objects that the lease no longer defines, and then gives up the claims on which they rested.
func (r *Objects) Prune(ctx context.Context, desired []render.Object) error {
	if err := r.pruneObjects(ctx, r.Snapshot, desired); err != nil {
		return err
	}
	drop := func(c *state.Claim, p state.Part) bool {
		return !r.Wants(c, p) && r.Knows(c.Name(), p) && (p.Applied || !r.Options.Heal)
	}
	if err := r.RemoveFormer(ctx, drop, report.Pruned); err != nil {
		return err
	}
	if err := r.RemoveStrays(ctx, desired); err != nil {
		return err
	}
	return r.LeaveSeen(ctx, report.Pruned, func(ctx context.Context, now *observed.Snapshot) (func(*state.Claim, state.Part) bool, error) {
		return drop, r.pruneObjects(ctx, now, desired)
	}, drop)
}

// pruneObjects deletes the objects of a snapshot that the lease no longer defines.
func (r *Objects) pruneObjects(ctx context.Context, s *observed.Snapshot, desired []render.Object) error {
	unwanted, err := r.KeepForOthers(ctx, r.undefined(s, desired))
	if err != nil {
		return err
	}
	for _, o := range unwanted {
		if err := r.RemoveWhile(ctx, o, report.Pruned, "", r.Unwanted(o)); err != nil {
			return err
		}
	}
	return nil
}

// undefined returns the objects of the lease in a snapshot that it no longer defines, in the order in which they are
// deleted.
func (r *Objects) undefined(s *observed.Snapshot, desired []render.Object) []observed.Owned {
	keep := keysOf(desired)
	return slices.DeleteFunc(slices.Clone(s.Written[r.Group]), func(o observed.Owned) bool {
		return keep[keyOf(o)] || r.HasRemoved(o.Live) || r.Successors.Stays(o)
	})
}

// keysOf returns the kind, namespace and name of rendered objects.
func keysOf(desired []render.Object) map[string]bool {
	keys := map[string]bool{}
	for _, o := range desired {
		keys[o.Kind.Plural+"/"+o.Namespace+"/"+o.Name] = true
	}
	return keys
}

// keyOf returns the kind, namespace and name of a live object.
func keyOf(o observed.Owned) string {
	return o.Kind.Plural + "/" + o.Live.GetNamespace() + "/" + o.Live.GetName()
}

// RemoveStrays deletes the routes and Services that this program has written for other leases and that serve what the
// run holds: the old routes of a transfer, or those of a suspended run that was overtaken and went on writing.
func (r *Objects) RemoveStrays(ctx context.Context, desired []render.Object) error {
	for _, o := range r.strayObjects(desired) {
		if err := r.RemoveWhile(ctx, o, report.Pruned, "", r.StrayFrom(o)); err != nil {
			return err
		}
	}
	r.followed = r.Options.Prune || !r.Options.Heal
	return nil
}

// strayObjects returns the objects that RemoveStrays deletes, each once, in the order of the claims on which they rest.
func (r *Objects) strayObjects(desired []render.Object) (out []observed.Owned) {
	wanted, found := keysOf(desired), map[*unstructured.Unstructured]bool{}
	for _, h := range r.SortedHolds() {
		for _, o := range r.Snapshot.Serving[h.Want.Name()] {
			if o.Group == r.Group || !r.Removes(o.Group, h.Claim) || wanted[keyOf(o)] || found[o.Live] || !r.strays(o, h) ||
				r.Snapshot.Operators.Moves(o) || r.Successors.Stays(o) {
				continue
			}
			found[o.Live] = true
			out = append(out, o)
		}
	}
	return out
}

// strays is Strays for what the run holds. It is false while the object serves a transferred part for which the run has no
// route yet.
func (r *Objects) strays(o observed.Owned, h *claims.Held) bool {
	return observed.Strays(o, h.Want.Parts, h.Claim) && !slices.ContainsFunc(h.Claim.FormerOf(o.Group), func(p state.Part) bool {
		return slices.Contains(r.Routeless[h.Want.Name()], p.Key) && observed.StandsFor(o, h.Claim, p)
	})
}
