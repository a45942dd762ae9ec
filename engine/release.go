package engine

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/akash-net/kubectl-akash-net/engine/observed"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/kept"
)

// What serves goes first and the claims last, so that no name is free while it is still served: the kept definition, so that
// nothing heals the lease meanwhile; the objects; then, after another reading of everything that the owner has, what the
// lease runs, its reservations, and the claims that nothing serves.

// Release says what a deployment group gives up.
type Release struct {
	Choice state.Choice
	// Named are the leases by which the group was named: nothing goes while another lease of the group is live.
	Named []lease.ID
	// Emptied is true if only a lease goes of which the ledger keeps that it is to have nothing.
	Emptied bool
	// Strays is true if only what nobody means any more goes: nothing while the group holds anything, or the ledger keeps a definition.
	Strays bool
	// Fixes are what alone is done; nil for what is chosen.
	Fixes []Fix
}

// means reports whether the reservation of a lease goes with a release: that of another order than those which are named stays, as the
// group may have won it since.
func (r *Release) means(id lease.ID) bool {
	return len(r.Named) == 0 || slices.ContainsFunc(r.Named, func(n lease.ID) bool {
		return n.Order() == id.Order() && (n.Provider == "" || n.Provider == id.Provider)
	})
}

// Left is what a release leaves.
type Left struct {
	// Served are the things that something still serves, Running the declarations of Akash's provider for which the lease
	// keeps what it runs.
	Served  []report.KeptThing
	Running []string
	// For are the objects that serve another lease since a transfer, with that lease.
	For []LeftFor
	// Crashed is true if the command has succeeded a crashed one.
	Crashed bool
}

// LeftFor is an object that serves another lease.
type LeftFor struct {
	Object observed.Object
	Lease  lease.ID
}

// seenDefinition is a kept definition as it was read, nil if there is none.
type seenDefinition struct {
	definition *kept.Definition
	sent       Stamp
	// before is what was kept before the command has written it, if written is true; back is true once that is kept again.
	before        *kept.Definition
	written, back bool
	// deleted is true once the API server has deleted it for the lease. unclear is true after a delete without an answer.
	deleted, unclear bool
	// misses counts deletes that met another version or have no answer, why is the error of the last one, at is when that was,
	// by the steady clock.
	misses int
	why    error
	at     time.Time
}

// everything reports whether the lease gives up all that it has.
func (v view) everything() bool {
	return v.want.Release != nil && v.want.Release.Choice.All() && v.fixes() == nil
}

// isIdle reports whether nothing is to be written by what is known.
func (v view) isIdle() bool {
	goes, _ := v.written()
	return len(goes) == 0 && !slices.ContainsFunc(v.w.claimsOf(v.group), func(c *state.Claim) bool {
		return slices.ContainsFunc(c.Entries(v.group), func(p state.Part) bool { return v.goes(v.reading().is, c, p) })
	})
}

// readKept reads the definition that the ledger keeps; again in the command's turn. If the turn comes anyway, one reading in it
// is enough.
func (v view) readKept() Step {
	if v.want.Release == nil || !v.everything() && len(v.want.Release.Named) == 0 || v.f.kept.sent > v.w.Turn.Alone {
		return Step{}
	}
	if s := v.readStaleDefinition(); !s.idle() {
		return s
	}
	early := v.f.kept.sent == 0 && (len(v.want.Release.Named) > 0 || v.isIdle())
	return do(Request{Verb: GetDefinition, On: OfDefinition{Group: v.group}, Early: early, Why: "nothing may heal a lease that is released"})
}

// readLate reads again, after the last delete, what a crashed command that this one succeeds may have written late.
func (v view) readLate() Step {
	why, after := "a crashed command may have written it late", max(v.w.Turn.Alone, v.changed())
	switch {
	case !v.everything() || !v.succeeds():
		return Step{}
	case v.f.kept.sent <= after:
		return do(Request{Verb: GetDefinition, On: OfDefinition{Group: v.group}, Why: why})
	case v.f.runs.sent <= after:
		return do(Request{Verb: ReadRuns, On: v.group, Why: why})
	}
	return Step{}
}

// checkNamed refuses to release an order or a lease that has nothing while another lease of its deployment group is live: the
// release would take what that one serves and runs.
func (v view) checkNamed() Step {
	if v.want.Release == nil || len(v.want.Release.Named) == 0 || v.changed() > 0 || v.f.kept.deleted {
		return Step{}
	}
	all := v.reading().is.LiveOf(v.group, v.f.kept.definition)
	for _, id := range v.want.Release.Named {
		if live, elsewhere := state.Elsewhere(id, all); elsewhere {
			return v.giveBack(&report.ElsewhereError{Named: id, Live: live, Next: fmt.Sprintf(
				"\"release %s\" releases all of the deployment, also what serves", v.group)})
		}
	}
	return Step{}
}

// checkStrays ends a release of strays where, in the command's turn, there are none: the group has something by now.
func (v view) checkStrays() Step {
	switch {
	case v.want.Release == nil || !v.want.Release.Strays:
	case v.f.kept.definition != nil && !v.f.kept.definition.Deleting:
		return v.giveBack(report.ErrChanged)
	case len(v.w.claimsOf(v.group)) > 0:
		return v.end(nil)
	}
	return Step{}
}

// forget deletes the kept definition.
func (v view) forget() Step {
	d := v.f.kept.definition
	if !v.everything() || d == nil || d.Deleting {
		return Step{}
	}
	return do(Request{Verb: Forget, On: OfDefinition{Group: v.group, Definition: d}, Why: "nothing may heal a lease that is released"})
}

// succeedCrashed takes the turn of a lease that holds nothing, if another command has announced itself for it: that command
// may have crashed.
func (v view) succeedCrashed() Step {
	switch {
	case !v.everything() || v.w.Turn.Alone > 0:
		return Step{}
	case v.f.announced.sent == 0:
		return do(Request{Verb: ReadAnnouncements, On: v.group, Early: true, Why: "whether a command for the lease has crashed"})
	case v.f.announced.is:
		return do(Request{Verb: Announce, Why: "a command for the lease may have crashed"})
	}
	return Step{}
}

// left returns what a release leaves.
func (v view) left() (out Left) {
	if v.want.Release == nil && v.want.Apply == nil {
		return out
	}
	of := v.reading().is
	for _, c := range v.w.claimsOf(v.group) {
		thing := report.KeptThing{Kind: c.Kind, Thing: c.Thing}
		for _, p := range c.PartsOf(v.group) {
			if !v.drops(c, p) {
				continue
			}
			by, declared := v.servedBy(of, c, p)
			for _, o := range by {
				thing.Objects = append(thing.Objects, o.String())
				if o.Group != v.group {
					thing.Of = o.Lease
				}
			}
			thing.Declared = thing.Declared || declared && len(by) > 0
		}
		if len(thing.Objects) > 0 {
			out.Served = append(out.Served, thing)
		}
	}
	if v.want.Release == nil {
		return out
	}
	_, out.For = v.written()
	out.Running, out.Crashed = v.declared(), v.f.announced.is || v.succeeds()
	return out
}

// foldRead records a reading of the kept definition.
func (s *seenDefinition) foldRead(r Request, a Answer, sent Stamp, mark string) {
	s.written = s.written || a.Definition != nil && a.Definition.Run == mark
	s.definition, s.sent, s.unclear = a.Definition, sent, false
	s.deleted = s.deleted || On[OfDefinition](r).Definition != nil && a.Definition == nil
}

// fold records the answer to a delete of the kept definition. One that met another version is read again.
func (s *seenDefinition) fold(r Request, a Answer, at time.Time) {
	if a.Stale {
		s.sent, s.why, s.at, s.unclear = 0, a.Err, at, a.Unclear
		s.misses++
		return
	}
	if !s.written {
		s.before, s.written = On[OfDefinition](r).Definition, true
	}
	s.definition, s.deleted, s.back = nil, true, r.Back
}

// giveBack ends a lease that has failed: it puts back what the lease had of the claims that it has taken, each as far as it
// is as the lease left it. That it was refused is a fact from then on: what it gives back may be what it lacked.
func (v view) giveBack(why error) Step {
	switch s := v.readUnclear(); {
	case v.w.Turn.Err != nil || !v.hasTaken() && !v.f.kept.isOurs() && len(v.f.ways) == 0:
		return v.end(why)
	case v.f.failed == nil && v.w.Interrupted == nil:
		return Step{Refused: why}
	case !s.idle():
		return s
	case v.want.Apply != nil && v.hasWritten():
		if s := v.putBack(); !s.idle() {
			return s
		}
		for _, part := range []func() Step{v.takeOff, v.finalize} {
			if s := part(); !s.idle() && v.w.Interrupted == nil {
				return s
			}
		}
		return v.end(why)
	}
	if v.w.Turn.Undoing == 0 {
		return do(Request{Verb: Undo, Why: "what was taken is given back"})
	}
	for _, back := range []func() Step{v.putBack, v.unkeep, v.moveBack} {
		if s := back(); !s.idle() {
			return s
		}
	}
	if s := v.goBack(v.takenNames(), func(name string, c *state.Claim) Step {
		had := v.before(name, c)
		return allocate(c, OfClaim{Group: v.group, Parts: had}, Request{Back: true, Why: why.Error(), Event: v.givenUp(report.Released, c, had)})
	}); !s.idle() {
		return s
	}
	return v.end(why)
}

// orGiveBack returns a step, or that of a lease that has failed if there is an error.
func (v view) orGiveBack(s Step, err error) Step {
	if err != nil {
		return v.giveBack(err)
	}
	return s
}

// takeOff deletes what the lease has made for a thing that somebody else has got meanwhile, and what it has only declared.
func (v view) takeOff() Step {
	declared := v.onlyDeclared()
	for _, k := range keysOf(v.f.made) {
		live := v.f.made[k]
		o := observed.Object{Kind: k.Kind, Live: live, Group: v.group, Lease: v.id, Ours: true, Runs: v.runs(render.Object{Kind: k.Kind, Namespace: k.Namespace, Name: k.Name})}
		lost := slices.ContainsFunc(observed.GroundsOf(o, v.w.claimsOf(v.group)), func(g observed.Ground) bool {
			c := v.w.Claim(g.Name)
			return c != nil && c.Owner != v.group.Owner
		})
		s := v.f.objects[o.UID()]
		if !lost && (!declared || !slices.Contains(kinds.ClaimLike, k.Kind)) || s.deleted > 0 || s.misses >= v.t.Settings.Tries || v.f.refused[string(o.UID())] != nil {
			continue
		}
		if s := v.removeAs(o, report.Deleted, "taken back"); !s.idle() {
			for i := range s.Requests {
				s.Requests[i].Back = true
			}
			return s
		}
	}
	return Step{}
}

// finalize makes what a lease has taken final, as far as it can, after it has written objects that rest on that: they stay, and the
// next apply goes on from there.
func (v view) finalize() Step {
	marked := slices.DeleteFunc(v.takenNames(), func(name string) bool { return !v.isMarked(v.w.Claim(name)) })
	return v.goBack(marked, func(name string, c *state.Claim) Step {
		h, _ := v.thing(name)
		entries, ok := v.final(h, c)
		if !ok {
			return Step{}
		}
		return allocate(c, OfClaim{Group: v.group, Parts: entries}, Request{Back: true, Why: "what rests on it stays"})
	})
}

// keeps returns why a claim that was taken cannot be given back; nil if it can.
func (v view) keeps(name string) error {
	s, err := v.w.see(name), v.f.refused[name]
	if err == nil && s.Stale && s.Misses >= 2*v.t.Settings.Tries {
		err = s.Why
	}
	if err == nil {
		return nil
	}
	kind, thing := state.Host, name
	if c := cmp.Or(s.Claim, v.w.Snapshot.Claim(name)); c != nil {
		kind, thing = c.Kind, c.Thing
	}
	return fmt.Errorf("%s %s could not be given back: %w", kind, thing, err)
}

// takenNames returns the names of the claims that the lease has taken, in one order.
func (v view) takenNames() (names []string) {
	for name := range v.f.taken {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
