package engine_test

import (
	"github.com/akash-net/kubectl-akash-net/engine"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/protocol"
)

// turning is how far a command is on the way to its turn, one request at a time, as package turn goes it.
type turning struct {
	// then is what it does next with another announcement, other, by what it has listed.
	then  protocol.Turn
	other *state.Announcement
	// announced is true while it has an announcement, as far as it knows; waited if it has met another command; buried once it has removed
	// the announcements of those whose work it has finished.
	announced, waited, buried bool
	// stalled is true while it stands still: others take it for crashed.
	stalled bool
}

// meets reports whether another command works for the groups of a command.
func (l *ledger) meets(c *command) bool {
	for nonce, a := range l.announced {
		if nonce != c.nonce && a.Names(c.groups()...) {
			return l.breach != "who is at work is listed with the claims"
		}
	}
	return false
}

// isBlocked reports whether a command waits for another one, which works or withdraws.
func (h *history) isBlocked(c *command) bool {
	if c.then != protocol.Await {
		return false
	}
	other := h.ledger.announced[c.other.Nonce]
	return !protocol.Lost(other) && other.Names(c.groups()...) && !h.isStalled(other)
}

// isStalled reports whether the command of an announcement stands still.
func (h *history) isStalled(a *state.Announcement) bool {
	for _, c := range h.commands {
		if c.nonce == a.Nonce {
			return c.stalled
		}
	}
	return false
}

// approach lets a command do the next request on the way to its turn: it announces itself, lists the announcements, and fences
// another command, withdraws or waits, until nobody else works for its groups.
func (h *history) approach(c *command, f flying) {
	l := h.ledger
	own, next := l.announced[c.nonce], c.then
	c.then = protocol.Work
	switch {
	case next == protocol.Fence:
		h.note("%s takes %s for crashed", c.name, c.other.Nonce)
		if c.waited = true; l.announced[c.other.Nonce] == c.other {
			l.fence(c.other, c.nonce)
		}
	case next == protocol.Withdraw && !protocol.Lost(own):
		h.note("%s withdraws, and waits for %s", c.name, c.other.Nonce)
		l.withdraw(own)
		c.announced, c.waited, c.then = false, true, protocol.Await
	case !c.announced:
		h.note("%s announces itself", c.name)
		c.announced = true
		l.put(&state.Announcement{Nonce: c.nonce, Groups: c.groups(), Phase: state.Active})
	case protocol.Lost(own):
		h.arrive(c, f, func(engine.Request) engine.Answer { return engine.Answer{Over: true, Err: errLost} })
	default:
		if c.then, c.other = protocol.NextTurn(own, l.announcements(), h.isStalled); c.then == protocol.Work || l.breach == "one command works for a group" {
			h.arrive(c, f, func(engine.Request) engine.Answer { return l.turn(c, c.waited) })
			c.turning = turning{}
			return
		}
		c.waited = true
		h.note("%s lists the announcements, and waits for %s", c.name, c.other.Nonce)
	}
}

// bury removes the announcements of the crashed commands that a command succeeds, as far as it has finished their work.
func (c *command) bury() {
	var done []lease.Group
	for i, w := range c.wants {
		if !c.outcomes[i].Unfinished {
			done = append(done, w.Groups()...)
		}
	}
	c.ledger.succeed(c.turn.Fenced, done)
	c.buried = true
}

// commit ends a command whose leases have all ended.
func (c *command) commit() {
	c.ended = true
	l := c.ledger
	switch {
	case c.decided.failed:
		return
	case !l.isAlive(c):
		c.lost = c.alone // else it had nothing to write
		return
	case !c.buried:
		c.bury()
	}
	own := state.Announcement{Nonce: c.nonce, Phase: state.Active}
	for i, w := range c.wants {
		if c.outcomes[i].Unfinished {
			own.Groups = append(own.Groups, w.Groups()...)
		}
	}
	if len(own.Groups) == 0 {
		l.withdraw(&own)
		return
	}
	l.fence(&own, c.nonce)
}
