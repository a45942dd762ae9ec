package model

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
