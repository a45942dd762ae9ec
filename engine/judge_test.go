package engine_test

import (
	"errors"
	"maps"
	"slices"

	"github.com/akash-net/kubectl-akash-net/engine"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/state"
)

// judgeGivenUp says what is wrong with a write that gives up entries of a claim: nothing may serve them that was there when the
// command has last looked.
func (h *history) judgeGivenUp(c *command, r engine.Request) {
	on := engine.On[engine.OfClaim](r)
	if was := h.ledger.claims[on.Name]; was == nil || len(on.Parts) > 0 || len(on.Claim.PartsOf(on.Group)) == 0 || r.Back || c.wants[0].Adopt {
		return
	}
	for _, o := range h.ledger.routes(on.Claim.Thing) {
		if o.Group == on.Group && c.looked[o.Live.GetUID()] {
			h.wrong("%s gives up %s, which %s serves", c.name, on.Claim.Thing, o)
		}
	}
}

// judgeLate says what is wrong with a late write of a command that was taken for crashed: nothing goes on which a later command
// relied.
func (h *history) judgeLate(c *command, r engine.Request) {
	if !r.WritesClaim() {
		return
	}
	for _, w := range c.wants {
		g := w.Request.Lease.Group()
		if slices.Contains(h.relied[r.On.String()+g.String()], c.name) && len(h.ledger.claims[r.On.String()].PartsOf(g)) == 0 {
			h.wrong("%s has given up %s late, on which a later command of %s relies", c.name, r.On.String(), g)
		}
	}
}

// rely notes that a command which has ended well relies on something.
func (h *history) rely(thing string) { h.relied[thing] = slices.Sorted(maps.Keys(h.ledger.fallen)) }

// judge says what is wrong with the end of a lease of a command that was not taken for crashed.
func (h *history) judge(c *command, i int) {
	o, want := c.outcomes[i], c.wants[i]
	h.note("%s: %s ends: %v", c.name, want.Request.Lease.Group(), o.Err)
	group := want.Request.Lease.Group()
	for _, claim := range h.ledger.claims {
		for _, p := range claim.Parts {
			_, had := c.had[holding{claim.Name(), p.Key, group}]
			if p.Lease.Group() == group && state.NonceOf(p.Run) == c.nonce && o.Err != nil && !o.Unfinished && !slices.Contains(c.objects, group) && !had {
				h.wrong("%s was refused (%v) and keeps %s", c.name, o.Err, claim.Name())
			}
		}
	}
	if d := h.ledger.definitions[group]; d != nil && state.NonceOf(d.Run) == c.nonce && o.Err != nil && !o.Unfinished && !slices.Contains(c.objects, group) {
		h.wrong("%s was refused (%v) and its definition is kept", c.name, o.Err)
	}
	if o.Err != nil && !o.Unfinished {
		h.judgeMarks(c, want)
	}
	if o.Err == nil && !o.early {
		h.judgeApplied(c, want, o.Outcome)
	}
	if held, ok := errors.AsType[*report.HeldError](o.Err); ok {
		h.judgeHeld(c, held)
	}
	for had, expires := range c.final {
		own := h.ledger.claims[had.name].Part(had.key)
		lost := (own == nil || own.Lease.Group() != group) && !(state.Part{Expires: expires}).Ended(h.ledger.now)
		if lost && had.group == group && o.Err != nil && !want.Prune && want.Release == nil && h.last[holding{name: had.name, group: group}] == c.name {
			h.wrong("%s was refused (%v) and has lost %s", c.name, o.Err, had.name)
		}
	}
	if o.Err == nil {
		h.report(c, group, o.Outcome)
		h.judgeNotes(c, group, o.Outcome)
	}
	if o.Err == nil && (want.Apply == nil || !want.Apply.Heal) {
		for _, hold := range want.Request.HostHolds() {
			claim := h.ledger.claims[hold.Name()]
			for _, p := range hold.Parts {
				own := claim.Part(p.Key)
				if !isWithheld(o.Outcome, hold, p) && h.last[holding{name: hold.Name(), group: group}] == c.name && (own == nil || own.Lease.Group() != want.Request.Lease.Group()) {
					h.wrong("%s is done without %s%s", c.name, hold.Thing, p.Path)
				}
			}
		}
	}
}

// judgeEnd says what is wrong with the ledger once all commands have ended.
func (h *history) judgeEnd() {
	for _, claim := range h.ledger.claims {
		// Nobody has looked at the wildcard for what a crashed command takes late, until its lease is applied again.
		marked := slices.ContainsFunc(claim.Parts, func(p state.Part) bool {
			return p.Run != "" && (h.ledger.read(claim.Name(), "").Part(p.Key).Run != "" || h.ledger.fallen[state.NonceOf(p.Run)] != nil)
		})
		over := h.ledger.claims[state.HostName(state.WildcardOver(claim.Thing))]
		if claim.Kind != state.Host || over == nil || over.Owner == claim.Owner || marked || claim.Ended(h.ledger.now) || over.Ended(h.ledger.now) {
			continue
		}
		if over.Bound() && !h.ledger.read(over.Name(), "").Marked() {
			h.wrong("%s of %s is below %s of %s", claim.Thing, claim.Owner, over.Thing, over.Owner)
		}
	}
}

// judgeQuiet says what is wrong with the end of commands of which none stood still: nobody was taken for crashed, and no announcement is
// left; and if nothing has gone wrong at all, one of them has what it wants, nothing is left of which nobody was told, and nobody lacks an
// address that is free.
func (h *history) judgeQuiet() {
	won, lacks, gives := false, 0, false
	for _, c := range h.commands {
		if c.lost {
			h.wrong("%s was taken for crashed", c.name)
		}
		for i, o := range c.outcomes {
			gives = gives || c.wants[i].Release != nil || c.wants[i].Prune
			switch asks := len(c.wants[i].Request.Endpoints) > 0; {
			case o.Err == nil:
				won = true
			case asks:
				lacks++
			}
		}
	}
	if !won && !h.troubled {
		h.wrong("nobody has what it wants")
	}
	for nonce := range h.ledger.announced {
		h.wrong("the announcement of %s is left", nonce)
	}
	if h.troubled {
		return
	}
	addresses := 0
	for name, claim := range h.ledger.claims {
		if claim.Kind == state.Address {
			addresses++
		}
		for _, p := range claim.Parts {
			if !h.reported[holding{name, p.Key, p.Lease.Group()}] {
				h.wrong("%s is left to %s, which was not told of it", name, p.Lease.Group())
			}
		}
	}
	if lacks == 1 && !gives && addresses < poolSize { // two may have been refused, and one may have given an address back
		h.wrong("somebody lacks an address, and one is free")
	}
}

// finish says what is wrong once all commands have ended, or stand still; then the same once their leases were applied or released again,
// and once what they have sent has arrived.
func (h *history) finish() {
	h.judgeEnd()
	if !h.stood {
		h.judgeQuiet()
	}
	before := len(h.commands)
	h.applyAgain()
	refused := slices.ContainsFunc(h.commands[before:], func(c *command) bool {
		return slices.ContainsFunc(c.outcomes, func(o outcome) bool { return o.Err != nil })
	})
	for nonce, a := range h.ledger.announced {
		if !h.applies && !refused && !h.isStalled(a) {
			h.wrong("the announcement of %s is left", nonce)
		}
	}
	for _, c := range h.commands {
		if c.stalled && len(c.flying) > 0 {
			h.land(c, c.arrived)
		}
	}
}
