package engine_test

import (
	"slices"
	"strings"

	"github.com/akash-net/kubectl-akash-net/engine"
	"github.com/akash-net/kubectl-akash-net/engine/observed"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
)

// judgeGone says what is wrong with a write of a claim: what has no end does not get one, and what was reported as had stays, unless its
// hold has ended, or a command gives it up that is to do so and was not taken for crashed before.
func (h *history) judgeGone(c *command, r engine.Request, was *state.Claim) {
	on := engine.On[engine.OfClaim](r)
	for _, p := range was.PartsOf(on.Group) {
		if now := h.ledger.claims[on.Name].Part(p.Key); now != nil && now.Expires != "" && p.Expires == "" {
			h.wrong("%s makes a hold of %s, which %s has claimed", c.name, on.Name, on.Group)
		}
	}
	for had := range h.reported {
		own := h.ledger.claims[had.name].Part(had.key)
		if had.name != on.Name || own != nil && own.Lease.Group() == had.group {
			continue
		}
		delete(h.reported, had)
		mayGiveUp := slices.ContainsFunc(c.wants, func(w engine.Want) bool {
			return slices.Contains(w.Groups(), had.group) && (w.Prune || w.Release != nil || w.Transfer != nil)
		})
		switch p := was.Part(had.key); {
		case p != nil && p.Ended(h.ledger.now):
		case r.Back || !mayGiveUp || slices.Contains(h.relied[had.name+had.group.String()], c.name):
			h.wrong("%s takes %s from %s, which was told that it has it", c.name, had.name, had.group)
		}
	}
}

// judgeRoute says what is wrong with the write of an object by a command that was not taken for crashed: its lease has what that serves,
// and no other owner has the wildcard above.
func (h *history) judgeRoute(c *command, o observed.Object) {
	if !h.ledger.isAlive(c) {
		return
	}
	if !h.ledger.rests(o) && len(state.HostUses(o.Live)) > 0 {
		h.wrong("%s writes %s, and %s does not have what that serves", c.name, o, o.Group)
	}
	for _, u := range state.HostUses(o.Live) {
		if over := h.ledger.claims[state.HostName(state.WildcardOver(u.Host))]; over != nil && over.Owner != o.Group.Owner && over.Bound() {
			h.wrong("%s writes %s below %s of %s", c.name, o, over.Thing, over.Owner)
		}
	}
}

// report notes what a lease has, as its command says.
func (h *history) report(c *command, g lease.Group, o *engine.Outcome) {
	for _, thing := range o.Things {
		h.rely(thing.Name() + g.String())
		for _, p := range thing.Parts {
			own := h.ledger.claims[thing.Name()].Part(p.Key)
			switch has := own != nil && own.Lease.Group() == g; {
			case has && own.Expires != "" && p.Expires == "":
				h.wrong("%s is done, and what %s has of %s ends", c.name, g, thing.Name())
			case has:
				h.reported[holding{thing.Name(), p.Key, g}] = true
			case !isWithheld(o, thing, p) && !p.Ended(h.ledger.now):
				h.wrong("%s is done, and %s does not have %s", c.name, g, thing.Name())
			}
		}
		for other := range h.reported {
			at := h.ledger.claims[other.name]
			if other.group.Owner != g.Owner && (state.WildcardOver(at.Thing) == thing.Thing || state.WildcardOver(thing.Thing) == at.Thing) {
				h.wrong("%s is done, and %s has %s beside %s of %s", c.name, g, thing.Thing, at.Thing, other.group)
			}
		}
	}
}

// isWithheld reports whether a lease is told that another deployment of its owner has a part.
func isWithheld(o *engine.Outcome, h state.Hold, p state.Part) bool {
	name := lease.HostPath(h.Thing, p.Path)
	if h.Kind.HasPorts() {
		name = h.Thing + " " + p.PortText()
	}
	return slices.ContainsFunc(o.Facts, func(f engine.Fact) bool { return f.Found == engine.Withheld && f.Name == name })
}

// judgeNotes says what is wrong with the notes of what a lease lacks: each is on the claim that it knows.
func (h *history) judgeNotes(c *command, g lease.Group, o *engine.Outcome) {
	if slices.ContainsFunc(o.Facts, func(f engine.Fact) bool { return f.Found == engine.Unnoted }) {
		return
	}
	for _, f := range o.Facts {
		if f.Found != engine.Withheld || f.Kind.HasPorts() {
			continue
		}
		name, path, _ := strings.Cut(f.Name, "/")
		known, claim, key := c.know().Claim(state.HostName(name)), h.ledger.claims[state.HostName(name)], state.RouteKey("/"+path)
		if known == nil || claim == nil || known.UID != claim.UID {
			continue
		}
		if by := claim.Part(key); by != nil && by.Lease.Group() != g && !slices.ContainsFunc(claim.Entries(g), func(p state.Part) bool { return p.For == key }) {
			h.wrong("%s is done without %s, and has left no note", c.name, f.Name)
		}
	}
}

// judgeMarks says what is wrong with what a refused command leaves: nothing that it was refused and nothing serves has the mark of a crashed
// command whose place it has taken.
func (h *history) judgeMarks(c *command, want engine.Want) {
	for _, hold := range want.Request.HostHolds() {
		claim := h.ledger.claims[hold.Name()]
		for _, p := range hold.Parts {
			own := claim.Part(p.Key)
			if own == nil || own.Lease.Group() != want.Request.Lease.Group() || h.last[holding{name: hold.Name(), group: own.Lease.Group()}] != c.name || len(h.ledger.routes(hold.Thing)) > 0 {
				continue
			}
			if slices.ContainsFunc(c.turn.Fenced, func(a *state.Announcement) bool { return own.Run != "" && a.Nonce == state.NonceOf(own.Run) }) {
				h.wrong("%s was refused, and %s has the mark of a crashed command", c.name, hold.Thing)
			}
		}
	}
}

// judgeHeld says what is wrong with what keeps a lease from what it wants: it had not ended when the turn of the command came.
func (h *history) judgeHeld(c *command, held *report.HeldError) {
	for _, thing := range held.Held {
		name := state.HostName(thing.Thing)
		claim := h.ledger.claims[name]
		stands := func(p state.Part) bool {
			return !p.Ended(c.since) || !h.isGone(h.last[holding{name: name, group: p.Lease.Group()}])
		}
		if claim != nil && !slices.ContainsFunc(claim.Parts, stands) {
			h.wrong("%s was refused (%v), and that had ended when it began", c.name, held)
		}
	}
}

// isGone reports whether a command stands still, or had ended before the others began.
func (h *history) isGone(name string) bool {
	return !slices.ContainsFunc(h.commands, func(c *command) bool { return c.name == name && !c.stalled })
}
