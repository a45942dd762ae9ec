package model

import (
	"slices"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/protocol"
)

// Runs of one lease follow each other by their announcements. Here two runs of a lease, one of another owner, and a
// repairer of the first lease want one host. Each may crash before any of its requests, its work may fail, and it may
// be taken for dead while it only stands still.

// step numbers of a run.
const (
	runStart uint8 = iota // reads the claim
	runAnnounce
	runList
	runTurn
	runFence
	runAwait
	runWithdraw
	runDecide
	runForeign // reads the announcement of the run whose mark it has met
	runTake
	runWork
	runLook
	runBury
	runCommit
	runFail
	runUndo
	runGiveBack
	runClose
	// The ends.
	runWon
	runLost
	// runStopped runs were told that they count as dead.
	runStopped
	runDead
)

// record is an announcement at one moment.
type record struct {
	phase, by uint8 // none, active, undoing, fenced, and by whom
	version   uint8
}

const (
	noRecord uint8 = iota
	activeRecord
	undoingRecord
	fencedRecord
)

// theRuns are the runs: two of lease 1, one of another owner, and the repairer.
const (
	runA = iota
	runB
	runC
	runR
	allRuns
)

var ownerOfRun = [allRuns]uint8{1, 1, 2, 1}

// marked is the claim.
type marked struct {
	owner, mark, version uint8
}

// atRun is where a run is, and what it has read.
type atRun struct {
	step    uint8
	saw     marked
	records [allRuns]record
	other   uint8
	again   bool
}

type runsMoment struct {
	claim   marked
	records [allRuns]record
	runs    [allRuns]atRun
	version uint8
	// won is true once a run of the owner has reported success.
	won [3]bool
}

// RunRules are the rules of announcements that can be left out.
type RunRules struct {
	// Calm: nobody crashes, and nobody is taken for dead.
	Calm bool
	// Writes bounds the search: how often anything is written.
	Writes uint8
	// Without are runs that are not there.
	Without []int
	// NoTurn: runs of a lease do not wait for each other. NoTakeOver: the mark of a run that was fenced is not
	// replaced. NoFence: a run commits and gives back although it was fenced. Unpinned: what is given back goes,
	// whoever has written on it. NoLook: the claim is not looked at before the commit.
	NoTurn, NoTakeOver, NoFence, Unpinned, NoLook bool
}

// RunsResult is what a search has found: ways to a bad state, empty where there is none.
type RunsResult struct {
	States int
	// Gone: a claim that was reported as had is not its owner's. Without crashes: a claim is Left to nobody, a Record
	// is left, a run is Stopped. Stuck: somebody cannot go on.
	Gone, Left, Record, Stopped, Stuck []string
}

var runNames = [allRuns]string{"a", "b", "c", "r"}

func (s *runsMoment) announcement(n int, r record) *state.Announcement {
	if r.phase == noRecord {
		return nil
	}
	a := &state.Announcement{Nonce: runNames[n], Groups: []lease.Group{group(ownerOfRun[n])}, Phase: state.Active}
	switch r.phase {
	case undoingRecord:
		a.Phase = state.Undoing
	case fencedRecord:
		a.Phase, a.FencedBy = state.Fenced, runNames[r.by]
	}
	return a
}

func (s *runsMoment) announcements(records [allRuns]record) (all []*state.Announcement) {
	for n, r := range records {
		if a := s.announcement(n, r); a != nil {
			all = append(all, a)
		}
	}
	return all
}

func nonceRun(nonce string) int { return slices.Index(runNames[:], nonce) }

// object is the claim as the protocol reads it.
func (c marked) object() *state.Claim {
	if c.owner == 0 {
		return nil
	}
	p := part(c.owner, 0, false)
	if c.mark > 0 {
		p.Run = runNames[c.mark-1]
	}
	return &state.Claim{Kind: state.Host, Thing: "h0.d2.example.com", Owner: group(c.owner).Owner, UID: "u", Parts: []state.Part{p}}
}

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
		switch protocol.Foreign(s.announcement(int(at.saw.mark-1), s.records[at.saw.mark-1])) {
		case protocol.Rest:
			step(runWork)
		case protocol.Write:
			if rules.NoTakeOver {
				step(runWork)
			} else {
				step(runTake)
			}
		default:
			step(runStopped)
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
		turn, other := protocol.Among(s.announcement(n, record{phase: activeRecord}), s.announcements(at.records), func(*state.Announcement) bool { return dead })
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
