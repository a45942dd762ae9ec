package objects

import (
	"context"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/claims"
	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
)

// A command that was taken for dead may only have been suspended. When it goes on, it decides by claims and objects
// that it has read long ago. Two rules keep it from changing what the run in its place relies on. That run marks a
// claim before it writes or deletes the objects that rest on it, so the other command fails to give up the claim
// (Mark). And it changes the resource version of the objects that rest on a claim that it has taken, even if they are
// as wanted, so the other command fails to delete one of them (touched).

// MarkWritten marks the claims that the run has not taken itself and whose objects it is about to write or delete. A
// run that changes nothing marks nothing.
func (r *Objects) MarkWritten(ctx context.Context, desired []render.Object) error {
	relied := func(h *claims.Held) bool { return !h.Took }
	if !r.mustMark() || !slices.ContainsFunc(r.SortedHolds(), relied) {
		return nil
	}
	written := map[string]bool{}
	all := false
	for _, o := range desired {
		if r.Snapshot.Operators.Theirs(o) {
			continue
		}
		live := r.Snapshot.Find(o)
		if now, touch := r.touched(o); !touch && !cluster.Unchanged(now, live, r.Manager(o)) {
			names := r.restsOn(o)
			all = all || len(names) == 0 // middlewares and policies of the routes
			for _, name := range names {
				written[name] = true
				if h := r.Holds[name]; h != nil && live == nil {
					h.Touch = true
				}
			}
		}
	}
	if r.Options.Prune {
		wanted := keysOf(desired)
		for _, o := range r.Snapshot.Written[r.Group] {
			if wanted[keyOf(o)] || slices.Contains(kinds.Records, o.Kind) {
				continue
			}
			for _, g := range observed.GroundsOf(o, r.Snapshot.ClaimsOfPort(o)) {
				written[g.Name] = true
			}
		}
	}
	for _, h := range r.SortedHolds() {
		for _, o := range r.Snapshot.Serving[h.Want.Name()] {
			if o.Group != r.Group && r.Removes(o.Group, h.Claim) && strays(o, h) {
				written[h.Want.Name()] = true
			}
		}
	}
	return r.Mark(ctx, func(name string) bool { return all || written[name] })
}

// mustMark reports whether the run must mark the claims on which it relies: it works in the place of a command that was
// taken for dead, or its turn is over, as when it has waited for an address before it writes a DNS record.
func (r *Objects) mustMark() bool { return r.Options.Turn == nil || r.Options.Turn.Succeeds(r.Group) }

// Mark writes the run's mark on the named claims that the run has not taken itself, if it must (mustMark). If a claim
// has changed since it was read, Mark decides on it again.
func (r *Objects) Mark(ctx context.Context, named func(name string) bool) error {
	if !r.mustMark() {
		return nil
	}
	r.Marking = true
	defer func() { r.Marking = false }()
	for _, h := range r.SortedHolds() {
		if h.Took || !named(h.Want.Name()) {
			continue
		}
		if err := r.TakeOnce(ctx, h.Want, false); err != nil {
			return err
		}
		if now := r.Holds[h.Want.Name()]; !now.Took {
			return r.Overtaken(h) // another deployment of the owner has taken it
		}
	}
	if err := r.CheckWildcards(ctx); err != nil { // a claim may have been lost and taken anew
		return err
	}
	return r.CheckOpen()
}

// restsOn returns the names of the run's claims on which a rendered object rests.
func (r *Objects) restsOn(o render.Object) []string {
	var names []string
	if slices.Contains(kinds.Pools, o.Kind) {
		for name, h := range r.Holds {
			if h.Want.Kind == state.Address && o.Name == config.AddressPoolName(h.Claim.Addr()) {
				names = append(names, name)
			}
		}
		return names
	}
	var claims []*state.Claim
	if o.Kind == kinds.ProviderLeasedIP {
		claims = r.HeldClaims()
	}
	for _, g := range observed.GroundsOf(observed.Owned{Kind: o.Kind, Live: cluster.Rendered(o), Group: r.Group}, claims) {
		names = append(names, g.Name)
	}
	return names
}

// touched returns the object as the run applies it, with the annotations that it must keep. touch is true for an
// unchanged object that the run must write nevertheless, because it rests on a claim that the run has taken: it has the
// run's nonce then.
func (r *Objects) touched(o render.Object) (out render.Object, touch bool) {
	live := r.Find(o)
	return r.TouchedFrom(r.requestDeploy(r.KeepTaken(o, live)), live)
}

// TouchedFrom is touched for an object that was read again.
func (r *Objects) TouchedFrom(o render.Object, live *unstructured.Unstructured) (out render.Object, touch bool) {
	o = r.KeepTaken(o, live)
	due := func(name string) bool { h := r.Holds[name]; return h != nil && h.Took && h.Touch }
	if live == nil || !slices.ContainsFunc(slices.Collect(maps.Keys(r.Holds)), due) || !cluster.Unchanged(o, live, r.Manager(o)) || !slices.ContainsFunc(r.restsOn(o), due) {
		return o, false
	}
	return annotate(o, lease.AnnotationTaken, r.Nonce), true
}

// KeepTaken returns the object with the nonce of an earlier run that the live object has, so that an apply keeps it.
func (r *Objects) KeepTaken(o render.Object, live *unstructured.Unstructured) render.Object {
	if live == nil || !observed.Owns(live, r.Manager(o), lease.AnnotationTaken) {
		return o
	}
	return annotate(o, lease.AnnotationTaken, live.GetAnnotations()[lease.AnnotationTaken])
}

// annotate returns a copy of a rendered object with an annotation.
func annotate(o render.Object, name, value string) render.Object {
	body := cluster.Rendered(o)
	annotations := body.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[name] = value
	body.SetAnnotations(annotations)
	o.Config = body
	return o
}
