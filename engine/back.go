package engine

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/protocol"
)

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
	for _, name := range v.takenNames() {
		s := v.w.see(name)
		switch {
		case v.keeps(name) != nil:
			continue
		case s.Stale:
			return do(Request{Verb: Get, Name: name, Back: true, Why: "it has changed"})
		case s.Claim == nil || s.Claim.Deleting || s.Claim.Unreadable != "":
			continue
		}
		entries := s.Claim.Entries(v.group)
		before := protocol.Before(v.f.taken[name].Before, v.w.Objects.Serves(s.Claim, v.group))
		keep, changed := protocol.GiveBack(entries, v.mark, before)
		if !changed {
			continue
		}
		r := shrink(s.Claim, Request{Group: v.group, Parts: keep, Back: true, Why: why.Error()})
		if len(partsOnly(keep)) < len(partsOnly(entries)) {
			r.Event = &Event{Action: report.Released, Kind: string(s.Claim.Kind), Thing: s.Claim.Thing, Message: partly(before)}
		}
		return do(r)
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

// takeOff deletes what the lease has made for a thing that somebody else has got meanwhile.
func (v view) takeOff() Step {
	for k, live := range v.f.made {
		o := Object{Kind: k.Kind, Live: live, Group: v.group, Lease: v.id, Ours: true, Runs: v.runs(render.Object{Kind: k.Kind, Namespace: k.Namespace, Name: k.Name})}
		lost := slices.ContainsFunc(v.w.Objects.Grounds(o, v.w.claimsOf(v.group)), func(g Ground) bool {
			c := v.w.Claim(g.Name)
			return c != nil && c.Owner != v.group.Owner
		})
		s := v.f.objects[o.uid()]
		if !lost || s.deleted > 0 || s.misses >= v.t.Settings.Tries || v.f.refused[string(o.uid())] != nil {
			continue
		}
		if s := v.removeAs(o, report.Deleted, "taken back"); !s.idle() {
			for i := range s.Requests {
				s.Requests[i].Back, s.Requests[i].Name = true, string(o.uid())
			}
			return s
		}
	}
	return Step{}
}

// finalize makes what a lease has taken final, as far as it can, after it has written objects that rest on that: they stay, and the
// next apply goes on from there.
func (v view) finalize() Step {
	for _, h := range v.things {
		name := h.Name()
		s, taken := v.w.see(name), v.taking(h)
		if s.Claim == nil || len(taken.Want.Parts) == 0 || v.keeps(name) != nil || !v.isMarked(s.Claim) {
			continue
		}
		if s.Stale {
			return do(Request{Verb: Get, Name: name, Back: true, Why: "it has changed"})
		}
		next, parts := protocol.Settle(s.Claim, s.Claim.UID, v.group, func(c *state.Claim) ([]state.Part, bool) { return v.final(taken.Want, c) })
		if next == protocol.Write {
			return do(Request{Verb: Put, Name: name, Claim: s.Claim, Group: v.group, Parts: parts, Back: true, Why: "what rests on it stays"})
		}
	}
	return Step{}
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
	if c := cmp.Or(s.Claim, v.w.base[name]); c != nil {
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
