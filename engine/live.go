package engine

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/engine/observed"
	"github.com/akash-net/kubectl-akash-net/engine/plan"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/managed"
	"github.com/akash-net/kubectl-akash-net/render"
)

// Key names an object of the cluster.
type Key struct {
	Kind            kinds.Kind
	Namespace, Name string
}

// KeyOf returns the key of a rendered object.
func KeyOf(o render.Object) Key { return Key{o.Kind, o.Namespace, o.Name} }

func keyOf(o observed.Object) Key { return Key{o.Kind, o.Live.GetNamespace(), o.Live.GetName()} }

// keysOf returns the keys of what is known by key in one order.
func keysOf[V any](of map[Key]V) []Key {
	return slices.SortedFunc(maps.Keys(of), Key.compare)
}

func (k Key) compare(other Key) int { return strings.Compare(k.String(), other.String()) }

// String returns the kind, and the namespace and name.
func (k Key) String() string {
	if k.Namespace == "" {
		return k.Kind.Singular + " " + k.Name
	}
	return k.Kind.Singular + " " + k.Namespace + "/" + k.Name
}

// inVain returns the error of an object that was not written or deleted in Settings.Tries tries: live is how it was read last, why what the
// last try has met.
func inVain(k Key, done string, live *unstructured.Unstructured, why error) error {
	if errors.Is(why, errUnanswered) {
		return fmt.Errorf("%s could not be %s: %w; run the same command again", k, done, why)
	}
	e := &report.MovingError{Done: done, Kind: k.Kind.Singular, Namespace: k.Namespace, Name: k.Name, Why: why.Error()}
	if live != nil {
		e.By = managed.LastWriter(live)
	}
	return e
}

// seenLive is an object as it was read, or written: live is nil if there is none.
type seenLive struct {
	live *unstructured.Unstructured
	// sent is when the request was sent that saw it, answered when its answer came; at is the same by the steady clock.
	sent, answered Stamp
	at             time.Time
	// wrote is what the command has applied to it last: what others make of that is not applied again.
	wrote map[string]any
	// stale is true if an apply has met another version since, or has no answer. misses counts these writes, why is the error of
	// the last one. conflict is what other field managers refuse; nil for nothing.
	stale    bool
	misses   int
	why      error
	conflict *conflict
}

// conflict is an apply that other field managers refuse.
type conflict struct {
	err      error
	managers []string
	// refused is when it was refused, or met another version later; asked is when a dry run was refused since.
	refused, asked Stamp
}

// live returns what is known of an object.
func (w *World) live(k Key) seenLive {
	if s, known := w.lives[k]; known {
		return s
	}
	return seenLive{live: w.at(k), sent: w.read, answered: w.read}
}

// seeLive records an object as it was read.
func (w *World) seeLive(k Key, live *unstructured.Unstructured, sent, answered Stamp) {
	was := w.live(k)
	now := seenLive{live: live, sent: sent, answered: answered, at: w.Clock, misses: was.misses, why: was.why, conflict: was.conflict}
	if live != nil && was.live != nil && live.GetUID() == was.live.GetUID() {
		now.wrote = was.wrote
	}
	w.lives[k] = now
}

// forgetLive drops what is known of objects that were all read again later.
func (w *World) forgetLive(read Stamp) {
	for k, s := range w.lives {
		if s.answered < read {
			delete(w.lives, k)
		}
	}
}

// refusal is the answer of the API server that refuses an object, with when it came: at is by the steady clock.
type refusal struct {
	err      error
	at       time.Time
	answered Stamp
}

// done is what a lease has done with an object.
type done struct {
	action report.Action
	told   bool
	// overwrote says which values of others were overwritten.
	overwrote string
	// changes is what the write of it has changed, if that is asked for.
	changes *plan.Change
}

// foldPut records the answer to the apply of an object.
func (w *World) foldPut(f *facts, r Request, a Answer, answered Stamp) {
	on := On[OfRendered](r)
	k, body := KeyOf(on.Apply), render.Look(on.Apply).Object
	was := w.live(k)
	w.pooled = w.pooled || slices.Contains(kinds.Pools, k.Kind)
	switch {
	case a.Owned, a.Stale:
		was.stale, was.wrote, was.at, was.why = true, nil, w.Clock, a.Err
		was.misses++
		w.lives[k] = was.refusedBy(a, answered)
		if a.Unclear {
			f.unclear[k] = Desired{Object: on.Apply, Manager: on.Manager}
		}
	case a.Err != nil:
		f.refusals[k] = refusal{a.Err, w.Clock, answered}
	default:
		now := seenLive{live: a.Live, sent: answered, answered: answered, at: w.Clock, wrote: body, misses: was.misses}
		switch {
		case isDeleting(on.Over): // the dry run of what comes once that is gone
			now.live = a.Live.DeepCopy()
			now.live.SetDeletionTimestamp(nil)
		case isDeleting(a.Live):
			now.wrote = nil
		}
		w.lives[k] = now
		f.written(k, r, a, answered)
	}
}

// written records what an apply has done.
func (f *facts) written(k Key, r Request, a Answer, answered Stamp) {
	on := On[OfRendered](r)
	action := report.Configured
	switch {
	case on.Over == nil || isDeleting(on.Over) || a.Made || a.Live.GetUID() != on.Over.GetUID():
		action = report.Created
		f.made[k] = a.Live
	case on.Touch || a.Live.GetResourceVersion() == on.Over.GetResourceVersion():
		action = report.Unchanged
	}
	if was, known := f.done[k]; known && was.action != report.Unchanged {
		action = was.action
	}
	f.done[k] = done{
		action: action, told: f.done[k].told && f.done[k].action == action, overwrote: cmp.Or(on.Overwrites, f.done[k].overwrote),
		changes: cmp.Or(f.done[k].changes, r.Changes),
	}
	f.wrote = max(f.wrote, answered)
	delete(f.refusals, k)
}

// refusedBy returns what is known of an object after other field managers, or another version, have refused an apply.
func (s seenLive) refusedBy(a Answer, answered Stamp) seenLive {
	switch {
	case a.Owned:
		s.conflict = &conflict{err: a.Err, managers: a.Managers, refused: answered}
	case s.conflict != nil:
		s.conflict = &conflict{err: s.conflict.err, managers: s.conflict.managers, refused: answered}
	}
	return s
}

// foldCheck records the answer to the dry run of an apply. One without an answer says nothing: it is sent again, and counts as refused
// after some tries.
func (w *World) foldCheck(t *Transaction, f *facts, r Request, a Answer, answered Stamp) {
	on := On[OfRendered](r)
	k, body := KeyOf(on.Apply), render.Look(on.Apply).Object
	if s := w.live(k); s.conflict != nil {
		c := *s.conflict
		switch c.asked = answered; {
		case a.Owned:
			c.managers = a.Managers
		case a.Err == nil: // nobody refuses it any more: it is read and applied again
			s.stale, s.conflict = true, nil
			s.misses++
			w.lives[k] = s
			return
		default:
			c.refused = answered // it is read again
			s.misses++
		}
		s.conflict = &c
		w.lives[k] = s
		return
	}
	if a.Unclear {
		if f.unheard[k]++; f.unheard[k] < t.Settings.Tries {
			return
		}
	}
	switch {
	case a.Owned:
		w.lives[k] = w.live(k).refusedBy(a, answered)
	case a.Unclear, a.Err != nil && !a.Stale:
		f.refusals[k] = refusal{a.Err, w.Clock, answered}
	default:
		delete(f.refusals, k)
		f.checked[k] = body
	}
}

// isAsWanted reports whether an object is as a lease wants it.
func (s seenLive) isAsWanted(o render.Object, manager string) bool {
	if s.stale || s.conflict != nil {
		return false
	}
	return s.wrote != nil && reflect.DeepEqual(s.wrote, render.Look(o).Object) || plan.Unchanged(o, s.live, manager)
}

// stillServed looks, once a lease has taken what objects of it serve already, whether one of them is there: a release may have
// deleted them meanwhile. If none is, or another deployment of the owner was first, the lease keeps nothing.
func (v view) stillServed() Step {
	if len(v.want.Serves) == 0 {
		return Step{}
	}
	for _, h := range v.things {
		taken, took := v.f.taken[h.Name()]
		if !took {
			return v.giveBack(report.ErrChanged)
		}
		for _, o := range v.want.Serves {
			s := v.f.objects[o.UID()]
			if s.sent <= taken.Written {
				return do(Request{Verb: GetObject, On: OfObject{Object: o}, Why: "whether it still serves what was taken for it"})
			}
			if id, labelled := lease.IDFromLabels(s.object.Live.GetLabels()); s.there && !isDeleting(s.object.Live) && labelled && id.Group() == v.group {
				return Step{}
			}
		}
	}
	return v.giveBack(report.ErrChanged)
}
