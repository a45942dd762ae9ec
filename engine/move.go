package engine

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/engine/observed"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/managed"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
)

// A migration is wants of several transactions, with long waits between them: the new routes, the DNS records, and the end of the old
// routes. Each want is made of what was read for its transaction; what has changed since is not moved.

// Move says which routes of a lease go to another kind. Each goes by itself: one that cannot go stays, and the others go. Claims do not
// change.
type Move struct {
	Routes []Moving
	// Records are the DNS records of hosts of the routes.
	Records []render.Object
	// Target is what is kept of the kind to which all routes of the lease go: empty for that of the configuration; nil while one stays.
	Target *string
	// Ends deletes the old routes once their successors are known to serve, and then Companions, which no other route needs.
	Ends       bool
	Companions []observed.Object
	// Awaits only waits until the successors are known to serve, and needs no turn. It tells of each if the routes were Changed before.
	Awaits, Changed bool
}

// Moving is a route that goes to another kind.
type Moving struct {
	// Old is the route as it was seen. Host is its host, Claim the name of the claim on that, and Key the part that it serves; Held is true if
	// the lease holds that.
	Old        observed.Object
	Host       string
	Claim, Key string
	Held       bool
	// New is its successor, Was is that as it was seen, nil if there was none.
	New Key
	Was *unstructured.Unstructured
	// With are the routes that accompany its successor, and that are waited for with it.
	With []Key
	// Objects are written for it. Message is what a person is told of the delete of the old route.
	Objects []Desired
	Message string
}

// withMoved adds the parts under the routes that go, as the lease has them.
func (v view) withMoved(things []state.Hold) []state.Hold {
	if v.want.Move == nil {
		return things
	}
	for _, m := range v.want.Move.Routes {
		c := v.w.Claim(m.Claim)
		own := v.own(c, m.Key)
		if own == nil {
			continue
		}
		i := slices.IndexFunc(things, func(h state.Hold) bool { return h.Name() == c.Name() })
		if i < 0 {
			i, things = len(things), append(things, state.Hold{Kind: c.Kind, Thing: c.Thing, SharingKey: c.SharingKey})
		}
		part := *own
		part.Run = ""
		things[i].Parts = append(things[i].Parts, part)
	}
	slices.SortFunc(things, state.Hold.Compare)
	return things
}

// SameRoute reports whether two versions of a route have the same spec, labels and annotations.
func SameRoute(a, b *unstructured.Unstructured) bool {
	return a == b || a != nil && b != nil && a.GetUID() == b.GetUID() && (a.GetDeletionTimestamp() == nil) == (b.GetDeletionTimestamp() == nil) &&
		managed.Contains(a.Object["spec"], b.Object["spec"]) && managed.Contains(b.Object["spec"], a.Object["spec"]) &&
		maps.Equal(a.GetAnnotations(), b.GetAnnotations()) && maps.Equal(a.GetLabels(), b.GetLabels())
}

// lost returns why the lease does not have the part under a route as it had; nil if it does.
func (v view) lost(m Moving) error {
	c := v.w.Claim(m.Claim)
	part, why := c.Part(m.Key), ""
	switch {
	case !m.Held && (c == nil || len(c.Parts) == 0 && c.Unreadable == ""), part != nil && part.Lease.Group() == v.group && !c.Deleting:
		return nil
	case !m.Held:
		why = "it was claimed meanwhile"
	case part == nil || c.Deleting:
		why = "the lease has given it up meanwhile"
	default:
		why = "lease " + part.Lease.String() + " has got it meanwhile"
	}
	return fmt.Errorf("host %s: %s; its old route stays, and the same command goes on when no other one works on the lease", m.Host, why)
}

// staying returns why a route that is to go stays as it is; nil if it goes.
func (v view) staying(m Moving) error {
	if v.isGone(m) {
		return nil
	}
	if err := v.lost(m); err != nil {
		return err
	}
	old, successor := v.w.live(keyOf(m.Old)), v.w.live(m.New)
	writes := slices.ContainsFunc(m.Objects, func(d Desired) bool { return d.key() == m.New })
	switch {
	case old.wrote == nil && !SameRoute(old.live, m.Old.Live), successor.wrote == nil && writes && successor.live != nil && !SameRoute(successor.live, m.Was):
		return fmt.Errorf("%s was changed meanwhile; it stays, and the same command carries the change over", m.Old)
	case (!writes || v.want.Move.Ends) && (successor.live == nil || isDeleting(successor.live)):
		return fmt.Errorf("host %s: its new route, %s, is gone again; its old route stays, and the same command writes it again", m.Host, m.New)
	case !writes && successor.wrote == nil && !SameRoute(successor.live, m.Was):
		return fmt.Errorf("host %s: its new route, %s, was changed meanwhile; its old route stays, and the same command looks at that", m.Host, m.New)
	}
	for _, d := range slices.Concat(m.Objects, v.recordsOf(m)) {
		if _, err := v.writeOne(d); err != nil {
			return err
		}
	}
	return nil
}

// recordsOf returns the DNS records that are written for the host of a route: none if another deployment has its records, nor one that
// has to wait for what it replaces.
func (v view) recordsOf(m Moving) (out []Desired) {
	for _, o := range v.want.Move.Records {
		if recordHost(o) == m.Host && !v.f.told[isStuck(o)] && v.w.Snapshot.RecordHolder(v.group, v.w.Claim(m.Claim), m.Host) == "" {
			out = append(out, Desired{Object: o, Manager: lease.FieldManager})
		}
	}
	return out
}

// onlyAwaits reports whether a step looks, or waits, for what needs no turn.
func (v view) onlyAwaits(s Step) bool {
	return v.want.Move != nil && v.want.Move.Awaits && !slices.ContainsFunc(s.Requests, func(r Request) bool { return r.Verb != GetLive })
}

// going returns the routes that go.
func (v view) going() []Moving {
	switch {
	case v.want.Move == nil:
		return nil
	case v.want.Move.Awaits:
		return v.want.Move.Routes
	}
	if v.memo.going == nil {
		v.memo.going = slices.DeleteFunc(slices.Clone(v.want.Move.Routes), func(m Moving) bool { return v.staying(m) != nil })
	}
	return v.memo.going
}

// movedStages returns the objects of routes by kinds.Stages, each once.
func movedStages(routes []Moving) [][]Desired {
	out, seen := make([][]Desired, len(kinds.Stages)), map[Key]bool{}
	for _, m := range routes {
		for _, d := range m.Objects {
			if !seen[d.key()] {
				seen[d.key()] = true
				i := slices.IndexFunc(kinds.Stages, func(stage []kinds.Kind) bool { return slices.Contains(stage, d.Object.Kind) })
				out[i] = append(out[i], d)
			}
		}
	}
	return out
}

// readMovedUnder reads the claims under the routes that were not read in the command's turn, since nobody of the owner held them, or that
// were read before the route.
func (v view) readMovedUnder() (out Step) {
	if v.want.Move == nil || v.want.Move.Awaits || !v.t.Settings.Waits {
		return out
	}
	for _, m := range v.want.Move.Routes {
		if !v.isGone(m) && v.w.see(m.Claim).Sent < max(v.w.Turn.Alone, v.w.live(keyOf(m.Old)).sent) {
			out.Requests = append(out.Requests, Request{Verb: Get, On: OfClaim{Name: m.Claim}, Why: "who holds it now"})
		}
	}
	return out
}

// recordsWhile returns the DNS records of the hosts whose routes all go.
func (m *Move) recordsWhile(going []Moving) []render.Object {
	stays := func(r Moving) bool {
		return !slices.ContainsFunc(going, func(g Moving) bool { return g.Old.UID() == r.Old.UID() })
	}
	return slices.DeleteFunc(slices.Clone(m.Records), func(o render.Object) bool {
		return slices.ContainsFunc(m.Routes, func(r Moving) bool { return r.Host == recordHost(o) && stays(r) })
	})
}

// isGone reports whether the old route was deleted, or was seen to be gone after the lease wanted to delete it.
func (v view) isGone(m Moving) bool {
	s, known := v.f.objects[m.Old.UID()]
	return v.want.Move.Ends && known && (s.deleted > 0 || !s.there && !s.stale)
}

// isWaiting reports whether an old route stays because its successor is not known to serve.
func (v view) isWaiting(m Moving) bool {
	_, waits := v.f.stays[keyOf(m.Old)]
	return waits
}

// endMoved deletes the old routes, once their successors were read again in the command's turn; then their companions, unless a route
// stays that was to go.
func (v view) endMoved() Step {
	if v.want.Move == nil || !v.want.Move.Ends {
		return Step{}
	}
	var all Step
	for _, m := range v.going() {
		switch s := v.endOne(m); {
		case len(all.Requests) == most:
		case s.idle():
		case len(s.Requests) == 0:
			return s
		default:
			all.Requests = append(all.Requests, s.Requests...)
		}
	}
	if len(all.Requests) > 0 || slices.ContainsFunc(v.want.Move.Routes, func(m Moving) bool { return !v.isGone(m) }) {
		return all
	}
	for _, o := range v.want.Move.Companions {
		if s := v.removeAs(o, report.Deleted, ""); !s.idle() {
			return s
		}
	}
	return Step{}
}

// endOne deletes an old route.
func (v view) endOne(m Moving) Step {
	if v.isGone(m) || v.isWaiting(m) {
		return Step{}
	}
	if v.t.Settings.Waits && v.w.live(m.New).sent <= v.w.Turn.Alone {
		return do(Request{Verb: GetLive, On: m.New, Why: "whether it is still there"})
	}
	s := v.removeAs(m.Old, report.Deleted, m.Message)
	for i := range s.Requests {
		if s.Requests[i].Verb == DeleteObject {
			s.Requests[i].Why = "its successor serves"
		}
	}
	return s
}

// moved returns the routes for which all was seen to be done that the want says, and why others were left as they are.
func (v view) moved() (done map[Key]bool, left []error) {
	done = map[Key]bool{}
	for _, m := range v.want.Move.Routes {
		if v.want.Move.Awaits {
			unknown := func(k Key) bool { return !v.f.served[k] }
			done[keyOf(m.Old)] = !v.t.Settings.Waits || !v.isWaiting(m) && !slices.ContainsFunc(append([]Key{m.New}, m.With...), unknown)
			continue
		}
		if err := v.staying(m); err != nil {
			left = append(left, err)
			continue
		}
		pending := slices.ContainsFunc(slices.Concat(m.Objects, v.recordsOf(m)), func(d Desired) bool {
			s, _ := v.writeOne(d)
			return !s.idle()
		})
		done[keyOf(m.Old)] = v.isGone(m) || !v.want.Move.Ends && !pending
	}
	return done, left
}
