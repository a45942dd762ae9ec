package model

import "github.com/akash-net/kubectl-akash-net/state/protocol"

// step is what can happen next. live is false for what nobody can count on: a crash, a second run.
type step struct {
	to   moment
	live bool
}

// next are all steps from a state.
func (w *World) next(s moment) []step {
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
func (w *World) sweeps(s moment) []moment {
	var out []moment
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
func (w *World) moves(s moment, i int) []moment {
	c, r := w.Clients[i], &s.runners[i]
	now := &s.claims[c.Thing]
	switch r.phase {
	case Read:
		r.saw, r.before, r.phase = *now, *now, Take
		if w.taking(&s, i).Next == protocol.Yield || now.uid == 0 && w.refused(&s, c) {
			r.phase = Lost
		}
	case Take:
		w.take(&s, i)
	case Check:
		return w.check(s, i)
	case Bind:
		w.bind(&s, i)
	case Settle:
		w.settle(&s, i)
	case Undo:
		return w.undo(s, i)
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
	return []moment{s}
}

// taking is what the protocol does with the claim that a client has read.
func (w *World) taking(s *moment, i int) protocol.Taken {
	c := w.Clients[i]
	return protocol.Take(protocol.Taking{
		Want: w.want(c), Claim: w.object(c.Thing, s.runners[i].saw), Nonce: nonce(s.run(i)), Decide: decide[c.Owner],
	})
}

// refused is what a run knows before it writes: another owner, whose run has ended, is in the way.
func (w *World) refused(s *moment, c Client) bool {
	if !wildcard(c.Thing) {
		over := s.claims[w.Over[c.Thing]]
		return over.mark == 0 && protocol.Above(group(c.Owner), never, w.object(w.Over[c.Thing], over)) == protocol.Yield
	}
	stand, _ := protocol.Below(group(c.Owner), never, w.name(c.Thing), w.hosts(s))
	for _, below := range stand {
		if !below.Marked() {
			return true
		}
	}
	return false
}

func (w *World) take(s *moment, i int) {
	c, r := w.Clients[i], &s.runners[i]
	now := &s.claims[c.Thing]
	if *now != r.saw {
		*r = runner{attempt: r.attempt} // the pin does not hold
		return
	}
	taken := w.taking(s, i)
	if taken.Next == protocol.Rest {
		r.phase = Settle // it was the lease's before; nothing is written
		return
	}
	if now.uid == 0 {
		*now = claim{uid: s.run(i), owner: c.Owner}
		now.write(taken.Parts)
	} else if !w.NoMark {
		now.write(taken.Parts)
	}
	r.saw, r.phase = *now, Check
	if wildcard(c.Thing) && now.bound {
		r.phase = Settle
	}
}

func (w *World) check(s moment, i int) []moment {
	c, r := w.Clients[i], &s.runners[i]
	if wildcard(c.Thing) {
		// A wildcard that looks again, while a run under way has the host, only looks later: what it may
		// find then is found by the interleavings in which this step comes later.
		stand, ended := protocol.Below(group(c.Owner), never, w.name(c.Thing), w.hosts(&s))
		if w.NoList {
			stand = nil
		}
		if r.phase = Bind; w.binding(c, r.saw, stand, ended).Next == protocol.Yield {
			r.phase = Undo
		}
		return []moment{s}
	}
	over := w.Over[c.Thing]
	switch next := protocol.Above(group(c.Owner), never, w.object(over, s.claims[over])); {
	case next == protocol.Rest, w.NoSecondRead:
		r.phase = Settle
	case next == protocol.Yield, w.Symmetric, w.GiveUp:
		r.phase = Undo
	default:
		return nil // pending: it asks again
	}
	return []moment{s}
}

func (w *World) bind(s *moment, i int) {
	c, r := w.Clients[i], &s.runners[i]
	now := &s.claims[c.Thing]
	if *now == r.saw {
		now.write(w.binding(c, r.saw, nil, nil).Parts)
		r.saw, r.phase = *now, Settle
		return
	}
	switch next := protocol.Rebind(w.want(c), w.object(c.Thing, r.saw), w.object(c.Thing, *now), group(c.Owner)); {
	case next == protocol.Yield:
		r.phase = Undo
	case next == protocol.Rest && !w.OldMark:
		r.saw, r.phase = *now, Settle // by another run of the lease
	default:
		r.saw, r.phase = *now, Check
	}
}

// settle ends a run. A write that comes too late is tried again, so that it counts as one.
func (w *World) settle(s *moment, i int) {
	c, r := w.Clients[i], &s.runners[i]
	now := &s.claims[c.Thing]
	if c.Fails {
		r.phase = Undo
		return
	}
	switch next, parts := protocol.Settle(w.object(c.Thing, *now), uid(r.saw), group(c.Owner), w.final(s.run(i))); next {
	case protocol.Yield:
		r.phase = Undo
	case protocol.Write:
		now.write(parts)
		r.phase = Won
	default:
		r.phase = Won
	}
}

// undo gives back what carries this run's mark. While another run of its lease writes objects for the thing, the run may
// see them or not: it reads them when it likes.
func (w *World) undo(s moment, i int) []moment {
	out := []moment{w.giveBack(s, i, w.OldMark)}
	if w.served(&s, w.Clients[i]) {
		out = append(out, w.giveBack(s, i, true))
	}
	return out
}

func (w *World) giveBack(s moment, i int, served bool) moment {
	c, r := w.Clients[i], &s.runners[i]
	now := &s.claims[c.Thing]
	is, before := w.object(c.Thing, *now), w.object(c.Thing, r.before).Entries(group(c.Owner))
	switch {
	case is == nil || now.owner != c.Owner:
	case w.NoMark:
		*now = claim{}
	default:
		keep, changed := protocol.GiveBack(is.Entries(group(c.Owner)), nonce(s.run(i)), protocol.Before(before, served))
		if w.Unbind && changed && len(keep) > 0 {
			keep[0].Bound = r.before.bound
		}
		if changed {
			now.write(keep)
		}
	}
	*r = runner{phase: Lost, attempt: r.attempt}
	return s
}

// served is true where a client writes objects of the lease for the thing, or has.
func (w *World) served(s *moment, c Client) bool {
	for i, d := range w.Clients {
		if d.Owner == c.Owner && d.Thing == c.Thing && relies(s.runners[i].phase) {
			return true
		}
	}
	return false
}
