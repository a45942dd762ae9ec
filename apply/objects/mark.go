package objects

import (
	"context"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
)

// A command that was taken for crashed may only have been suspended. When it goes on, it decides by claims and objects
// that it has read long ago. Two rules keep it from changing what the run in its place relies on. That run marks every
// claim of its lease (Claims.TakeOnce), so the other command fails to give one up. And it changes the resource version
// of every object of its lease, even if it is as wanted, so the other command fails to delete one.

// TouchFormer changes the resource version of the objects of a former holder that a transfer leaves as they are, if it
// works in the place of a crashed command for that holder. It does nothing to an object that is gone.
func (r *Objects) TouchFormer(ctx context.Context, former lease.Group) error {
	if !r.Options.Turn.Succeeds(former) {
		return nil
	}
	work, ctx := parallel.WithContext(ctx)
	work.SetLimit(r.Options.Concurrency)
	for _, o := range r.Snapshot.Written[former] {
		if r.HasRemoved(o.Live) {
			continue
		}
		work.Go(func() error {
			err := r.Cluster.Rewrite(ctx, o.Kind, o.Live, func(_ context.Context, now *unstructured.Unstructured) (func(context.Context) error, error) {
				if !state.SameTenant(o.Live, now) {
					return nil, nil //nolint:nilnil // the transfer has given it to the new lease
				}
				return func(ctx context.Context) error {
					return r.Cluster.Annotate(ctx, o.Kind, now, lease.AnnotationTaken, r.Nonce, observed.ManagerOf(o.Kind, former))
				}, nil
			})
			if apierrors.IsNotFound(err) {
				return nil
			}
			return err
		})
	}
	return work.Wait()
}

// TouchedFrom returns the object as the run applies it over the live one, with the annotations that it must keep. touch
// is true for an unchanged object that the run must write nevertheless, with its nonce: the run works in the place of a
// crashed command, or has taken the claim on which the object rests.
func (r *Objects) TouchedFrom(o render.Object, live *unstructured.Unstructured) (out render.Object, touch bool) {
	o = r.KeepTaken(o, live)
	if live == nil || !r.mustTouch(o) || !cluster.Unchanged(o, live, r.Manager(o)) {
		return o, false
	}
	return observed.Touched(o, r.Nonce), true
}

// mustTouch reports whether the run must write an object even if it is as wanted.
func (r *Objects) mustTouch(o render.Object) bool {
	if r.Options.Turn.Succeeds(r.Group) {
		return true
	}
	due := func(name string) bool { h := r.Holds[name]; return h != nil && h.Took && h.Touch }
	return slices.ContainsFunc(slices.Collect(maps.Keys(r.Holds)), due) && slices.ContainsFunc(observed.RestsOn(o, r.Group, r.HeldClaims()), due)
}

// KeepTaken is KeepsTaken by the run's manager.
func (r *Objects) KeepTaken(o render.Object, live *unstructured.Unstructured) render.Object {
	return observed.KeepsTaken(o, live, r.Manager(o))
}
