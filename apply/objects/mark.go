package objects

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/render"
)

// A command that was taken for crashed may only have been suspended. When it goes on, it decides by claims and objects
// that it has read long ago. Two rules keep it from changing what the run in its place relies on. That run marks every
// claim of its lease (Claims.TakeOnce), so the other command fails to give one up. And it changes the resource version
// of every object of its lease, even if it is as wanted, so the other command fails to delete one.

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
