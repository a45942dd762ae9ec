package engine

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/plan"
	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/state"
)

// Object is an object of a deployment group as it was read.
type Object struct {
	Kind  kinds.Kind
	Live  *unstructured.Unstructured
	Group lease.Group
	// Lease is the lease that it is of, by its namespace and its labels.
	Lease lease.ID
	// Ours is true if this program wrote it. Stays is true if Akash's provider keeps it: then this program withdraws its
	// fields, and deletes nothing.
	Ours, Stays bool
	// Near are the names of the claims that it may serve.
	Near []string
	// Record is the host of a DNS record, empty for any other object.
	Record string
	// Runs is true for what the lease runs: it serves no claim by itself.
	Runs bool
}

func (o Object) uid() types.UID { return o.Live.GetUID() }

// String returns the kind, and the namespace and name.
func (o Object) String() string {
	return o.Kind.Singular + " " + o.Live.GetNamespace() + "/" + o.Live.GetName()
}

// seenObject is what was seen of an object since everything was read.
type seenObject struct {
	object Object
	// there is true while it exists for the deployment group that it was of.
	there bool
	// sent is when the request was sent that saw it last, answered when its answer came; at is that by the steady clock.
	sent, answered Stamp
	at             time.Time
	// deleted is when the API server has deleted it for this lease, or has let go of this program's fields; 0 if it has not.
	// by is when the reading was sent on which that rested, or that it is gone.
	deleted, by Stamp
	// since is when it was first read again and still there, by the steady clock.
	since time.Time
	// stale is true if a delete has met another version, or has no answer: then unclear is true. misses counts these deletes,
	// why is the error of the last one.
	stale, unclear bool
	misses         int
	why            error
	// ends is what is told once it is gone; an Event without Action if nothing more is.
	ends Event
}

// foldObject records an object as it was read again.
func (f *facts) foldObject(r Request, live *unstructured.Unstructured, sent, answered Stamp, at time.Time) {
	o := r.Object
	s := f.objects[o.uid()]
	s.there = live != nil && live.GetUID() == o.uid() && state.SameTenant(o.Live, live)
	if !s.there && s.by == 0 {
		s.by = r.Read
	}
	if s.object = o; s.there {
		s.object.Live = live
		if s.since.IsZero() && !s.stale {
			s.since = at
		}
	} else if s.unclear && s.deleted == 0 {
		s.deleted = answered
	}
	s.sent, s.answered, s.at, s.stale, s.unclear = sent, answered, at, false, false
	f.objects[o.uid()] = s
}

// foldDelete records the answer to the delete of an object, or to the withdrawal from it. An object without finalizers is
// gone then.
func (f *facts) foldDelete(r Request, a Answer, sent, answered Stamp, at time.Time) {
	s := f.objects[r.Object.uid()]
	s.object, s.there, s.answered, s.at = r.Object, true, answered, at
	switch {
	case a.Stale:
		s.stale, s.unclear, s.why = true, s.unclear || a.Unclear, a.Err
		s.misses++
	default:
		s.deleted, s.by, s.stale = answered, r.Read, false
		s.there = r.Verb == DeleteObject && len(r.Object.Live.GetFinalizers()) > 0
		if r.Event != nil && r.Event.Then != "" {
			s.ends = Event{Action: r.Event.Then, Object: r.Object}
		}
	}
	s.sent = sent
	f.objects[r.Object.uid()] = s
}

// reading returns the latest reading of everything that the owner has.
func (v view) reading() look {
	if now := v.w.looks[v.group.Owner]; now.sent > v.w.read {
		return now
	}
	return look{v.w.Objects, v.w.read}
}

// readOwner returns the request for another such reading, which has to be sent after a stamp. If one that was has failed, so has
// the lease. Where a transaction is for several owners, one reading is for all.
func (v view) readOwner(after Stamp, why string) Step {
	if failed := v.w.unread[v.group.Owner]; failed.sent > after {
		return v.giveBack(failed.err)
	}
	for _, want := range v.t.Wants {
		if want.Request.Lease.Owner != v.group.Owner {
			return do(Request{Verb: ReadAll, Why: why})
		}
	}
	return do(Request{Verb: Look, Owner: v.group.Owner, Why: why})
}

// changed returns when the lease last saw that something has gone that may have served a claim; 0 if nothing has.
func (v view) changed() (last Stamp) {
	for _, s := range v.f.objects {
		if !s.object.Runs && (!s.there || s.deleted > 0) {
			last = max(last, s.answered)
		}
	}
	return last
}

// remove deletes an object, or withdraws this program's fields from one that stays; message goes into the event.
func (v view) remove(o Object, message string) Step { return v.removeAs(o, v.deleted(), message) }

// deleted is what a person is told of an object that goes because the lease does not want it any more.
func (v view) deleted() report.Action {
	if v.want.Apply != nil {
		return report.Pruned
	}
	return report.Deleted
}

// removeAs is remove with what a person is told.
func (v view) removeAs(o Object, action report.Action, message string) Step {
	s, known := v.f.objects[o.uid()]
	event := &Event{Action: action, Object: o, Message: message}
	changes := v.change(func() plan.Change { return plan.Remove(o.Kind.Singular, o.Live, message) })
	switch pause := v.pause(o.String(), s.misses, s.at); {
	case known && (s.deleted > 0 || !s.there && !s.stale):
		return Step{}
	case s.stale && s.misses >= v.t.Settings.Tries:
		return v.giveBack(inVain(o.key(), "deleted", s.object.Live, s.why))
	case s.stale && !pause.idle():
		return pause
	case s.stale && !s.unclear:
		return do(Request{Verb: GetObject, Object: o, Read: v.reading().sent, Why: "it has changed"})
	case s.stale:
		return do(Request{Verb: GetObject, Object: o, Read: v.reading().sent, Event: event, Why: "whether it was deleted"})
	case o.Stays:
		return do(Request{Verb: Withdraw, Object: o, Why: "Akash's provider keeps it"})
	case known:
		o.Live = s.object.Live
	}
	if v.t.Settings.Waits {
		if event.Action, event.Message = report.Deletion(action, o.Live, message); event.Action != action {
			event.Then = action
		}
	}
	return do(Request{Verb: DeleteObject, Object: o, Event: event, Changes: changes, Again: known, Read: v.reading().sent, Why: cmp.Or(message, "the lease gives it up")})
}

// await waits until objects are gone; text is what a person is told of one that is still there when the time is over. The time
// begins with the first wait of the lease.
func (v view) await(objects []Object, text func(Object) string) Step {
	begun, late, gone := v.w.Clock, []string(nil), []string(nil)
	for _, s := range v.f.objects {
		if !s.since.IsZero() && s.since.Before(begun) {
			begun = s.since
		}
	}
	over := begun.Add(v.t.Settings.Wait)
	for _, o := range objects {
		s, known := v.f.objects[o.uid()]
		next := v.untilNext(o.String()+" to be gone", s.at, over)
		switch {
		case !v.t.Settings.Waits, known && !s.there:
			continue // a dry run takes it for gone
		case !known, s.sent < s.deleted:
		case !v.w.Clock.Before(over):
			late, gone = append(late, text(s.object)), append(gone, o.String())
			continue
		case !next.idle():
			return next
		}
		look := Request{Verb: GetObject, Object: o, Read: v.reading().sent, Why: "whether it is gone"}
		if known && s.ends.Action != "" {
			look.Event = &s.ends
		}
		return do(look)
	}
	if len(late) > 0 {
		return v.giveBack(&report.TimeoutError{After: v.t.Settings.Wait, Waiting: late, Gone: gone})
	}
	return Step{}
}

// deletedObjects returns the objects that the lease has deleted beside what it runs, in one order.
func (v view) deletedObjects() (out []Object) {
	for _, s := range v.f.objects {
		if s.deleted > 0 && !s.object.Runs {
			out = append(out, s.object)
		}
	}
	slices.SortFunc(out, func(a, b Object) int { return strings.Compare(a.String(), b.String()) })
	return out
}
