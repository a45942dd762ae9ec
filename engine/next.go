// Package engine decides what a command does next: a pure function of what it wants and of what it has seen, and when. It
// sends nothing, waits for nothing and has no clock. Package apply/execute carries out the steps and folds the answers into
// the World.
package engine

import (
	"fmt"
	"slices"
	"time"

	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
)

// Next decides what happens next for one want of a transaction. Call it again after each answer. It is a function of what was seen: it
// changes nothing of that, and the memo, which is of this want alone, changes nothing of what it decides. So decisions on several wants may be
// made side by side.
func Next(w *World, t *Transaction, place int, m *Memo) Step {
	v := viewOf(w, t, place, m)
	switch {
	case w.Turn.Err != nil:
		return v.end(w.Turn.Err)
	case w.Interrupted != nil:
		return v.giveBack(w.Interrupted)
	case v.f.failed != nil:
		return v.giveBack(v.f.failed)
	case w.Turn.Met:
		return do(Request{Verb: ReadAll, Why: "who holds what, and what serves"})
	case v.want.Release == nil && w.Snapshot.ClosedBy != "" || w.Turn.Closing && len(v.f.taken) > 0:
		return v.giveBack(&report.ClosingError{Namespace: t.Settings.Config.LedgerNamespace})
	case t.Settings.InTurn && w.Turn.Alone == 0:
		return do(Request{Verb: Announce, Why: "another command for the lease may have crashed"})
	}
	if s := v.awaitOthers(); !s.idle() {
		return s
	}
	for _, part := range parts {
		s := v.apart(v.limited(part(v)))
		switch {
		case s.idle():
			continue
		case len(v.memo.tells) > 0:
			return v.limited(Step{Tells: v.memo.tells})
		case w.Turn.Alone == 0 && !s.mayBeEarly() && !v.onlyAwaits(s):
			return do(Request{Verb: Announce, Why: "nobody else is to write for the deployment"})
		case s.removes(): // the tenant may have asked for it again while the lease was written
			if confirm := v.confirmManifest(max(w.Turn.Alone, v.f.wrote, v.changed())); !confirm.idle() {
				return confirm
			}
		}
		return s
	}
	s := v.limited(Step{Tells: v.memo.tells})
	if end := v.end(v.unserved()); len(s.Tells) == 0 && s.idle() || len(s.Tells) > 0 && end.Outcome != nil {
		end.Tells = append(s.Tells, end.Tells...)
		return end
	}
	return s
}

// parts are what a lease does. The first one that has something to do is next, so their order is the design: no name is served without
// its claim, or free while it is served, and who is refused has as little to give back as can be.
var parts = [...]func(view) Step{
	// What is to be known first. It needs no turn: a user who may not read it has announced nothing.
	view.readFirst,
	// What refuses the lease by that, before anything is written; last what others hold, which names all that is in the way.
	view.checkOwned, view.checkManifest, view.checkNamed, view.checkStrays, view.unfit, view.unmovable, view.tellGone, view.refuse,
	// The claims, before all that rests on them. An address is picked only for who is not refused.
	view.pick, view.take,
	// What a transfer has taken: the former holders let go of it, and what these wrote until then is read.
	view.disownFormer, view.readMoved,
	// What refuses the lease only once it has its claims, since others look at these as it looks at theirs. A wildcard is bound before
	// the hosts are compared with those above them: of two leases that wait for each other's wildcard one goes on.
	view.leaveReserved, view.bind, view.lookAbove, view.stillServed,
	// The definition: after the claims, so that nobody heals what the lease does not hold, and before the first object, so that
	// somebody can finish what a crashed command has begun. What is told, and where hosts are reached, is known by then.
	view.tellWithheld, view.tellReserved, view.readTargets, view.keep,
	// The order's reservation: what the lease runs depends on it, and the names of its objects on that.
	view.reserve, view.checkNames,
	// The objects, over claims that were read after them. A DNS record comes once its host is served, an old route goes once DNS leads
	// to its successor, and the kind of routes is kept once all have moved.
	view.readMovedUnder, view.write, view.awaitSuccessors, view.awaitDNS, view.writeRecords, view.endMoved, view.keepTarget,
	// What goes: the definition, so that nothing heals the lease meanwhile; what serves; ports that move, once what served them otherwise is gone; what
	// runs, to which no route leads any more. What a crashed command has written late is read after the last delete.
	view.forget, view.readGone, view.keepFixed, view.unserve, view.movePorts, view.pruneRuns, view.readLate, view.endRuns,
	// The claims go last, when nothing serves them, and those that stay get their final form, by what was done.
	view.prune, view.settle,
	// What nothing depends on. After the end of an adoption nothing is given back.
	view.note, view.disown, view.touchFormer, view.tellOpen, view.succeedCrashed,
}

// firsts are the readings of readFirst.
var firsts = [...]func(view) Step{view.readRuns, view.readRunning, view.readKept, view.readDefinition}

// readFirst reads side by side what the lease runs and what the ledger keeps of it, what needs no turn before the rest.
func (v view) readFirst() (all Step) {
	for _, part := range firsts {
		s := part(v)
		if s.idle() {
			continue
		}
		early := s.mayBeEarly()
		if !all.idle() {
			early = all.mayBeEarly()
		}
		if !all.joins(s, func(r Request) bool { return r.Early == early }) {
			break
		}
	}
	return all
}

// awaitOthers waits for the leases that are served before this one. What was read before one of these has ended does not stand if it
// gives what this one asks for.
func (v view) awaitOthers() Step {
	for _, i := range v.t.after[v.place] {
		if v.w.leases[i].outcome == nil && !v.f.yields {
			return Step{Wait: "lease " + v.t.Wants[i].Request.Lease.String()}
		}
	}
	for _, i := range v.t.after[v.place] {
		if f := v.w.leases[i]; v.want.Apply != nil && v.t.given[v.place] && f.outcome != nil && f.ended > v.w.read && !v.hasTaken() {
			return do(Request{Verb: ReadAll, Why: "lease " + v.t.Wants[i].Request.Lease.String() + " has given it up, or has taken a port of the endpoint"})
		}
	}
	return Step{}
}

// refused returns the step of a lease that others keep from what it wants. Before the lease has taken anything, the error
// names everything that is in the way.
func (v view) refused(held []report.HeldThing) Step {
	return v.giveBack(&report.HeldError{Lease: v.id, Held: held})
}

// readAgain reads a claim again, a moment after it was read last; why is what the lease waits for.
func (v view) readAgain(name, why string) Step {
	if at := v.again(v.w.see(name).At); at.After(v.w.Clock) {
		return Step{Wait: why, Until: at}
	}
	return do(Request{Verb: Get, On: OfClaim{Name: name}, Why: why})
}

// again returns when the lease reads something again that it has read at a time: the longer it has waited, the later.
func (v view) again(read time.Time) time.Time {
	const shortest, longest = 50 * time.Millisecond, 500 * time.Millisecond
	return read.Add(min(max(read.Sub(v.w.Turn.Since), shortest), longest))
}

// isPatient reports whether the lease still waits, for a part of its patience, for other commands that may give something
// back. since is when it began, read when it looked last: it gives up after a look that the others had all that time for.
func (v view) isPatient(since, read time.Time, part float64) bool {
	patience := time.Duration(part * float64(v.t.Settings.Patience))
	return patience > 0 && (v.w.Turn.Alone == 0 || read.Before(since.Add(patience)))
}

// readStale reads a claim again that a write has found changed.
func (v view) readStale(h state.Hold, s Seen) Step {
	if !s.Stale || v.f.refused[h.Name()] != nil { // a note that cannot be written
		return Step{}
	}
	failed := fmt.Errorf("%s %s could not be claimed: %w", h.Kind, h.Thing, s.Why)
	return v.retry(h.Thing, s.Misses, s.At, failed, Request{Verb: Get, On: OfClaim{Name: h.Name()}, Why: "it has changed"})
}

// retry reads a thing again of which some writes have missed, after a pause; failed ends the work where too many have.
func (v view) retry(thing string, misses int, last time.Time, failed error, read Request) Step {
	if misses >= v.t.Settings.Tries {
		return v.giveBack(failed)
	}
	if pause := v.pause(thing, misses, last); !pause.idle() {
		return pause
	}
	return do(read)
}

// pause returns the wait before a thing is read again of which some writes have missed, the last one at a time: the more have,
// the longer it is. The first time there is none.
func (v view) pause(thing string, misses int, last time.Time) Step {
	const first = 10 * time.Millisecond
	if at := last.Add(first << min(max(misses-1, 0), 6)); misses > 1 && at.After(v.w.Clock) {
		return Step{Wait: thing + ", which others write", Until: at}
	}
	return Step{}
}

// end ends the work on the lease.
func (v view) end(err error) Step {
	if events := v.untold(); len(events) > 0 {
		return Step{Tells: events}
	}
	o := &Outcome{Err: err, Unfinished: err != nil && v.isUnfinished(), Rest: v.rest()}
	if v.want.Apply != nil && v.wanted().err == nil {
		handled, stuck := v.handledRecords()
		records, _ := v.dns()
		o.Applied = Applied{
			Definition: v.wanted().granted, Desired: v.awaited(), Records: handled, Unknown: records.Unknown, Stuck: stuck,
			Stays: len(v.f.stays) > 0, Unlike: v.isUnlike(), Began: v.f.began,
		}
	}
	if v.want.Move != nil {
		o.Moved, _ = v.moved()
		o.Targets = v.f.targets.is
	}
	o.Fixed, o.Given = v.fixed(), v.given()
	o.Facts, o.Left, o.Claims = v.facts(), v.left(), map[string]*state.Claim{}
	for _, name := range v.takenNames() {
		if why := v.keeps(name); why != nil {
			o.Kept = append(o.Kept, why)
		}
	}
	if why := v.keepsDefinition(); why != nil {
		o.Kept = append(o.Kept, fmt.Errorf("the definition of lease %s in the ledger could not be given back: %w", v.group, why))
	}
	lost := v.notPutBack()
	for _, k := range keysOf(lost) {
		o.Kept = append(o.Kept, fmt.Errorf("%s could not be put back: %w", k, lost[k]))
	}
	for _, h := range v.things {
		c := v.w.Claim(h.Name())
		if slices.ContainsFunc(h.Parts, func(p state.Part) bool { return v.own(c, p.Key) != nil }) {
			o.Things, o.Claims[h.Name()] = append(o.Things, h), c
		}
	}
	return Step{Outcome: o}
}

// isUnfinished reports whether a lease that has failed has something that is neither final nor given back. What a refused apply has
// written stays, and the next one goes on from there; where it was interrupted, or lost its turn, somebody has to look.
func (v view) isUnfinished() bool {
	if v.want.Apply == nil || !v.hasWritten() {
		return v.hasTaken()
	}
	return v.w.Interrupted != nil || v.w.Turn.Err != nil
}

// hasTaken reports whether a claim has the lease's mark, or may have it.
func (v view) hasTaken() bool {
	for name := range v.f.taken {
		if s := v.w.see(name); s.Stale || v.isMarked(s.Claim) || len(v.disowns(s.Claim)) > 0 {
			return true
		}
	}
	return false
}

func (v view) isMarked(c *state.Claim) bool {
	return slices.ContainsFunc(c.Entries(v.group), func(p state.Part) bool { return p.Run == v.mark })
}

// isTransient reports whether unfinished commands hold all these things: they may still give them back.
func isTransient(held []report.HeldThing) bool {
	return !slices.ContainsFunc(held, func(h report.HeldThing) bool { return !h.By.Running })
}

// Outcome is how the work on a lease has ended.
type Outcome struct {
	// Err is why the lease was refused or has failed, nil if it has what it wants.
	Err error
	// Kept are the errors of what could not be given back.
	Kept []error
	// Unfinished is true if something of the lease is neither final nor given back.
	Unfinished bool
	// Rest is how the lease stands.
	Rest report.Rest
	// Things are what the lease relies on; Facts are what was found of what it wants, in the order of the claims.
	Things []state.Hold
	Claims map[string]*state.Claim
	Facts  []Fact
	// Fixed says of each fix why it was not done, nil for one that was. Given are their claims as they are afterwards; nil for one that is gone.
	Fixed []error
	Given map[string]*state.Claim
	// Left is what a release leaves.
	Left Left
	// Applied is what became of the objects that an apply wants.
	Applied Applied
	// Moved are the old routes for which all was done that the want says. Targets are where hosts are reached of which that was awaited.
	Moved   map[Key]Moved
	Targets render.Published
}

// Found is what was found of a thing that a lease wants.
type Found string

// What is found.
const (
	// Free: the lease could have it, or has got it.
	Free Found = "free"
	// Own: the lease holds it already.
	Own Found = "own"
	// Withheld: another deployment of the owner holds it.
	Withheld Found = "withheld"
	// Beside: another lease of the deployment serves it, and keeps it.
	Beside Found = "beside"
	// Unnoted: the note that the lease waits for it could not be written.
	Unnoted Found = "unnoted"
)

// Fact says what was found of a thing, or a part of it, that a lease wants.
type Fact struct {
	Found Found
	Kind  state.Kind
	Name  string
	// At is where the input asks for it.
	At lease.Place
	// By is who has it otherwise, Lease the lease that serves it.
	By    state.Holder
	Lease lease.ID
	Err   error
}
