package engine

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/engine/observed"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
)

// webhookLag limits how long a webhook may take to notice that a route was deleted: that of ingress-nginx reads a cache.
const webhookLag = 5 * time.Second

// check sends what may be refused after the first object as dry runs, so that a lease that is refused has written nothing. The
// namespace has to exist for that.
func (v view) check(stages [][]Desired) Step {
	if v.want.Apply == nil || v.hasWritten() || !v.t.Settings.Waits {
		return Step{}
	}
	due, first, asks := v.toCheck(stages)
	if len(due) == 0 {
		return Step{}
	}
	if s := v.orGiveBack(v.makeNamespace(Desired{Object: namespaceOf(v.id), Manager: lease.FieldManager})); !s.idle() {
		return s
	}
	var all Step
	for _, d := range due {
		k := d.key()
		if r, refused := v.f.refusals[k]; refused {
			return v.orGiveBack(v.obstructed(d, r))
		}
		if now := v.w.live(k); now.conflict != nil {
			s, err := v.overcome(d, now)
			if err == nil && (s.idle() || len(s.Requests) == 1 && overwrites(s.Requests[0])) {
				continue // it stays, or is overwritten in its turn, if nothing else is refused
			}
			return v.orGiveBack(s, err)
		}
		passed := v.fit(v.w.live(k))
		if v.past.allowed[k] == passed {
			continue
		}
		o, _ := v.asApplied(d)
		if sent, checked := v.f.checked[k]; checked && reflect.DeepEqual(sent, render.Look(o).Object) {
			v.past.allowed[k] = passed
			continue
		}
		if len(all.Requests) == most {
			break
		}
		on := v.applies(d, o, v.w.live(k).live)
		if err := v.keptByOthers(d, on); err != nil {
			return v.giveBack(err)
		}
		if !asks {
			all.Requests = append(all.Requests, Request{Verb: CheckObject, On: on, Why: "whether it would be refused, before " + first.String() + " is written"})
		}
	}
	return all
}

// toCheck returns the objects of the lease's own that are to be written, but for the first one, and for those that others may own: who
// has these was read. asks is true if the write itself asks whether the object would be refused: it is the only one, nothing of all that is
// there yet, and what the lease makes before it is taken off again.
func (v view) toCheck(stages [][]Desired) (due []Desired, first Key, asks bool) {
	for _, d := range slices.Concat(stages...) {
		k := d.key()
		now := v.w.live(k)
		if k.Kind == kinds.Namespace || slices.Contains(kinds.Pools, k.Kind) || v.past.fits[k] == v.fit(now) {
			continue
		}
		if v.past.due[k] == v.fit(now) {
			due = append(due, d)
			continue
		}
		o, touch := v.asApplied(d)
		if touch || isDeleting(now.live) {
			continue
		}
		if now.isAsWanted(o, d.Manager) {
			v.past.fits[k] = v.fit(now)
			continue
		}
		due, v.past.due[k] = append(due, d), v.fit(now)
	}
	if len(due) == 0 {
		return nil, first, false
	}
	declares := func(d Desired) bool { return slices.Contains(kinds.ClaimLike, d.Object.Kind) }
	known := func(d Desired) bool { return v.w.at(d.key()) != nil }
	own := slices.DeleteFunc(slices.Clone(due), declares)
	asks = len(own) == 1 && !slices.ContainsFunc(due, known) && !v.isOperated()
	return slices.DeleteFunc(due[1:], declares), due[0].key(), asks
}

// obstructed decides about an object that the API server refuses. A new route is created before the old one is deleted. An
// admission webhook may reject that, because the old route has the host: that of ingress-nginx does, and its message names the old
// route. Only then the old route is deleted first, and put back if the new one is rejected again.
func (v view) obstructed(d Desired, r refusal) (Step, error) {
	old, found := v.f.ways[d.key()]
	if !found {
		old, found = v.obstacle(d.Object, r.err)
	}
	switch refused := fmt.Errorf("%s: %w", d.Object, r.err); {
	case !found:
		return Step{}, refused
	case !v.t.Settings.Waits: // a dry run cannot delete the old route
		return Step{Passed: &d}, nil
	case v.f.objects[old.UID()].deleted == 0:
		return v.makeWay(d.key(), old, refused)
	case v.w.Clock.Sub(v.f.objects[old.UID()].at) > webhookLag:
		return Step{}, refused
	case r.at.Add(100*time.Millisecond).After(v.w.Clock) && r.answered > v.f.objects[old.UID()].deleted:
		return Step{Wait: "the API server to notice that " + old.String() + " is gone", Until: r.at.Add(100 * time.Millisecond)}, nil
	}
	o, _ := v.asApplied(d)
	return do(Request{Verb: CheckObject, On: OfRendered{Apply: o, Manager: d.Manager, Over: v.w.live(d.key()).live}, Why: "the old route is gone"}), nil
}

// obstacle returns the route that a rejection names and that the new one replaces.
func (v view) obstacle(o render.Object, refused error) (old observed.Object, found bool) {
	if !slices.Contains(kinds.RouteKinds, o.Kind) {
		return old, false
	}
	named := strings.FieldsFunc(refused.Error(), func(c rune) bool { return strings.ContainsRune(" \t\n\"'`,;:()[]", c) })
	for _, use := range state.HostUses(render.Look(o)) {
		for _, was := range v.w.Snapshot.Serving(state.HostName(use.Host)) {
			k := keyOf(was)
			if was.Kind != o.Kind || k.Namespace == o.Namespace || !slices.Contains(named, nameOf(k)) || v.w.Snapshot.Operators.Moves(was) {
				continue
			}
			if v.goesFor(was, use) && (was.Group == v.group || v.isStray(was, state.HostName(use.Host))) {
				return was, true
			}
		}
	}
	return old, false
}

// makeWay deletes a route that a new one replaces, if the API server would let this command create it again.
func (v view) makeWay(of Key, old observed.Object, refused error) (Step, error) {
	again := copyOf(old)
	k := KeyOf(again)
	if _, checked := v.f.checked[k]; !checked {
		if r, cannot := v.f.refusals[k]; cannot {
			return Step{}, fmt.Errorf("%w\n%s stays: it could not be put back: %w", refused, old, r.err)
		}
		return do(Request{Verb: CheckObject, On: OfRendered{Apply: again, Manager: lease.FieldManager, Makes: true}, Why: "whether it could be put back"}), nil
	}
	if s := v.readUnder(old); !s.idle() {
		return s, nil
	}
	s := v.remove(old, "")
	if s.idle() {
		return Step{}, fmt.Errorf("%w\n%s stays: it serves for another lease by now", refused, old)
	}
	for i := range s.Requests {
		if on, is := s.Requests[i].On.(OfObject); is {
			on.For = of
			s.Requests[i].On = on
		}
	}
	return s, nil
}

// putBack creates the routes again that were deleted for others that were refused. One that somebody else has made stays.
func (v view) putBack() Step {
	lost := v.notPutBack()
	for _, of := range keysOf(v.f.ways) {
		old := v.f.ways[of]
		k := keyOf(old)
		switch now := v.w.live(k); {
		case v.f.objects[old.UID()].deleted == 0 || lost[k] != nil || now.live != nil && !now.stale:
			continue
		case now.stale:
			return do(Request{Verb: GetLive, On: k, Back: true, Why: "whether it was put back"})
		}
		return do(Request{
			Verb: PutObject, On: OfRendered{Apply: copyOf(old), Manager: lease.FieldManager}, Back: true, Why: "the new route was refused",
			Event: &Event{Action: report.Created, Of: k, Message: "put back"},
		})
	}
	return Step{}
}

// notPutBack returns why routes that were deleted for others could not be put back.
func (v view) notPutBack() map[Key]error {
	lost := map[Key]error{}
	for _, old := range v.f.ways {
		k := keyOf(old)
		now := v.w.live(k)
		switch r, refused := v.f.refusals[k]; {
		case v.f.objects[old.UID()].deleted == 0:
		case refused:
			lost[k] = r.err
		case v.f.refused[k.String()] != nil:
			lost[k] = v.f.refused[k.String()]
		case (now.stale || now.live == nil) && now.misses >= 2*v.t.Settings.Tries:
			lost[k] = now.why
		}
	}
	return lost
}

// copyOf returns a deleted route for an apply that creates it.
func copyOf(old observed.Object) render.Object {
	body := &unstructured.Unstructured{Object: map[string]any{"spec": old.Live.Object["spec"]}}
	body.SetGroupVersionKind(old.Live.GroupVersionKind())
	body.SetNamespace(old.Live.GetNamespace())
	body.SetName(old.Live.GetName())
	body.SetLabels(old.Live.GetLabels())
	body.SetAnnotations(old.Live.GetAnnotations())
	body.SetOwnerReferences(old.Live.GetOwnerReferences())
	return render.Object{Kind: old.Kind, Namespace: body.GetNamespace(), Name: body.GetName(), Config: body}
}
