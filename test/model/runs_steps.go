package model

import (
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/protocol"
)

// next are the moments that may follow; live is false for what nobody can count on.
func (rules RunRules) next(s runsMoment) (out []runsMoment) {
	for n := range allRuns {
		at := s.runs[n]
		if at.step >= runWon {
			continue
		}
		move := func(change func(*runsMoment, *atRun)) {
			to := s
			change(&to, &to.runs[n])
			if to.runs[n].step >= runWon {
				to.runs[n] = atRun{step: to.runs[n].step}
			}
			out = append(out, to)
		}
		if !rules.Calm {
			move(func(_ *runsMoment, r *atRun) { r.step = runDead })
		}
		if n == runR && at.step == runStart && rules.Calm {
			move(func(_ *runsMoment, r *atRun) { r.step = runLost }) // there is nothing to mend
			continue
		}
		rules.step(s, n, at, move)
	}
	return out
}

// lost is true where the run's announcement, as it is now, says that it was taken for dead.
func (rules RunRules) lost(s *runsMoment, n int) bool {
	return !rules.NoFence && protocol.Lost(s.announcement(n, s.records[n]))
}

func (rules RunRules) step(s runsMoment, n int, at atRun, to func(func(*runsMoment, *atRun))) {
	owner := ownerOfRun[n]
	step := func(next uint8) { to(func(_ *runsMoment, r *atRun) { r.step = next }) }
	switch at.step {
	case runStart:
		to(func(m *runsMoment, r *atRun) { r.saw, r.step = m.claim, runAnnounce })
	case runAnnounce:
		to(func(m *runsMoment, r *atRun) { m.set(n, activeRecord, 0); r.step = runList })
	case runList:
		to(func(m *runsMoment, r *atRun) { r.records, r.step = m.records, runTurn })
	case runTurn:
		rules.turn(s, n, at, to)
	case runFence: // pinned
		to(func(m *runsMoment, r *atRun) {
			if m.records[r.other] == r.records[r.other] {
				m.set(int(r.other), fencedRecord, uint8(n))
			}
			r.records, r.again, r.step = [allRuns]record{}, true, runList
		})
	case runWithdraw: // pinned
		if rules.lost(&s, n) {
			step(runStopped)
			return
		}
		to(func(m *runsMoment, r *atRun) { m.set(n, noRecord, 0); r.records, r.step = [allRuns]record{}, runAwait })
	case runAwait:
		gone := protocol.Lost(s.announcement(int(at.other), s.records[at.other]))
		switch {
		case s.records[n].phase == noRecord && (gone || !rules.Calm): // gone, or it counts as dead
			step(runStart)
		case gone || !rules.Calm:
			to(func(_ *runsMoment, r *atRun) { r.again, r.step = true, runList })
		}
	case runDecide:
		rules.decide(n, at, to)
	case runForeign:
		if gone := s.announcement(int(at.saw.mark-1), s.records[at.saw.mark-1]) == nil; gone || rules.NoTakeOver {
			step(runWork) // the mark of a run that has ended says nothing
		} else {
			step(runTake)
		}
	case runTake: // pinned
		to(func(m *runsMoment, r *atRun) {
			if m.claim != r.saw {
				r.saw, r.step = m.claim, runDecide
				return
			}
			m.write(owner, uint8(n+1))
			r.saw, r.step = m.claim, runWork
		})
	case runWork:
		step(runLook)
		step(runFail)
	case runLook: // reads the claim once more
		to(func(m *runsMoment, r *atRun) {
			switch r.saw, r.records, r.again = m.claim, [allRuns]record{}, false; {
			case rules.NoLook || n == runR || m.claim.owner == owner:
				r.step = runBury
			default:
				r.step = runFail
			}
		})
		if n == runR && s.claim.mark == uint8(n+1) { // the repairer gives up what a dead run had taken
			step(runFail)
		}
	case runBury: // the announcements of dead runs go
		to(func(m *runsMoment, r *atRun) {
			for i, rec := range m.records {
				if rec.phase == fencedRecord && i != n && ownerOfRun[i] == owner {
					m.set(i, noRecord, 0)
				}
			}
			r.step = runCommit
		})
	case runCommit: // pinned
		if rules.lost(&s, n) {
			step(runStopped)
			return
		}
		to(func(m *runsMoment, r *atRun) {
			m.set(n, noRecord, 0)
			r.step = runWon
			if n != runR {
				m.won[owner] = true
			}
		})
	case runFail: // pinned
		if rules.lost(&s, n) {
			step(runStopped)
			return
		}
		to(func(m *runsMoment, r *atRun) { m.set(n, undoingRecord, 0); r.step = runUndo })
	case runUndo:
		to(func(m *runsMoment, r *atRun) { r.saw, r.step = m.claim, runGiveBack })
	case runGiveBack: // pinned
		to(func(m *runsMoment, r *atRun) { rules.giveBack(m, n, r) })
	case runClose: // pinned
		to(func(m *runsMoment, r *atRun) {
			if !rules.lost(m, n) {
				m.set(n, noRecord, 0)
			}
			r.step = runLost
		})
	}
}

// turn is what a run does next after it has listed the announcements.
func (rules RunRules) turn(s runsMoment, n int, at atRun, to func(func(*runsMoment, *atRun))) {
	for _, dead := range []bool{false, true} {
		if dead && rules.Calm {
			continue
		}
		turn, other := protocol.NextTurn(s.announcement(n, record{phase: activeRecord}), s.announcements(at.records), func(*state.Announcement) bool { return dead })
		if rules.NoTurn && turn != protocol.Stop {
			turn = protocol.Work
		}
		to(func(m *runsMoment, r *atRun) {
			if other != nil {
				r.other = uint8(nonceRun(other.Nonce))
			}
			switch turn {
			case protocol.Work:
				if r.step = runDecide; r.again {
					r.saw = m.claim // it reads anew
				}
				r.records = [allRuns]record{}
			case protocol.Fence:
				r.step = runFence
			case protocol.Await:
				r.records, r.step = [allRuns]record{}, runAwait
			case protocol.Withdraw:
				r.step = runWithdraw
			case protocol.Stop:
				r.step = runStopped
			}
		})
		if turn == protocol.Work || turn == protocol.Stop {
			return
		}
	}
}

func (rules RunRules) decide(n int, at atRun, to func(func(*runsMoment, *atRun))) {
	owner := ownerOfRun[n]
	taken := protocol.Take(protocol.Taking{
		Want:  state.Hold{Kind: state.Host, Thing: "h0.d2.example.com", Parts: []state.Part{part(owner, 0, false)}},
		Claim: at.saw.object(), Nonce: runNames[n], Decide: decide[owner],
	})
	to(func(_ *runsMoment, r *atRun) {
		switch foreign := r.saw.mark > 0 && r.saw.mark != uint8(n+1) && r.saw.owner == owner; {
		case n == runR && r.saw.owner != owner:
			r.step = runLook // there is nothing to mend
		case taken.Next == protocol.Yield:
			r.step = runFail
		case foreign:
			r.step = runForeign
		case taken.Next == protocol.Rest:
			r.step = runWork
		default:
			r.step = runTake
		}
	})
}

// giveBack gives back what carries the run's mark.
func (rules RunRules) giveBack(m *runsMoment, n int, r *atRun) {
	saw := r.saw.object()
	changed := false
	if saw != nil && r.saw.owner == ownerOfRun[n] {
		_, changed = protocol.GiveBack(saw.Entries(group(ownerOfRun[n])), runNames[n], nil)
	}
	switch {
	case !changed:
	case m.claim == r.saw, rules.Unpinned && m.claim.owner != 0:
		m.claim = marked{}
	default:
		r.step = runUndo
		return
	}
	r.step = runClose
}

func (s *runsMoment) set(n int, phase, by uint8) {
	s.records[n] = record{phase: phase, by: by}
	if phase != noRecord {
		s.version++
		s.records[n].version = s.version
	}
}

func (s *runsMoment) write(owner, mark uint8) {
	s.version++
	s.claim = marked{owner: owner, mark: mark, version: s.version}
}
