package engine

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/protocol"
)

// wantsPart reports whether the lease asks for a part of a claim, or p is the note about such a part that another
// deployment of the owner holds.
func (v view) wantsPart(c *state.Claim, p state.Part) bool {
	key := p.Key
	if p.For != "" {
		own := c.Part(p.For)
		if key = p.For; own == nil || own.Lease.Group() == v.group {
			return false
		}
	}
	return slices.ContainsFunc(v.things, func(h state.Hold) bool {
		return h.Name() == c.Name() && slices.ContainsFunc(h.Parts, func(q state.Part) bool { return q.Key == key })
	})
}

// goes reports whether the group gives up its entry of a claim, by a reading of everything that the owner has.
func (v view) goes(of Objects, c *state.Claim, p state.Part) bool {
	if v.want.Release != nil {
		by, _ := v.servedBy(of, c, p)
		return v.want.Release.Choice.Claim(c) && len(by) == 0
	}
	return v.want.Prune && !v.wantsPart(c, p) && of.Unserved(v.id, c, p)
}

// prune gives up what the deployment group holds, the lease does not ask for and nothing serves. That rests on a reading of
// everything that the owner has, the claims first, after the command's turn came and after the last delete.
func (v view) prune() Step {
	now := v.reading()
	claims := v.w.claimsOf(v.group)
	for _, c := range slices.Backward(claims) {
		s := v.w.see(c.Name())
		var keep []state.Part
		entries := c.Entries(v.group)
		for _, p := range entries {
			if !v.goes(now.objects, c, p) {
				keep = append(keep, p)
			}
		}
		r := shrink(c, Request{
			Group: v.group, Parts: keep, Why: "the lease does not ask for it, and nothing serves it",
			Event: &Event{Action: report.Released, Kind: c.Kind, Thing: c.Thing, Message: partly(keep)},
		})
		if len(partsOnly(keep)) == len(partsOnly(entries)) {
			r.Event = nil // only a note goes
		}
		dedicated := v.t.Settings.Config.IP.Mode == config.ModeDedicated && c.Kind == state.Address
		switch pause := v.pause(c.Thing, s.Misses, s.At); {
		case len(keep) == len(entries) || c.Deleting || c.Unreadable != "":
			continue
		case s.Misses >= v.t.Settings.Tries:
			return v.giveBack(fmt.Errorf("%s %s could not be given up: %w", c.Kind, c.Thing, s.Why))
		case s.Stale && !pause.idle():
			return pause
		case s.Unclear:
			r.Verb, r.Why = Get, "whether it was given up"
		case now.sent <= max(v.w.Turn.Alone, v.changed()) || s.Read > now.sent || s.Stale && s.Answered > now.sent:
			return v.readOwner(max(v.w.Turn.Alone, v.changed(), s.Read, s.Answered), "nothing may serve what is given up")
		case r.Verb == Delete && dedicated && !v.f.unpooled[c.Addr()]:
			return do(Request{Verb: RemovePool, Address: c.Addr(), Why: "nobody holds the address any more"})
		}
		return do(r)
	}
	return Step{}
}

// partsOnly returns the entries that are held; the others are notes.
func partsOnly(entries []state.Part) []state.Part {
	return slices.DeleteFunc(slices.Clone(entries), func(p state.Part) bool { return p.For != "" })
}

// partly is the message about a thing of which a lease gives up some parts and keeps others; empty if it keeps none.
func partly(keeps []state.Part) string {
	if len(partsOnly(keeps)) == 0 {
		return ""
	}
	return "in part: the lease keeps the rest of it"
}

// settle writes the parts as the lease has them in the end.
func (v view) settle() Step {
	for _, h := range v.things {
		c, taken := v.w.Claim(h.Name()), v.taking(h)
		if c == nil || len(taken.Want.Parts) == 0 {
			continue
		}
		next, parts := protocol.Settle(c, c.UID, v.group, func(c *state.Claim) ([]state.Part, bool) { return v.final(taken.Want, c) })
		if next == protocol.Write {
			return do(Request{Verb: Put, Name: c.Name(), Claim: c, Group: v.group, Parts: parts, Why: "what the lease has of it in the end"})
		}
	}
	return Step{}
}

// final returns the parts that the group holds in the end: those of the request as requested, the others unchanged. It
// removes the marks of other commands from requested parts. ok is false if the group has lost a requested part.
func (v view) final(want state.Hold, c *state.Claim) (parts []state.Part, ok bool) {
	for _, p := range want.Parts {
		own := c.Part(p.Key)
		if own == nil || own.Lease.Group() != v.group {
			return nil, false
		}
	}
	for _, own := range c.Entries(v.group) {
		i := slices.IndexFunc(want.Parts, func(p state.Part) bool { return p.Key == own.Key })
		if i >= 0 {
			was := own
			own = want.Parts[i]
			if was.Run == v.mark {
				own.Run = v.mark
			}
			own.Applied = was.Applied && was.Lease == own.Lease && v.w.Objects.Serves(c, v.group)
			own.Bound, own.From, own.Held = was.Bound, was.From, was.Held
			if was.Expires == "" {
				own.Expires = "" // a part without an end does not get one
			}
		}
		parts = append(parts, own)
	}
	return parts, true
}

// note writes a note for each part that another deployment of the owner holds, on its claim, so that users see it. The work
// does not depend on it.
func (v view) note() Step {
	for _, h := range v.things {
		c, name := v.w.Claim(h.Name()), h.Name()
		for _, withheld := range v.taking(h).Withheld {
			note := withheld.Part.Wait("", nil)
			if c == nil || c.Deleting || c.Owner != v.group.Owner || c.Part(note.For) == nil || v.f.refused[name] != nil {
				continue
			}
			entries := c.Entries(v.group)
			i := slices.IndexFunc(entries, func(p state.Part) bool { return p.Key == note.Key })
			switch {
			case i >= 0 && entries[i].Same(note), i < 0 && c.Full(v.group):
				continue // it is there, or there is no room for it
			case i >= 0:
				entries[i] = note
			default:
				entries = append(entries, note)
			}
			return do(Request{Verb: Put, Name: name, Claim: c, Group: v.group, Parts: entries, Optional: true, Why: "the lease waits for it"})
		}
	}
	return Step{}
}

// facts returns what was found of what the lease wants.
func (v view) facts() (out []Fact) {
	for _, h := range v.things {
		taken := v.taking(h)
		for _, w := range taken.Withheld {
			out = append(out, Fact{Found: Withheld, Kind: h.Kind, Name: textOf(h, w.Part), By: w.By})
		}
		for _, b := range taken.Beside {
			out = append(out, Fact{Found: Beside, Kind: h.Kind, Name: textOf(h, b.Part), Lease: b.By})
		}
		if err := v.f.refused[h.Name()]; err != nil && len(taken.Withheld) > 0 {
			out = append(out, Fact{Found: Unnoted, Kind: h.Kind, Name: h.Thing, Err: err})
		}
		switch {
		case v.f.taken[h.Name()].Anew, taken.Next == protocol.Write && taken.Anew:
			out = append(out, Fact{Found: Free, Kind: h.Kind, Name: h.Thing})
		case taken.Next == protocol.Rest && len(taken.Parts) > 0 && len(taken.Beside) == 0:
			out = append(out, Fact{Found: Own, Kind: h.Kind, Name: h.Thing})
		}
	}
	return out
}

// giveBack ends a lease that has failed: it puts back what the lease had of the claims that it has taken, each as far as it
// is as the lease left it. That it was refused is a fact from then on: what it gives back may be what it lacked.
func (v view) giveBack(why error) Step {
	switch {
	case v.w.Turn.Err != nil || !v.hasTaken():
		return v.end(why)
	case v.f.failed == nil && v.w.Interrupted == nil:
		return Step{Refused: why}
	}
	if v.w.Turn.Undoing == 0 {
		return do(Request{Verb: Undo, Why: "what was taken is given back"})
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
			r.Event = &Event{Action: report.Released, Kind: s.Claim.Kind, Thing: s.Claim.Thing, Message: partly(before)}
		}
		return do(r)
	}
	return v.end(why)
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
