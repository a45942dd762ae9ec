// Package model is the protocol by which hosts and wildcards are claimed (apply/wildcard.go), small
// enough that all its interleavings can be walked through: a client does one request at a time,
// and between any two of them everybody else may do any of theirs, or crash.
package model

// Phase is what a client does next.
type Phase uint8

// The phases. Those from Won on are ends.
const (
	// Read reads the claim of the thing, and what is above or below it.
	Read Phase = iota
	// Take makes the claim, or puts the run's mark on it, pinned to what was read.
	Take
	// Check looks for the other side: a host for the wildcard above it, a wildcard for hosts below.
	Check
	// Bind makes a pending wildcard bound, pinned.
	Bind
	// Settle removes the run's mark, pinned. From here on the client writes its routes.
	Settle
	// Undo gives back what this run took.
	Undo
	Won
	Lost
	Released
	Crashed
)

func (p Phase) ended() bool { return p >= Won }

// The things that can be claimed: two hosts and the wildcards above them.
const (
	HostA = iota
	HostB
	WildcardX
	WildcardY
	things
)

// claim is an object of the ledger. The zero claim is none.
type claim struct {
	uid, owner, mark uint8
	bound            bool
}

// Client is one deployment group that wants one thing.
type Client struct {
	Owner uint8
	Thing int
	// Fails is true for a client that cannot have something else that it wants: when it has taken its
	// thing it gives it back.
	Fails bool
	// Releases is true for a client that may give up what it has won.
	Releases bool
}

// runner is where a client stands.
type runner struct {
	phase Phase
	// attempt counts the runs: a client that has crashed may run once more.
	attempt uint8
	// saw is the claim as this run has read or written it last, before as it was before the run.
	saw, before claim
}

// Most clients of one world.
const most = 4

// state is everything at one moment. sweep is a wildcard as somebody saw it who is about to remove
// it as stale.
type state struct {
	claims  [things]claim
	runners [most]runner
	sweep   claim
	// crashes counts those who have crashed, and who have been taken for it.
	crashes uint8
}

// Rules are the protocol, and the ways to break it.
type Rules struct {
	// Crashes is how many clients may crash, at any moment; each may run once more. Where it is not
	// 0, anybody may take a pending wildcard for stale and remove it.
	Crashes uint8
	// GiveUp lets a host end its wait for a pending wildcard.
	GiveUp bool

	// Symmetric makes a host withdraw at the sight of a pending wildcard.
	Symmetric bool
	// NoSecondRead makes a host rely on what it read before it was claimed.
	NoSecondRead bool
	// NoList makes a wildcard rely on what it read before it was claimed.
	NoList bool
	// Unpinned makes whoever removes a stale wildcard remove what has its name by then.
	Unpinned bool
	// NoMark makes a run give back a claim that another run of its lease relies on.
	NoMark bool
	// OldMark makes a run that fails put back the mark of the run from which it took the claim over,
	// and a run that ends leave the mark of another.
	OldMark bool
}

// World is a set of clients and the rules that they keep.
type World struct {
	Rules
	Clients []Client
	// Over is the wildcard above each host.
	Over [2]int
}

func wildcard(thing int) bool { return thing >= WildcardX }

// run is the nonce of a client's run; 0 is none.
func (s *state) run(i int) uint8 { return uint8(2*i) + s.runners[i].attempt + 1 }

// step is what can happen next. live is false for what nobody can count on: a crash, a second run.
type step struct {
	to   state
	live bool
}

// next are all steps from a state.
func (w *World) next(s state) []step {
	var out []step
	for i := range w.Clients {
		for _, to := range w.moves(s, i) {
			out = append(out, step{to, true})
		}
		if w.Crashes == 0 {
			continue
		}
		switch r := s.runners[i]; {
		case !r.phase.ended() && s.crashes < w.Crashes:
			to := s
			to.runners[i] = runner{phase: Crashed, attempt: r.attempt}
			to.crashes++
			out = append(out, step{to: to})
		case r.phase == Crashed && r.attempt == 0:
			to := s
			to.runners[i] = runner{attempt: 1}
			out = append(out, step{to: to})
		}
	}
	if w.Crashes > 0 {
		for _, to := range w.sweeps(s) {
			out = append(out, step{to, true})
		}
	}
	return out
}

// sweeps are the steps of whoever takes a pending wildcard for stale.
func (w *World) sweeps(s state) []state {
	var out []state
	for thing := WildcardX; thing < things; thing++ {
		to, c := s, s.claims[thing]
		switch {
		case s.sweep == claim{} && c.uid != 0 && !c.bound:
			to.sweep, to.crashes = c, max(to.crashes, 1)
			out = append(out, to)
		case s.sweep != claim{} && (c == s.sweep || w.Unpinned && c.owner == s.sweep.owner):
			to.claims[thing], to.sweep = claim{}, claim{}
			out = append(out, to)
		}
	}
	if s.sweep != (claim{}) {
		s.sweep = claim{} // it has changed meanwhile
		out = append(out, s)
	}
	return out
}

// moves are the next steps of one client.
func (w *World) moves(s state, i int) []state {
	c, r := w.Clients[i], &s.runners[i]
	now := &s.claims[c.Thing]
	switch r.phase {
	case Read:
		r.saw, r.before, r.phase = *now, *now, Take
		if now.uid != 0 && now.owner != c.Owner || now.uid == 0 && w.refused(&s, c) {
			r.phase, r.saw, r.before = Lost, claim{}, claim{}
		}
	case Take:
		w.take(&s, i)
	case Check:
		return w.check(s, i)
	case Bind:
		switch {
		case *now == r.saw:
			now.bound = true
			r.saw, r.phase = *now, Settle
		case now.uid != r.saw.uid:
			r.phase = Undo
		case now.bound && !w.OldMark:
			r.saw, r.phase = *now, Settle // by another run of the lease
		default:
			r.saw, r.phase = *now, Check
		}
	case Settle:
		switch {
		case c.Fails:
			r.phase = Undo
		case now.uid != r.saw.uid:
			r.phase = Undo
		case w.OldMark && now.mark != s.run(i):
			r.phase = Won
		default: // a write that comes too late is tried again, so that it counts as one
			now.mark, r.phase = 0, Won
		}
	case Undo:
		w.undo(&s, i)
	case Won:
		if !c.Releases {
			return nil
		}
		if now.owner == c.Owner {
			*now = claim{}
		}
		r.phase = Released
	default:
		return nil
	}
	if r.phase.ended() {
		r.saw, r.before = claim{}, claim{}
	}
	return []state{s}
}

// refused is what a run knows before it writes: another owner, whose run has ended, is in the way.
func (w *World) refused(s *state, c Client) bool {
	if !wildcard(c.Thing) {
		over := s.claims[w.Over[c.Thing]]
		return over.uid != 0 && over.owner != c.Owner && over.bound && over.mark == 0
	}
	for host, over := range w.Over {
		if below := s.claims[host]; over == c.Thing && below.uid != 0 && below.owner != c.Owner && below.mark == 0 {
			return true
		}
	}
	return false
}

func (w *World) take(s *state, i int) {
	c, r := w.Clients[i], &s.runners[i]
	now := &s.claims[c.Thing]
	switch {
	case *now != r.saw:
		*r = runner{attempt: r.attempt}
		return
	case now.uid == 0:
		*now = claim{uid: s.run(i), owner: c.Owner, mark: s.run(i)}
	case now.mark != 0 && !w.NoMark:
		now.mark = s.run(i)
	case now.mark == 0:
		r.phase = Settle // it was the lease's before; nothing is written
		return
	}
	r.saw, r.phase = *now, Check
	if wildcard(c.Thing) && now.bound {
		r.phase = Settle
	}
}

func (w *World) check(s state, i int) []state {
	c, r := w.Clients[i], &s.runners[i]
	if wildcard(c.Thing) {
		r.phase = Bind
		// A wildcard that looks again, while a run under way has the host, only looks later: what it may
		// find then is found by the interleavings in which this step comes later.
		for host, over := range w.Over {
			if below := s.claims[host]; over == c.Thing && below.uid != 0 && below.owner != c.Owner && !w.NoList {
				r.phase = Undo
			}
		}
		return []state{s}
	}
	switch over := s.claims[w.Over[c.Thing]]; {
	case over.uid == 0, over.owner == c.Owner, w.NoSecondRead:
		r.phase = Settle
	case over.bound, w.Symmetric, w.GiveUp:
		r.phase = Undo
	default:
		return nil // pending: it asks again
	}
	return []state{s}
}

// undo gives back what carries this run's mark.
func (w *World) undo(s *state, i int) {
	c, r := w.Clients[i], &s.runners[i]
	now := &s.claims[c.Thing]
	switch {
	case now.uid == 0 || now.owner != c.Owner:
	case w.NoMark:
		*now = claim{}
	case now.mark != s.run(i):
	case r.before.uid == now.uid && (r.before.mark == 0 || w.OldMark):
		*now = r.before
	default:
		*now = claim{}
	}
	r.phase = Lost
}
