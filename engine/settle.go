package engine

import (
	"fmt"
	"slices"

	"github.com/akash-net/kubectl-akash-net/engine/observed"
	"github.com/akash-net/kubectl-akash-net/engine/plan"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/render"
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
	h, asked := v.thing(c.Name())
	parts := h.Parts
	if asked && p.For == "" { // a part may be withheld although the lease has it: another deployment declares the port
		parts = v.taking(h).Want.Parts
	}
	return slices.ContainsFunc(parts, func(q state.Part) bool { return q.Key == key })
}

// thing returns the claim that the lease is to have by its name.
func (v view) thing(name string) (h state.Hold, asked bool) {
	if v.memo.things == nil {
		v.memo.things = map[string]state.Hold{}
		for _, h := range v.things {
			v.memo.things[h.Name()] = h
		}
	}
	h, asked = v.memo.things[name]
	return h, asked
}

// goes reports whether the group gives up its entry of a claim, by a reading of everything that the owner has.
func (v view) goes(of *observed.Snapshot, c *state.Claim, p state.Part) bool {
	switch {
	case !v.drops(c, p):
		return false
	case v.want.Release == nil && v.want.Apply == nil:
		return of.Unserved(v.id, c, p)
	}
	by, _ := v.servedBy(of, c, p)
	return len(by) == 0 || v.fixes() != nil
}

// prune gives up what the deployment group holds, the lease does not ask for and nothing serves: the hosts of it at once. That rests on a
// reading of everything that the owner has, the claims first, after the command's turn came and after the last delete.
func (v view) prune() (all Step) {
	of := v.reading().is
	for _, c := range slices.Backward(v.w.claimsOf(v.group)) {
		keep := without(c, v.group, func(p state.Part) bool { return v.goes(of, c, p) })
		s := allocate(c, OfClaim{Group: v.group, Parts: keep}, Request{Why: "the lease does not ask for it, and nothing serves it"})
		if s = v.rewrite(c, s, keep); !s.idle() && !all.joins(s, Request.writesHost) {
			break
		}
	}
	return all
}

// rewrite is the step that writes the entries which the deployment group keeps of a claim, once nothing stands against it.
func (v view) rewrite(c *state.Claim, step Step, keep []state.Part) Step {
	now, s := v.reading(), v.w.see(c.Name())
	if step.idle() || c.Deleting || c.Unreadable != "" {
		return Step{}
	}
	r := step.Requests[0]
	r.Event = v.givenUp(v.goneAs(report.Released), c, keep)
	dedicated := v.t.Settings.Config.IP.Mode == config.ModeDedicated && c.Kind == state.Address
	switch pause := v.pause(c.Thing, s.Misses, s.At); {
	case s.Misses >= v.t.Settings.Tries:
		return v.giveBack(fmt.Errorf("%s %s could not be given up: %w", c.Kind, c.Thing, s.Why))
	case s.Stale && !pause.idle():
		return pause
	case s.Unclear:
		r.Verb, r.Why = Get, "whether it was given up"
	case s.Stale && !v.restsOnObjects(c):
		return do(Request{Verb: Get, On: OfClaim{Name: c.Name()}, Why: "it has changed"})
	case v.restsOnObjects(c) && (now.sent <= max(v.w.Turn.Alone, v.changed()) || s.Read > now.sent || s.Stale && s.Answered > now.sent):
		return v.readOwner(max(v.w.Turn.Alone, v.changed(), s.Read, s.Answered), "nothing may serve what is given up")
	case r.Verb == Delete && dedicated && v.did(RemovePool, OfPool{Address: c.Addr()}) == 0:
		return do(Request{Verb: RemovePool, On: OfPool{c.Addr(), v.goneAs(report.Deleted)}, Why: "nobody holds the address any more"})
	}
	r.Changes = v.changeClaim(plan.GiveUp, c, keep)
	return do(r)
}

// givenUp tells that the lease keeps only some entries of a claim; nil if only a note goes.
func (v view) givenUp(action report.Action, c *state.Claim, keeps []state.Part) *Event {
	e := &Event{Action: action, Kind: string(c.Kind), Thing: c.Thing}
	switch n := len(partsOnly(keeps)); {
	case n >= len(c.PartsOf(v.group)):
		return nil
	case n > 0:
		e.Message = "in part: the lease keeps the rest of it"
	}
	return e
}

// settle writes the parts as the lease has them in the end.
func (v view) settle() (all Step) {
	for _, h := range v.things {
		c := v.w.Claim(h.Name())
		if entries, ok := v.final(h, c); ok {
			r := Request{Why: "what the lease has of it in the end", Changes: v.changeClaim(plan.Claim, c, entries)}
			if s := allocate(c, OfClaim{Group: v.group, Parts: entries}, r); !s.idle() && !all.joins(s, Request.writesHost) {
				break
			}
		}
	}
	return all
}

// stands reports whether objects of the lease serve a part, as it is applied.
func (v view) stands(c *state.Claim, p state.Part) bool {
	return v.wanted().grounds[allocation{c.Name(), p.Key}]
}

// grounds returns the parts of claims that a rendered object serves.
func (v view) grounds(o render.Object) []observed.Ground {
	var claims []*state.Claim
	if o.Kind == kinds.ProviderLeasedIP { // it names no address
		claims = v.w.claimsOf(v.group)
	}
	return observed.GroundsOf(observed.Object{Kind: o.Kind, Live: render.Look(o), Group: v.group}, claims)
}

// isChanged reports whether the lease has changed anything.
func (v view) isChanged() bool {
	return v.f.wrote > 0 || len(v.f.taken) > 0 || len(v.f.objects) > 0 || v.f.kept.written
}

// note writes a note for each part that another deployment of the owner holds, on its claim, so that users see it. The work
// does not depend on it.
func (v view) note() (all Step) {
	for _, h := range v.things {
		c, name := v.w.Claim(h.Name()), h.Name()
		for _, withheld := range v.taking(h).Withheld {
			note := withheld.Part.Wait(v.noted(h, withheld.Part))
			if c == nil || c.Deleting || c.Owner != v.group.Owner || c.Part(note.For) == nil || v.f.refused[name] != nil ||
				c.Part(note.For).Lease.Group() == v.group {
				continue
			}
			entries := c.Entries(v.group)
			i := slices.IndexFunc(entries, func(p state.Part) bool { return p.Key == note.Key })
			switch {
			case i >= 0:
				entries[i] = note
			case !c.Full(v.group): // else there is no room for it
				entries = append(entries, note)
			}
			s := allocate(c, OfClaim{Group: v.group, Parts: entries}, Request{Optional: true, Why: "the lease waits for it"})
			if s.idle() {
				continue
			}
			if !all.joins(s, Request.writesHost) {
				return all
			}
			break // one write of a claim after the other
		}
	}
	return all
}

// noted returns the hash of the definition, and the options, with which the lease would route a part that it waits for. A note has
// no routing rules: an apply must write such routes.
func (v view) noted(h state.Hold, p state.Part) (definition string, options *lease.HTTPOptions) {
	if v.want.Apply == nil {
		return "", nil
	}
	definition = v.want.Apply.Definition.Hash
	if e := v.want.Apply.Definition.Routed(h.Thing, p.Path); e != nil {
		if options = e.Options(); e.Routing != nil {
			definition = ""
		}
	}
	return definition, options
}

// facts returns what was found of what the lease wants.
func (v view) facts() (out []Fact) {
	for _, h := range v.things {
		taken := v.taking(h)
		for _, w := range taken.Withheld {
			out = append(out, Fact{Found: Withheld, Kind: h.Kind, Name: textOf(h, w.Part), At: v.want.Request.PlaceOf(h, w.Part), By: w.By})
		}
		for _, b := range taken.Beside {
			out = append(out, Fact{Found: Beside, Kind: h.Kind, Name: textOf(h, b.Part), At: v.want.Request.PlaceOf(h, b.Part), Lease: b.By})
		}
		if err := v.f.refused[h.Name()]; err != nil && len(taken.Withheld) > 0 {
			out = append(out, Fact{Found: Unnoted, Kind: h.Kind, Name: h.Thing, At: h.At, Err: err})
		}
		switch {
		case v.f.taken[h.Name()].Anew, taken.Next == protocol.Write && taken.Anew:
			out = append(out, Fact{Found: Free, Kind: h.Kind, Name: h.Thing, At: h.At})
		case taken.Next == protocol.Rest && len(taken.Parts) > 0 && len(taken.Beside) == 0:
			out = append(out, Fact{Found: Own, Kind: h.Kind, Name: h.Thing, At: h.At})
		}
	}
	return out
}
