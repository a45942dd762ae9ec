package engine

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/engine/observed"
	"github.com/akash-net/kubectl-akash-net/engine/plan"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
)

// write writes the objects that the lease wants, stage by stage: Akash's objects, which others may own, first. Before the first
// one, what may be refused later is sent as a dry run.
func (v view) write() Step {
	if !v.writes() {
		return Step{}
	}
	if err := v.wanted().err; err != nil {
		return v.giveBack(err)
	}
	stages := v.stages()
	if s := v.check(stages); !s.idle() {
		return s
	}
	var events []Event
	for _, stage := range stages {
		if s := v.orGiveBack(v.writeAll(stage)); !s.idle() && len(events) == 0 {
			return s
		} else if !s.idle() { // what is done is told first
			return Step{Tells: events}
		}
		events = append(events, v.tell(stage)...)
	}
	for _, of := range kinds.Stages {
		events = append(events, v.tellLeft(of)...)
	}
	v.memo.tells = events
	return Step{}
}

// writes reports whether the lease writes objects.
func (v view) writes() bool { return v.want.Apply != nil || v.want.Move != nil || v.want.Write != nil }

// most bounds the requests of a step: what comes later is decided on later.
const most = 64

// fit says by which input an object was found to be as wanted, or a dry run of it to pass, so that this is not compared again.
type fit struct {
	wanted   *wanted
	answered Stamp
	alone    bool
}

// fit returns the input of such a decision.
func (v view) fit(now seenLive) fit {
	if now.stale || now.conflict != nil {
		return fit{answered: -1}
	}
	return fit{v.wanted(), now.answered, v.w.Turn.Alone > 0}
}

// writeAll writes objects that do not depend on each other. The error is why one of them cannot be written.
func (v view) writeAll(objects []Desired) (all Step, _ error) {
	var wait Step
	for _, d := range objects {
		if len(all.Requests) == most {
			break
		}
		switch s, err := v.writeOne(d); {
		case err != nil:
			return Step{}, err
		case s.idle():
		case s.decides():
			return s, nil
		case len(s.Requests) == 0:
			wait = s
		default:
			all.Requests, all.Budgeted = append(all.Requests, s.Requests...), all.Budgeted || s.Budgeted
		}
	}
	if len(all.Requests) == 0 {
		return wait, nil
	}
	// What is overwritten comes last: another object may be refused.
	if rest := slices.DeleteFunc(slices.Clone(all.Requests), overwrites); len(rest) > 0 {
		all.Requests = rest
	}
	return all, nil
}

// overwrites reports whether a request overwrites what others have set.
func overwrites(r Request) bool { return On[OfRendered](r).Overwrites != "" }

// writeOne applies an object unless it is as wanted. If the one that is there is being deleted, that is waited for. The error is why the
// object cannot be written.
func (v view) writeOne(d Desired) (Step, error) {
	k := d.key()
	now := v.w.live(k)
	if d.Object.Kind == kinds.Namespace {
		return v.makeNamespace(d)
	}
	if r, refused := v.f.refusals[k]; refused {
		return v.obstructed(d, r)
	}
	if v.past.fits[k] == v.fit(now) {
		return Step{}, nil
	}
	o, touch := v.asApplied(d)
	switch {
	case !touch && now.isAsWanted(o, d.Manager):
		v.past.fits[k] = v.fit(now)
		return Step{}, nil
	case isDeleting(now.live) && v.t.Settings.Waits:
		return v.awaitDeletion(d, now)
	case now.conflict != nil:
		return v.overcome(d, now)
	case now.stale:
		return v.readLive(k, now)
	}
	if s := v.confirm(o, now); !s.idle() {
		return s, nil
	}
	on := v.applies(d, o, now.live)
	on.Touch, on.Again = touch, now.misses > 0
	if touch {
		return do(Request{Verb: PutObject, On: on, Why: "a crashed command may be about to write it"}), nil
	}
	if err := v.keptByOthers(d, on); err != nil {
		return Step{}, err
	}
	on.Overwrites = v.tookBack(on)
	return do(Request{Verb: PutObject, On: on, Changes: v.changeOver(d, on), Why: "the lease wants it"}), nil
}

func isDeleting(o *unstructured.Unstructured) bool {
	return o != nil && o.GetDeletionTimestamp() != nil
}

// confirm reads the claims again on which an object rests and that were read before it: a write is pinned to nothing that is newer
// than the lease's claims.
func (v view) confirm(o render.Object, now seenLive) Step {
	if !v.t.Settings.Waits {
		return Step{}
	}
	return v.readUnderneath(v.grounds(o), now.sent-1, "whether the lease still holds it")
}

// readUnderneath reads the first claim of some parts that was not read after a stamp.
func (v view) readUnderneath(parts []observed.Ground, after Stamp, why string) Step {
	for _, g := range parts {
		if v.w.see(g.Name).Sent <= after {
			return do(Request{Verb: Get, On: OfClaim{Name: g.Name}, Why: why})
		}
	}
	return Step{}
}

// readLive reads an object again that a write has found changed, a moment after the last write of several.
func (v view) readLive(k Key, now seenLive) (Step, error) {
	if now.misses >= v.t.Settings.Tries {
		return Step{}, inVain(k, "written", now.live, now.why)
	}
	if pause := v.pause(k.String(), now.misses, now.at); !pause.idle() {
		return pause, nil
	}
	return do(Request{Verb: GetLive, On: k, Why: "it has changed"}), nil
}

// awaitDeletion waits until an object that is being deleted is gone: a write to it would be lost.
func (v view) awaitDeletion(d Desired, now seenLive) (Step, error) {
	finalizers := now.live.GetFinalizers()
	if v.t.Settings.Wait == 0 {
		return Step{}, &report.DeletingError{Object: d.Object, Finalizers: finalizers}
	}
	k := d.key()
	s, late := v.awaitLive(k, "to be gone", func(seenLive) bool { return false })
	if late {
		return Step{}, &report.TimeoutError{After: v.t.Settings.Wait, Waiting: []string{
			fmt.Sprintf("%s %s to be gone (finalizers %v); it is being deleted, and is made anew then", k.Kind.Singular, nameOf(k), finalizers),
		}}
	}
	return s, nil
}

// awaitLive reads an object again and again until done is true for it, at most for the lease's wait time; then late is true.
func (v view) awaitLive(k Key, what string, done func(seenLive) bool) (s Step, late bool) {
	now := v.w.live(k)
	read := do(Request{Verb: GetLive, On: k, Why: "it is waited for"})
	return v.awaitRead(read, k.String()+" "+what, now.sent > max(v.f.wrote, v.w.read), now.at, done(now))
}

// awaitRead sends requests again and again until what they read is done, at most for the lease's wait time; then late is true. isFresh is true if it
// was read since the lease has written, at is when it was read last.
func (v view) awaitRead(read Step, what string, isFresh bool, at time.Time, done bool) (s Step, late bool) {
	over := v.f.began.Add(v.t.Settings.Wait)
	read.Budgeted = true
	switch {
	case done:
		return Step{}, false
	case !isFresh:
		return read, false
	case v.t.Settings.Wait == 0 || !v.f.began.IsZero() && !v.w.Clock.Before(over):
		return Step{}, true
	case v.f.began.IsZero():
		return read, false
	}
	if s := v.untilNext(what, at, over); !s.idle() {
		return s, false
	}
	return read, false
}

// untilNext waits until something is to be read again that was read last at a time, at most until a wait is over. A wait that lasts is
// told once.
func (v view) untilNext(what string, last, over time.Time) Step {
	const pause = 200 * time.Millisecond
	next := last.Add(pause)
	if !next.After(v.w.Clock) {
		return Step{}
	}
	since, once := over.Add(-v.t.Settings.Wait), "waits for "+what
	if v.w.Clock.Sub(since) >= report.Patience && !v.f.told[once] {
		return Step{Tells: []Event{{
			Action: report.Waiting, Kind: "lease", Thing: v.group.String(), Message: "for " + what, Since: since, Until: over, Once: once,
		}}}
	}
	if over.Before(next) {
		next = over
	}
	return Step{Wait: what, Until: next}
}

// makeNamespace creates the lease's namespace, with Akash's labels, if it does not exist. Usually Akash's provider creates it. An
// existing namespace is never changed: whoever may change the labels of namespaces can act as any tenant.
func (v view) makeNamespace(d Desired) (Step, error) {
	k := d.key()
	n, exists := v.w.Snapshot.Namespace(k.Name)
	switch {
	case v.w.made[k]:
		return Step{}, nil
	case exists && !n.Alive:
		return Step{}, fmt.Errorf("namespace %s of lease %s is being deleted; apply again when it is gone", k.Name, v.id)
	case exists:
		return Step{}, nil
	}
	return do(Request{
		Verb: CreateObject, On: OfRendered{Apply: d.Object, Manager: d.Manager}, Why: "the lease has none",
		Changes: v.change(func() plan.Change {
			return plan.Write(k.Kind.Singular, render.Rendered(d.Object).Object, nil, d.Manager)
		}),
	}), nil
}

// asApplied returns an object as it is applied over the one that is there, with the annotations that it keeps. touch is true if
// that is as wanted, and is written nevertheless, with the mark of this work: the command works in the place of a crashed one, or
// has taken the claim on which the object rests. So what that one has under way fails.
func (v view) asApplied(d Desired) (o render.Object, touch bool) {
	now := v.w.live(d.key())
	o = v.w.Snapshot.Kept(d.Object, now.live, d.Manager, v.w.Time)
	did := v.f.done[d.key()].action
	if now.live == nil || did == report.Created || did == report.Configured || now.live.GetAnnotations()[lease.AnnotationTaken] == v.mark || !v.mustTouch(d.Object) || !now.isAsWanted(o, d.Manager) {
		return o, false
	}
	return observed.Touched(o, v.mark), true
}

// mustTouch reports whether the lease has to write an object even if it is as wanted.
func (v view) mustTouch(o render.Object) bool {
	if v.succeeds() {
		return true
	}
	anew := func(name string) bool { return v.f.taken[name].Anew }
	if !slices.ContainsFunc(v.takenNames(), anew) {
		return false
	}
	if slices.Contains(kinds.Pools, o.Kind) {
		return slices.ContainsFunc(v.things, func(h state.Hold) bool {
			return h.Kind == state.Address && o.Name == config.AddressPoolName(h.Claim().Addr()) && anew(h.Name())
		})
	}
	return slices.ContainsFunc(v.grounds(o), func(g observed.Ground) bool { return anew(g.Name) })
}

// hasWritten reports whether the lease has written an object that is its own, or an apply of one that had no answer may have taken effect.
// Its namespace, and the pools of addresses, stay whatever becomes of it: others may rely on them at once.
func (v view) hasWritten() bool { return v.hasWrittenBut(v.tookOff) }

// onlyDeclared reports whether an object of the lease was refused, and all that it has written are objects that declare its claims, that
// it has made itself, and on which nobody acts: the lease was refused as a whole.
func (v view) onlyDeclared() bool {
	return len(v.f.refusals) > 0 && !v.isOperated() && !v.hasWrittenBut(func(k Key) bool { return slices.Contains(kinds.ClaimLike, k.Kind) && v.f.made[k] != nil })
}

// isOperated reports whether operators of Akash act on what is declared.
func (v view) isOperated() bool { return v.w.Snapshot.Operators.Hostname || v.w.Snapshot.Operators.IP }

func (v view) hasWrittenBut(excepted func(Key) bool) bool {
	for k, did := range v.f.done {
		if did.action != report.Unchanged && k.Kind != kinds.Namespace && !slices.Contains(kinds.Pools, k.Kind) && !v.madeWay(k) && !excepted(k) {
			return true
		}
	}
	for k, d := range v.f.unclear {
		if now := v.w.live(k); !v.madeWay(k) && (now.stale || now.wrote != nil || now.isAsWanted(d.Object, d.Manager)) {
			return true
		}
	}
	return false
}

// tookOff reports whether the lease has deleted an object again that it has made.
func (v view) tookOff(k Key) bool {
	live := v.f.made[k]
	return live != nil && v.f.objects[live.GetUID()].deleted > 0
}

// readUnclear reads the objects whose apply had no answer: whether the lease has written anything depends on them.
func (v view) readUnclear() Step {
	for _, k := range keysOf(v.f.unclear) {
		if v.w.live(k).stale && v.f.refused[k.String()] == nil {
			return do(Request{Verb: GetLive, On: k, Back: true, Why: "whether it was written"})
		}
	}
	return Step{}
}

// madeWay reports whether an object was deleted for one of the lease's: put back, it is as it was.
func (v view) madeWay(k Key) bool {
	for _, old := range v.f.ways {
		if keyOf(old) == k {
			return true
		}
	}
	return false
}

// rest returns how the lease stands if the work on it ends now.
func (v view) rest() report.Rest {
	d, _ := v.kept()
	r := report.Rest{Held: !v.holdsNothing(), Rewritten: v.f.kept.isOurs() && !v.f.kept.back}
	r.Former = d != nil && !r.Rewritten
	r.Stays = r.Rewritten || v.hasTaken() || v.hasWritten() || len(v.deletedObjects()) > 0
	return r
}
