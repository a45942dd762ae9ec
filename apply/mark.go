package apply

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
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

// markWritten marks the claims that the run has only relied on so far, as far as objects rest on them
// that it is about to write or to delete. A run that changes nothing marks nothing.
func (r *objects) markWritten(ctx context.Context, desired []render.Object) error {
	relied := func(h *held) bool { return !h.took }
	if !r.marks() || !slices.ContainsFunc(r.sortedHolds(), relied) {
		return nil
	}
	written := map[string]bool{}
	all := false
	wanted := map[string]bool{}
	for _, o := range desired {
		wanted[o.Kind.Plural+"/"+o.Namespace+"/"+o.Name] = true
		if r.snapshot.operators.theirs(o) {
			continue
		}
		live := r.snapshot.find(o)
		if now, touch := r.touched(o); !touch && !cluster.Unchanged(now, live, r.manager(o)) {
			names := r.restsOn(o)
			all = all || len(names) == 0 // what goes with routes
			for _, name := range names {
				written[name] = true
				if h := r.holds[name]; h != nil && live == nil {
					h.touch = true
				}
			}
		}
	}
	if r.opts.Prune {
		for _, o := range r.snapshot.written[r.group] {
			if wanted[o.kind.Plural+"/"+o.live.GetNamespace()+"/"+o.live.GetName()] || slices.Contains(kinds.Records, o.kind) {
				continue
			}
			for _, g := range groundsOf(o, r.snapshot.claimsOfPort(o)) {
				written[g.name] = true
			}
		}
	}
	for _, h := range r.sortedHolds() {
		for _, o := range r.snapshot.serving[h.want.Name()] {
			written[h.want.Name()] = written[h.want.Name()] || o.group != r.group && r.removes(o.group, h.claim) && strays(o, h)
		}
	}
	return r.mark(ctx, func(name string) bool { return all || written[name] })
}

// marks is true where the run has to mark what it relies on: it works in the place of a command that was taken for dead,
// or its turn is over, as when it has waited for an address before it writes a record.
func (r *objects) marks() bool { return r.opts.turn == nil || r.opts.turn.Succeeds(r.group) }

// mark puts the run's mark on claims that the run has only relied on so far, where it has to (marks). Where one has moved since it was read it is decided on anew.
func (r *objects) mark(ctx context.Context, named func(name string) bool) error {
	if !r.marks() {
		return nil
	}
	r.marking = true
	defer func() { r.marking = false }()
	for _, h := range r.sortedHolds() {
		if h.took || !named(h.want.Name()) {
			continue
		}
		if err := r.takeOnce(ctx, h.want, false); err != nil {
			return err
		}
		if now := r.holds[h.want.Name()]; !now.took {
			return r.overtaken(h) // another deployment of the owner has got it
		}
	}
	if err := r.checkWildcards(ctx); err != nil { // of what was lost and taken anew
		return err
	}
	return r.checkOpen()
}

// restsOn are the names of the claims on which a rendered object rests, as far as the run holds them.
func (r *objects) restsOn(o render.Object) []string {
	var names []string
	if slices.Contains(kinds.Pools, o.Kind) {
		for name, h := range r.holds {
			if h.want.Kind == state.Address && o.Name == config.AddressPoolName(h.claim.Addr()) {
				names = append(names, name)
			}
		}
		return names
	}
	claims := make([]*state.Claim, 0, len(r.holds))
	if o.Kind == kinds.ProviderLeasedIP {
		for _, h := range r.holds {
			claims = append(claims, h.claim)
		}
	}
	for _, g := range groundsOf(owned{kind: o.Kind, live: cluster.Rendered(o), group: r.group}, claims) {
		names = append(names, g.name)
	}
	return names
}

// touched is the object as the run writes it: with what it only keeps. One that would not be written gets
// the run's nonce (touch) where it rests on a claim that the run has marked.
func (r *objects) touched(o render.Object) (out render.Object, touch bool) {
	live := r.find(o)
	return r.touchedFrom(r.wakes(r.keepTaken(o, live)), live)
}

// touchedFrom is touched for an object of which another reading is known.
func (r *objects) touchedFrom(o render.Object, live *unstructured.Unstructured) (out render.Object, touch bool) {
	o = r.keepTaken(o, live)
	due := func(name string) bool { h := r.holds[name]; return h != nil && h.took && h.touch }
	if live == nil || !r.touches() || !cluster.Unchanged(o, live, r.manager(o)) || !slices.ContainsFunc(r.restsOn(o), due) {
		return o, false
	}
	return annotated(o, r.nonce), true
}

// touches is true where objects are to move that are as they should be.
func (r *objects) touches() bool {
	for _, h := range r.holds {
		if h.took && h.touch {
			return true
		}
	}
	return false
}

// keepTaken is the object with the nonce that the live one has of an earlier run of ours.
func (r *objects) keepTaken(o render.Object, live *unstructured.Unstructured) render.Object {
	if live == nil || !owns(live, r.manager(o), lease.AnnotationTaken) {
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
