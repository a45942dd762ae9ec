package model

import (
	"slices"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
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
