package engine

import (
	"cmp"
	"errors"
	"fmt"
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
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/deployed"
)

// seenObject is what was seen of an object since everything was read.
type seenObject struct {
	object observed.Object
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

// isGone reports whether the object is gone, or was deleted.
func (s seenObject) isGone() bool { return s.deleted > 0 || !s.there }

// foldObject records an object as it was read again.
func (f *facts) foldObject(r Request, live *unstructured.Unstructured, sent, answered Stamp, at time.Time) {
	on := On[OfObject](r)
	o := on.Object
	s := f.objects[o.UID()]
	s.there = live != nil && live.GetUID() == o.UID() && state.SameTenant(o.Live, live)
	if !s.there && s.by == 0 {
		s.by = on.Read
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
	f.objects[o.UID()] = s
}

// foldDelete records the answer to the delete of an object, or to the withdrawal from it. An object without finalizers is
// gone then.
func (f *facts) foldDelete(r Request, a Answer, sent, answered Stamp, at time.Time) {
	on := On[OfObject](r)
	s := f.objects[on.Object.UID()]
	s.object, s.there, s.answered, s.at = on.Object, true, answered, at
	switch {
	case a.Stale:
		s.stale, s.unclear, s.why = true, s.unclear || a.Unclear, a.Err
		s.misses++
	default:
		s.deleted, s.by, s.stale = answered, on.Read, false
		s.there = r.Verb == DeleteObject && len(on.Object.Live.GetFinalizers()) > 0
		if r.Event != nil && r.Event.Then != "" {
			s.ends = Event{Action: r.Event.Then, Object: on.Object}
		}
	}
	s.sent = sent
	f.objects[on.Object.UID()] = s
}

// reading returns the latest reading of everything that the owner has.
func (v view) reading() reading[*observed.Snapshot] {
	if now := v.w.looks[v.group.Owner]; now.sent > v.w.read {
		return now
	}
	return reading[*observed.Snapshot]{is: v.w.Snapshot, sent: v.w.read}
}

// readOwner returns the request for another such reading, which has to be sent after a stamp. If one that was has failed, so has
// the lease. Where a transaction is for several owners, one reading is for all.
func (v view) readOwner(after Stamp, why string) Step {
	if failed := v.w.unread[v.group.Owner]; failed.sent > after {
		return v.giveBack(failed.is)
	}
	for _, want := range v.t.Wants {
		if want.Request.Lease.Owner != v.group.Owner || v.group.Owner == "" {
			return do(Request{Verb: ReadAll, Why: why})
		}
	}
	return do(Request{Verb: Look, On: OfOwner(v.group.Owner), Why: why})
}

// changed returns when the lease last saw that something has gone that may have served a claim; 0 if nothing has.
func (v view) changed() (last Stamp) {
	for _, s := range v.f.objects {
		if !s.object.Runs && s.isGone() {
			last = max(last, s.answered)
		}
	}
	return last
}

// remove deletes an object, or withdraws this program's fields from one that stays; message goes into the event.
func (v view) remove(o observed.Object, message string) Step {
	return v.removeAs(o, v.goneAs(report.Deleted), message)
}

// goneAs is what a person is told of what goes because the lease does not want it any more: an apply prunes it.
func (v view) goneAs(otherwise report.Action) report.Action {
	if v.want.Apply != nil {
		return report.Pruned
	}
	return otherwise
}

// removeAs is remove with what a person is told.
func (v view) removeAs(o observed.Object, action report.Action, message string) Step {
	s, known := v.f.objects[o.UID()]
	event := &Event{Action: action, Object: o, Message: message}
	changes := v.change(func() plan.Change { return plan.Remove(o.Kind.Singular, o.Live, message) })
	switch {
	case known && s.isGone():
		return Step{}
	case s.stale:
		read := Request{Verb: GetObject, On: OfObject{Object: o, Read: v.reading().sent}, Why: "it has changed"}
		if s.unclear {
			read.Event, read.Why = event, "whether it was deleted"
		}
		return v.retry(o.String(), s.misses, s.at, inVain(keyOf(o), "deleted", s.object.Live, s.why), read)
	case o.Stays:
		return do(Request{Verb: Withdraw, On: OfObject{Object: o}, Why: "Akash's provider keeps it"})
	case known:
		o.Live = s.object.Live
	}
	if v.t.Settings.Waits {
		if event.Action, event.Message = report.Deletion(action, o.Live, message); event.Action != action {
			event.Then = action
		}
	}
	return do(Request{Verb: DeleteObject, On: OfObject{Object: o, Again: known, Read: v.reading().sent}, Event: event, Changes: changes, Why: cmp.Or(message, "the lease gives it up")})
}

// await waits until objects are gone; text is what a person is told of one that is still there when the time is over.
func (v view) await(objects []observed.Object, text func(observed.Object) string) Step {
	late, s := v.awaitGone(objects, v.t.Settings.Wait)
	if len(late) == 0 {
		return s
	}
	failed := &report.TimeoutError{After: v.t.Settings.Wait}
	for _, o := range late {
		failed.Waiting, failed.Gone = append(failed.Waiting, text(o)), append(failed.Gone, o.String())
	}
	return v.giveBack(failed)
}

// awaitGone waits until objects are gone; late are those that are still there when the time is over, which begins with the first such wait of
// the lease. A dry run takes them for gone.
func (v view) awaitGone(objects []observed.Object, limit time.Duration) (late []observed.Object, _ Step) {
	begun := v.w.Clock
	for _, s := range v.f.objects {
		if !s.since.IsZero() && s.since.Before(begun) {
			begun = s.since
		}
	}
	over := begun.Add(limit)
	for _, o := range objects {
		s, known := v.f.objects[o.UID()]
		next := v.untilNext(o.String()+" to be gone", s.at, over)
		switch {
		case !v.t.Settings.Waits, known && !s.there:
			continue
		case !known, s.sent < s.deleted:
		case !v.w.Clock.Before(over):
			late = append(late, s.object)
			continue
		case !next.idle():
			return nil, next
		}
		look := Request{Verb: GetObject, On: OfObject{Object: o, Read: v.reading().sent}, Why: "whether it is gone"}
		if known && s.ends.Action != "" {
			look.Event = &s.ends
		}
		return nil, do(look)
	}
	return late, Step{}
}

// deletedObjects returns the objects that the lease has deleted beside what it runs, in one order.
func (v view) deletedObjects() (out []observed.Object) {
	for _, s := range v.f.objects {
		if s.deleted > 0 && !s.object.Runs {
			out = append(out, s.object)
		}
	}
	slices.SortFunc(out, func(a, b observed.Object) int {
		return strings.Compare(a.String()+string(a.UID()), b.String()+string(b.UID()))
	})
	return out
}

// overcome decides about an apply that other field managers refuse. One of Akash's claim-like objects is somebody else's who was
// first. If that was another deployment of the same owner, and the lease holds the claim, a transfer has left the object behind:
// the lease takes it over, by force, pinned to a version that it has read, and after which it has read the claims.
func (v view) overcome(d Desired, now seenLive) (Step, error) {
	k, o := d.key(), v.applied(d)
	live, managers := now.live, now.conflict.managers
	refused := func() (Step, error) {
		failed := &report.ConflictError{Object: d.Object.String(), Managers: managers, Err: now.conflict.err}
		if live != nil {
			failed.Differs = !managed.Contains(live.Object, render.Look(o).Object)
			failed.Fields = plan.Write(k.Kind.Singular, render.Look(o).Object, v.over(d, o, live), d.Manager).Conflicts()
			failed.ByHand = v.byHand(d, live, managers)
		}
		return Step{}, failed
	}
	switch {
	case now.sent <= now.conflict.refused: // read it again
		return do(Request{Verb: GetLive, On: k, Why: "who has written it"}), nil
	case live == nil, now.misses >= v.t.Settings.Tries && errors.Is(now.why, now.conflict.err):
		return refused()
	case now.misses >= v.t.Settings.Tries:
		return Step{}, inVain(k, "written", live, now.why)
	}
	if v.want.Apply != nil && v.want.Apply.Only != nil {
		if err := v.unplanned(*v.changeOver(d, v.applies(d, o, live))); err != nil {
			return Step{}, err
		}
	}
	id, labelled := lease.IDFromLabels(live.GetLabels())
	mine, claimLike := labelled && id.Group() == v.group, slices.Contains(kinds.ClaimLike, k.Kind)
	if d.Takes && mine {
		return v.seize(d, live), nil
	}
	if v.staysDeclared(k) {
		service, _, _ := unstructured.NestedString(live.Object, "spec", "service_name")
		message := "Akash's provider has declared it, for service " + service + ", and never changes that"
		return v.tells(Event{Action: report.Kept, Of: k, Message: message, Once: "declared " + k.String()}), nil
	}
	runs := v.runs(d.Object)
	if (runs || mine && (claimLike || v.t.Settings.Reclaims)) && now.conflict.asked <= now.sent {
		return do(Request{Verb: CheckObject, On: v.applies(d, o, live), Why: "who owns what of it now"}), nil
	}
	byHand := v.t.Settings.Reclaims && v.byHand(d, live, managers)
	switch {
	case byHand && runs:
		return v.seizeByHand(d, live), nil
	case runs && !v.mayForce(live, managers):
		return refused()
	case runs:
		return v.seize(d, live), nil
	}
	adopts := byHand || v.adopts(k, live, id, labelled) || mine && claimLike && areFormer(v.group.Owner, managers)
	if adopts {
		if s := v.readGrounds(k, live, now.answered); !s.idle() {
			return s, nil
		}
		adopts = !labelled || mine || !observed.Object{Kind: k.Kind, Live: live, Group: id.Group()}.IsEntitled(v.w.claimsOf(id.Group()), v.w.Claim)
	}
	switch lost := v.lostOf(k, live); {
	case adopts && lost != nil:
		return Step{}, lost
	case byHand:
		return v.seizeByHand(d, live), nil
	case adopts:
		return v.seize(d, live), nil
	case !claimLike || mine:
		return refused()
	}
	holder := state.Holder{Object: k.Kind.Singular + " " + nameOf(k), Since: live.GetCreationTimestamp().Time}
	if labelled {
		holder.Owner, holder.Lease, holder.Namespace = id.Owner, id, id.Namespace()
	}
	refusal := &report.HeldError{Lease: v.id}
	for _, h := range v.things {
		rests := observed.GroundsOf(observed.Object{Kind: k.Kind, Live: render.Look(o), Group: v.group}, []*state.Claim{h.Claim()})
		if slices.ContainsFunc(rests, func(g observed.Ground) bool { return g.Name == h.Name() }) {
			refusal.Held = append(refusal.Held, report.HeldThing{Kind: h.Kind, Thing: h.Thing, By: holder, At: h.At})
		}
	}
	return Step{}, refusal
}

// staysDeclared reports whether a ProviderLeasedIP stays as Akash's provider has declared it for the lease, and so differs from the wanted.
func (v view) staysDeclared(k Key) bool {
	now := v.w.live(k)
	return k.Kind == kinds.ProviderLeasedIP && now.conflict != nil && now.live != nil &&
		slices.ContainsFunc(v.reading().is.DeclaredIn(v.id.Namespace(), v.group), func(o observed.Object) bool { return o.UID() == now.live.GetUID() })
}

func (v view) applied(d Desired) render.Object {
	o, _ := v.asApplied(d)
	return o
}

// seize applies an object by force.
func (v view) seize(d Desired, live *unstructured.Unstructured) Step {
	on := v.applies(d, v.applied(d), live)
	on.Force = true
	return do(Request{Verb: PutObject, On: on, Changes: v.changeOver(d, on), Why: "the lease takes it over"})
}

// seizeByHand applies an object by force that somebody has changed by hand, and tells what that overwrites.
func (v view) seizeByHand(d Desired, live *unstructured.Unstructured) Step {
	on := v.applies(d, v.applied(d), live)
	var taken []string
	for _, f := range plan.Write(d.Object.Kind.Singular, render.Look(on.Apply).Object, live, d.Manager).Conflicts() {
		taken = append(taken, report.Taken(f))
	}
	on.Force, on.Overwrites = true, "taken back: "+strings.Join(taken, "; ")
	return do(Request{Verb: PutObject, On: on, Changes: v.changeOver(d, on), Why: "somebody has changed it by hand"})
}

// byHand reports whether fields of an object that other managers own are those that kubectl users have set on one that this
// program has written for the lease: only such fields are ever taken back by force. live has to be the version over which the
// managers refuse the apply.
func (v view) byHand(d Desired, live *unstructured.Unstructured, managers []string) bool {
	if len(managers) == 0 || slices.ContainsFunc(managers, func(manager string) bool { return !managed.IsHand(manager) }) {
		return false
	}
	if v.runs(d.Object) {
		return deployed.StandingOf(live, v.group, v.id.Namespace()) == deployed.Ours
	}
	return v.isOwn(d, live) && v.w.Snapshot.Ownership(live).Ours
}

// readGrounds reads the claims on which an object rests that were not read after it.
func (v view) readGrounds(k Key, live *unstructured.Unstructured, answered Stamp) Step {
	parts := observed.GroundsOf(observed.Object{Kind: k.Kind, Live: live, Group: v.group}, v.w.claimsOf(v.group))
	return v.readUnderneath(parts, answered, "who holds it now")
}

// lostOf returns an error if the lease does not hold a claim of an object that it is about to take over.
func (v view) lostOf(k Key, live *unstructured.Unstructured) error {
	lost := observed.Object{Kind: k.Kind, Live: live, Group: v.group}.Lost(v.w.claimsOf(v.group), v.w.Claim)
	for _, h := range v.things {
		if !slices.Contains(lost, h.Name()) {
			continue
		}
		if withheld := v.taking(h).Withheld; len(withheld) > 0 {
			return fmt.Errorf("%s serves %s %s too, which is withheld from the lease: %s. It is not taken over; take that out of it, or transfer it: "+
				"kubectl akash-net transfer %s --to %s", k.Kind.Singular+" "+nameOf(k), h.Kind, h.Thing, heldBy(withheld[0].By), h.Thing, v.group)
		}
		return &report.OvertakenError{Kind: h.Kind, Thing: h.Thing, Lease: v.id}
	}
	return nil
}

// adopts reports whether the lease may take over an object: it belongs to another deployment of the owner and this program has
// written it, or the command adopts the owner's objects.
func (v view) adopts(k Key, live *unstructured.Unstructured, id lease.ID, labelled bool) bool {
	if labelled && id.Owner == v.group.Owner && id.Group() != v.group && slices.Contains(kinds.ClaimLike, k.Kind) {
		return v.w.Snapshot.Ownership(live).Ours || v.want.Adopt
	}
	if !labelled {
		id, _ = v.w.Snapshot.Tenant(live.GetNamespace())
		labelled = true
	}
	return v.want.Adopt && labelled && id.Owner == v.group.Owner
}

// mayForce reports whether a conflict is only with Akash's provider, over an object that the lease runs, and the command adopts.
func (v view) mayForce(live *unstructured.Unstructured, managers []string) bool {
	return v.want.Adopt && len(managers) > 0 && deployed.StandingOf(live, v.group, v.id.Namespace()) != deployed.Foreign &&
		!slices.ContainsFunc(managers, func(manager string) bool { return manager != managed.Akash })
}

// areFormer reports whether all field managers are those of deployments of the owner.
func areFormer(owner string, managers []string) bool {
	return !slices.ContainsFunc(managers, func(manager string) bool {
		text, ours := strings.CutPrefix(manager, lease.FieldManager+"/")
		g, err := lease.ParseGroup(text)
		return !ours || err != nil || g.Owner != owner
	})
}
