package objects

import (
	"context"
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

// A command that was taken for dead may only have stood still. Then it decides by a claim and by the objects that rest
// on it, which it has read long ago. Two rules keep it from changing what the run in its place relies on. That run marks
// a claim before it writes or deletes what rests on it: whoever gives the claim up as it was before then fails (mark).
// And it moves the resource version of the objects that rest on a claim which it has taken, also where they are as they
// should be: whoever deletes one as it was before then fails (touched).

// MarkWritten marks the claims that the run has only relied on so far, as far as objects rest on them
// that it is about to write or to delete. A run that changes nothing marks nothing.
func (r *Objects) MarkWritten(ctx context.Context, desired []render.Object) error {
	relied := func(h *claims.Held) bool { return !h.Took }
	if !r.marks() || !slices.ContainsFunc(r.SortedHolds(), relied) {
		return nil
	}
	written := map[string]bool{}
	all := false
	wanted := map[string]bool{}
	for _, o := range desired {
		wanted[o.Kind.Plural+"/"+o.Namespace+"/"+o.Name] = true
		if r.Snapshot.Operators.Theirs(o) {
			continue
		}
		live := r.Snapshot.Find(o)
		if now, touch := r.touched(o); !touch && !cluster.Unchanged(now, live, r.Manager(o)) {
			names := r.restsOn(o)
			all = all || len(names) == 0 // what goes with routes
			for _, name := range names {
				written[name] = true
				if h := r.Holds[name]; h != nil && live == nil {
					h.Touch = true
				}
			}
		}
	}
	if r.Options.Prune {
		for _, o := range r.Snapshot.Written[r.Group] {
			if wanted[o.Kind.Plural+"/"+o.Live.GetNamespace()+"/"+o.Live.GetName()] || slices.Contains(kinds.Records, o.Kind) {
				continue
			}
			for _, g := range observed.GroundsOf(o, r.Snapshot.ClaimsOfPort(o)) {
				written[g.Name] = true
			}
		}
	}
	for _, h := range r.SortedHolds() {
		for _, o := range r.Snapshot.Serving[h.Want.Name()] {
			written[h.Want.Name()] = written[h.Want.Name()] || o.Group != r.Group && r.Removes(o.Group, h.Claim) && strays(o, h)
		}
	}
	return r.Mark(ctx, func(name string) bool { return all || written[name] })
}

// marks is true where the run has to mark what it relies on: it works in the place of a command that was taken for dead,
// or its turn is over, as when it has waited for an address before it writes a record.
func (r *Objects) marks() bool { return r.Options.Turn == nil || r.Options.Turn.Succeeds(r.Group) }

// Mark puts the run's mark on claims that the run has only relied on so far, where it has to (marks). Where one has moved since it was read it is decided on anew.
func (r *Objects) Mark(ctx context.Context, named func(name string) bool) error {
	if !r.marks() {
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
			return r.Overtaken(h) // another deployment of the owner has got it
		}
	}
	if err := r.CheckWildcards(ctx); err != nil { // of what was lost and taken anew
		return err
	}
	return r.CheckOpen()
}

// restsOn are the names of the claims on which a rendered object rests, as far as the run holds them.
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
	claims := make([]*state.Claim, 0, len(r.Holds))
	if o.Kind == kinds.ProviderLeasedIP {
		for _, h := range r.Holds {
			claims = append(claims, h.Claim)
		}
	}
	for _, g := range observed.GroundsOf(observed.Owned{Kind: o.Kind, Live: cluster.Rendered(o), Group: r.Group}, claims) {
		names = append(names, g.Name)
	}
	return names
}

// touched is the object as the run writes it: with what it only keeps. One that would not be written gets
// the run's nonce (touch) where it rests on a claim that the run has marked.
func (r *Objects) touched(o render.Object) (out render.Object, touch bool) {
	live := r.Find(o)
	return r.TouchedFrom(r.wakes(r.KeepTaken(o, live)), live)
}

// TouchedFrom is touched for an object of which another reading is known.
func (r *Objects) TouchedFrom(o render.Object, live *unstructured.Unstructured) (out render.Object, touch bool) {
	o = r.KeepTaken(o, live)
	due := func(name string) bool { h := r.Holds[name]; return h != nil && h.Took && h.Touch }
	if live == nil || !r.touches() || !cluster.Unchanged(o, live, r.Manager(o)) || !slices.ContainsFunc(r.restsOn(o), due) {
		return o, false
	}
	return annotated(o, r.Nonce), true
}

// touches is true where objects are to move that are as they should be.
func (r *Objects) touches() bool {
	for _, h := range r.Holds {
		if h.Took && h.Touch {
			return true
		}
	}
	return false
}

// KeepTaken is the object with the nonce that the live one has of an earlier run of ours.
func (r *Objects) KeepTaken(o render.Object, live *unstructured.Unstructured) render.Object {
	if live == nil || !observed.Owns(live, r.Manager(o), lease.AnnotationTaken) {
		return o
	}
	return annotated(o, live.GetAnnotations()[lease.AnnotationTaken])
}

// annotated is the object with the nonce of the run that has last taken a claim it rests on.
func annotated(o render.Object, nonce string) render.Object {
	body := cluster.Rendered(o)
	annotations := body.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[lease.AnnotationTaken] = nonce
	body.SetAnnotations(annotations)
	return render.Object{Kind: o.Kind, Namespace: o.Namespace, Name: o.Name, Config: body}
}
