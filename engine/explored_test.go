package engine_test

import (
	"maps"
	"math/rand"
	"slices"
	"strings"
	"time"

	"github.com/akash-net/kubectl-akash-net/engine"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/protocol"
)

// exploration walks through all moments that the commands of a history can reach: each may send its next request whenever the others
// have sent any of theirs. Two moments are the same if what is stored is the same and each command was told the same: what it does
// next is a function of that.
type exploration struct {
	// seen are the moments, decided is what commands do next, by what they were told.
	seen    map[uint64]bool
	decided map[uint64]*decision
	// drawn says which of the moves at a moment are made, nil if all are.
	drawn *rand.Rand
	// ends counts the moments at which all commands have ended, wrong is what was found.
	ends  int
	wrong []string
	known
}

func newExploration() *exploration {
	return &exploration{seen: map[uint64]bool{}, decided: map[uint64]*decision{}, known: newKnown()}
}

// move is what happens to the command at a place, or to the time.
type move struct {
	what act
	at   int
}

type act int

const (
	begins act = iota
	goesOn
	// What goes wrong. A command that stalls has sent its next write, which arrives when it wakes.
	isRefused
	losesAnswer
	losesRequest
	isInterrupted
	stalls
	wakes
	// Time passes for those who wait while nobody has anything to do, and the clock jumps at any moment.
	timePasses
	clockJumps
)

// explore walks on from a moment. It returns the way to the first one at which something is wrong, nil if there is none.
func (e *exploration) explore(h *history, way []move) []move {
	sum := e.moment(h)
	switch {
	case len(way) > 200:
		e.wrong = []string{"it does not end"}
		return way
	case len(h.verdicts) > 0:
		e.wrong = h.verdicts
		return way
	case e.seen[sum]:
		return nil
	}
	e.seen[sum] = true
	moves, ended := h.moves()
	if ended {
		e.ends++
		end := h.clone()
		if end.finish(); len(end.verdicts) > 0 {
			e.wrong = end.verdicts
			return way
		}
	}
	moves = e.chosen(moves)
	for i, m := range moves {
		from := h
		if i+1 < len(moves) {
			h = h.clone()
		}
		from.play(m)
		if wrong := e.explore(from, append(way, m)); wrong != nil {
			return wrong
		}
	}
	return nil
}

// chosen are the moves that are made: all, or one and some of the others.
func (e *exploration) chosen(moves []move) []move {
	if e.drawn == nil || len(moves) < 2 {
		return moves
	}
	const others = 0.4
	one := moves[e.drawn.Intn(len(moves))]
	return slices.DeleteFunc(moves, func(m move) bool { return m != one && e.drawn.Float64() >= others })
}

// moves are those that can be made next. All has ended if none has to be.
func (h *history) moves() (out []move, ended bool) {
	var may []move
	waits := false
	for i, c := range h.commands {
		add := func(acts ...act) {
			for _, what := range acts {
				may = append(may, move{what, i})
			}
		}
		switch {
		case c.ended:
			continue
		case c.plan == nil:
			if c.after < 0 || h.commands[c.after].ended || h.commands[c.after].stalled {
				out = append(out, move{begins, i})
			}
			continue
		case c.stalled:
			if !h.ledger.isAlive(c) || h.isFencing(c) {
				add(wakes)
			}
			continue
		}
		_, r, steps, ok := c.next()
		switch {
		case ok && r.Verb == engine.Announce:
			if h.isBlocked(c) {
				continue
			}
			if h.troubles > 0 && h.ledger.isAlive(c) {
				add(stalls)
			}
		case ok && isWrite(r) && h.troubles > 0 && c.mayWrite(r):
			if add(losesAnswer, losesRequest, stalls); !r.Back {
				add(isRefused, isInterrupted)
			}
		case !ok && len(steps) > 0 && !earliest(steps).IsZero():
			waits = true
			continue
		case !ok && h.troubles > 0 && h.ledger.isAlive(c):
			add(stalls)
		}
		out = append(out, move{goesOn, i})
	}
	if len(out) == 0 && waits {
		out = append(out, move{what: timePasses})
	}
	if ended = len(out) == 0; len(h.jumps) > 0 {
		may = append(may, move{what: clockJumps})
	}
	return append(out, may...), ended
}

// isFencing reports whether a command is about to take another one for crashed.
func (h *history) isFencing(c *command) bool {
	return slices.ContainsFunc(h.commands, func(d *command) bool { return d.then == protocol.Fence && d.other.Nonce == c.nonce })
}

// play makes a move.
func (h *history) play(m move) {
	if slices.Contains([]act{isRefused, losesAnswer, losesRequest, isInterrupted, stalls}, m.what) {
		h.troubles--
		h.troubled = true
	}
	h.stood = h.stood || slices.Contains([]act{isInterrupted, stalls, clockJumps}, m.what)
	c := h.commands[m.at]
	switch m.what {
	case begins:
		if c.half != nil {
			c.begin()
			break
		}
		begun := h.begins(c.name, c.words)
		begun.after = c.after
		if h.commands[m.at] = begun; !h.torn {
			begun.begin()
		}
	case goesOn:
		h.goOn(c, c.answer)
	case isRefused:
		h.goOn(c, refuses)
	case losesAnswer:
		h.goOn(c, loses(c.answer))
	case losesRequest:
		h.goOn(c, mute)
	case isInterrupted:
		h.note("%s is interrupted", c.name)
		c.interrupt()
	case stalls:
		if c.stalled = true; c.decided.ok && isWrite(c.decided.r) {
			c.flying = []flying{{place: c.decided.place, request: c.decided.r}}
		}
		for _, f := range c.flying {
			h.note("%s sends: %s", c.name, f.request)
		}
		h.note("%s stands still", c.name)
	case wakes:
		h.note("%s goes on", c.name)
		if c.stalled = false; len(c.flying) > 0 {
			h.land(c, c.arrived)
		}
	case timePasses:
		var until time.Time
		for _, c := range h.commands {
			if c.ended || c.stalled || c.plan == nil {
				continue
			}
			if _, _, steps, ok := c.next(); !ok {
				if at := earliest(steps); !at.IsZero() && (until.IsZero() || at.Before(until)) {
					until = at
				}
			}
		}
		h.ledger.now = until
		h.note("time passes")
	case clockJumps:
		h.ledger.now = h.ledger.now.Add(h.jumps[0])
		h.note("%s pass", h.jumps[0])
		h.jumps = h.jumps[1:]
	}
}

// begins is a command that begins.
func (h *history) begins(name string, words []string) *command {
	h.note("%s begins: %s", name, strings.Join(words, " "))
	c := h.ledger.begins(name, h.ledger.want(words))
	c.words = words
	return c
}

// goOn lets a command do its next request, and with it those that follow which no other command can make differ.
func (h *history) goOn(c *command, answer func(engine.Request) engine.Answer) {
	place, r, waits, ok := c.next()
	switch {
	case ok && r.Verb == engine.Announce:
		h.approach(c, flying{place: place, request: r})
		if !c.alone && !h.isContested(c) {
			h.approach(c, flying{place: place, request: r})
		}
	case ok && (r.Verb == engine.ReadAll || r.Verb == engine.Look) && c.half == nil && h.torn:
		c.reads(r)
	case ok && r.Verb == engine.Get && c.half == nil && h.meetsMark(c, r.On.String()):
		c.half = &reading{claims: []*state.Claim{h.ledger.claims[r.On.String()]}, sum: sumOfClaim(h.ledger.claims[r.On.String()])}
	case !ok && len(waits) == 0 && len(c.turn.Fenced) > 0 && !c.buried && h.ledger.isAlive(c):
		c.bury()
	default:
		h.turn(c, answer)
	}
	for !c.ended {
		place, r, _, ok := c.next()
		if !ok || !h.isOwn(c, r.Verb) {
			return
		}
		h.arrive(c, flying{place: place, request: r}, c.answer)
	}
}

// isOwn reports whether a request of a command is nobody else's concern.
func (h *history) isOwn(c *command, verb engine.Verb) bool {
	switch verb {
	case engine.ReadRuns, engine.ReadTargets, engine.Leave:
		return true
	case engine.ReadAnnouncements, engine.Undo:
		return !h.isContested(c)
	}
	return verb == engine.GetDefinition && (!h.applies || !h.isContested(c))
}

// meetsMark reports whether a claim has the mark of another command: then the announcement of that is read after the claim.
func (h *history) meetsMark(c *command, name string) bool {
	claim := h.ledger.claims[name]
	return claim != nil && slices.ContainsFunc(claim.Parts, func(p state.Part) bool { return p.Run != "" && state.NonceOf(p.Run) != c.nonce })
}

// isContested reports whether another command is ever to work for a group of a command.
func (h *history) isContested(c *command) bool {
	return slices.ContainsFunc(h.commands, func(d *command) bool {
		return d.name != c.name && len(d.words) > 0 && (d.words[0] == c.words[0] || slices.Contains(slices.Concat(c.words, d.words), "transfer"))
	})
}

// clone returns the same moment, which goes its own way.
func (h *history) clone() *history {
	out, l := *h, *h.ledger
	l.claims, l.objects, l.definitions, l.said = maps.Clone(l.claims), maps.Clone(l.objects), maps.Clone(l.definitions), maps.Clone(l.said)
	l.versions, l.announced, l.fallen = maps.Clone(l.versions), maps.Clone(l.announced), maps.Clone(l.fallen)
	out.ledger, out.last, out.relied, out.reported = &l, maps.Clone(h.last), maps.Clone(h.relied), maps.Clone(h.reported)
	out.trace, out.verdicts = slices.Clip(h.trace), slices.Clip(h.verdicts)
	out.commands = make([]*command, len(h.commands))
	for i, c := range h.commands {
		one := *c
		one.ledger, one.world = &l, nil
		one.remember()
		out.commands[i] = &one
	}
	return &out
}

// decide returns what a command does next. A nil exploration remembers nothing.
func (e *exploration) decide(c *command) *decision {
	if e == nil {
		return c.decide()
	}
	c.sum = sumOf(c.sum, c.ledger.now)
	d := e.decided[c.sum]
	if d == nil {
		d = c.decide()
		e.decided[c.sum] = d
		return d
	}
	for _, tell := range d.learned {
		c.learn(tell)
	}
	c.outcomes = d.outcomes
	return d
}
