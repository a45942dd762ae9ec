package engine_test

import (
	"slices"
	"strconv"
	"strings"

	"github.com/akash-net/kubectl-akash-net/engine"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
)

// judgeGivenUp says what is wrong with a write that gives up entries of a claim: nothing may serve them that was there when the
// command has last looked.
func (h *history) judgeGivenUp(c *command, r engine.Request) {
	if was := h.ledger.claims[r.Name]; was == nil || len(r.Parts) > 0 || len(r.Claim.PartsOf(r.Group)) == 0 || r.Back || c.wants[0].Adopt {
		return
	}
	for _, o := range h.ledger.routes(r.Claim.Thing) {
		if born, _ := strconv.Atoi(string(o.Live.GetUID())); o.Group == r.Group && born <= h.looked[c] {
			h.wrong("%s gives up %s, which %s serves", c.name, r.Claim.Thing, o)
		}
	}
}

// judgeLate says what is wrong with a late write of a command that was taken for crashed: nothing goes on which a later command
// relied.
func (h *history) judgeLate(c *command, r engine.Request) {
	at, crashed := h.crashed[c]
	if !crashed || r.Name == "" {
		return
	}
	for _, w := range c.wants {
		g := w.Request.Lease.Group()
		if h.relied[r.Name+g.String()] > at && len(h.ledger.claims[r.Name].PartsOf(g)) == 0 {
			h.wrong("%s has given up %s late, on which a later command of %s relies", c.name, r.Name, g)
		}
	}
}

// judge says what is wrong with the end of a lease of a command that was not taken for crashed.
func (h *history) judge(c *command, i int) {
	o, want := c.world.Outcome(i), c.wants[i]
	h.note("%s: %s ends: %v", c.name, want.Request.Lease.Group(), o.Err)
	group := want.Request.Lease.Group()
	for _, claim := range h.ledger.claims {
		for _, p := range claim.Parts {
			key := p.Lease.String() + " " + claim.Name() + " " + p.Key
			if p.Lease.Group() == group && state.NonceOf(p.Run) == c.nonce && o.Err != nil && !o.Unfinished && !h.objects[c][group] && !slices.Contains(h.had[c], key) {
				h.wrong("%s was refused (%v) and keeps %s", c.name, o.Err, key)
			}
		}
	}
	if d := h.ledger.definitions[group]; d != nil && state.NonceOf(d.Run) == c.nonce && o.Err != nil && !o.Unfinished && !h.objects[c][group] {
		h.wrong("%s was refused (%v) and its definition is kept", c.name, o.Err)
	}
	if o.Err == nil && !h.early[o] {
		h.judgeApplied(c, want, o)
	}
	for _, key := range h.final[c] {
		name := strings.Fields(key)[1]
		if strings.HasPrefix(key, want.Request.Lease.String()+" ") && o.Err != nil && !want.Prune && want.Release == nil && h.last[name] == c && !slices.Contains(h.holds(c, true), key) {
			h.wrong("%s was refused (%v) and has lost %s", c.name, o.Err, key)
		}
	}
	for _, thing := range o.Things {
		if o.Err == nil {
			h.relied[thing.Name()+group.String()] = len(h.trace)
		}
	}
	if o.Err == nil && (want.Apply == nil || !want.Apply.Heal) {
		withheld := func(h state.Hold, p state.Part) bool {
			return slices.ContainsFunc(o.Facts, func(f engine.Fact) bool {
				return f.Found == engine.Withheld && f.Name == lease.HostPath(h.Thing, p.Path)
			})
		}
		for _, hold := range want.Request.HostHolds() {
			claim := h.ledger.claims[hold.Name()]
			for _, p := range hold.Parts {
				own := claim.Part(p.Key)
				if !withheld(hold, p) && h.last[hold.Name()] == c && (own == nil || own.Lease.Group() != want.Request.Lease.Group()) {
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
