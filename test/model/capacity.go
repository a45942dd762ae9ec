// Package model walks through all interleavings of the protocol by which orders reserve capacity. What a run does with what it has
// read is decided by package capacity, as in a real run; the model adds the order of its requests, and the API server.
package model

import (
	"fmt"
	"slices"
	"strings"

	"github.com/akash-net/kubectl-akash-net/state/inventory"
	"github.com/akash-net/kubectl-akash-net/state/protocol/capacity"
)

// Capacity is a world of runs that reserve CPUs of two nodes, and addresses, which leases take too. It walks the decisions of
// package capacity as they are; the switches leave out one rule each.
type Capacity struct {
	// Nodes is how many CPUs each node has.
	Nodes [2]int64
	Runs  []Bidder
	// Addresses is how many there are, and Leases how many leases claim one each.
	Addresses uint8
	Leases    int
	// Crashes is how many runs may crash, Stalls how many pending claims may run out of time although their runs go
	// on.
	Crashes, Stalls int

	// Blind runs bind without a list after the announcement; Deaf ones do not count what is pending when they bind;
	// Unpinned ones write whatever has become of what they listed; Hasty ones refuse where they should wait; Rude
	// ones bind where they should wait for those that sort later, and Stubborn ones wait where they should yield; Tidy
	// ones never evict.
	Blind, Deaf, Unpinned, Hasty, Rude, Stubborn, Tidy bool
	// Secretive runs show nobody what they move to; Careless ones let go of all that they have when they withdraw.
	Secretive, Careless bool
	// Heedless leases do not look once they have claimed; Forward ones do not count what is pending; Meek ones yield to each
	// other, and Bold ones do not count those that yield.
	Heedless, Forward, Meek, Bold bool
}

// Bidder is a run: as many replicas as it has, of so many CPUs each.
type Bidder struct {
	Replicas uint32
	CPUs     uint64
	// Addresses is how many addresses it wants.
	Addresses uint32
	// Has is how many CPUs of the first node its order has reserved before, for another group: the run moves that.
	Has uint8
	// Releases is true for one that gives its claim back some time; Ends for one whose hold ends.
	Releases, Ends bool
}

const maxBidders = 4

type bidPhase uint8

const (
	bidLists bidPhase = iota
	bidActs
	bidGranted
	bidRefused
	bidCrashed
)

// bidder is what a run knows.
type bidder struct {
	phase bidPhase
	step  capacity.Step
	takes taken
	eviction
	// listed is true once the run has looked; full once what it wants did not fit beside what was bound, at a moment
	// since.
	listed, full bool
	released     bool
}

type auction struct {
	bids            [maxBidders]bid
	runs            [maxBidders]bidder
	leases          [maxLeases]leaser
	crashes, stalls uint8
}

// bidStep is a way from one moment to the next; live is true for those that are sure to come.
type bidStep struct {
	to   auction
	live bool
}

func (w *Capacity) room(s *auction) capacity.Room {
	r := capacity.Room{Addresses: w.addresses(s)}
	for i, n := range w.Nodes {
		r.Cluster.Nodes = append(r.Cluster.Nodes, inventory.Node{Name: nodeName(i), CPU: inventory.Amount{Allocatable: n}})
	}
	return r
}

func nodeName(i int) string { return string(rune('a' + i)) }

func (w *Capacity) want(i int) inventory.Group {
	r := inventory.Resource{ID: 1, Count: w.Runs[i].Replicas, CPU: w.Runs[i].CPUs}
	for n := range w.Runs[i].Addresses {
		r.Endpoints = append(r.Endpoints, inventory.Endpoint{Kind: inventory.LeasedIP, Sequence: n + 1})
	}
	return inventory.Group{Resources: []inventory.Resource{r}}
}

// decide is what package capacity says to a run of what it lists.
func (w *Capacity) decide(s *auction, i int) capacity.Next {
	r := capacity.Reserving{Name: fmt.Sprint("rs--", i), Want: w.want(i), Room: w.room(s), Others: w.pieces(s, i)}
	if s.bids[i].there {
		r.Own = s.bids[i].claim(i).Own(asked, now)
	}
	if w.Secretive {
		r.Others = slices.DeleteFunc(r.Others, func(c capacity.Claim) bool { return strings.HasSuffix(c.Name, "+") })
	}
	if w.Deaf && r.Own != nil {
		var heard []capacity.Claim
		for _, c := range r.Others {
			if c.Bound {
				heard = append(heard, c)
			}
		}
		r.Others = heard
	}
	next := capacity.Decide(r)
	switch {
	case w.Hasty && next.Step == capacity.Wait && r.Own == nil:
		next.Step = capacity.Refuse
	case w.Rude && next.Step == capacity.Wait && r.Own != nil:
		next.Step = capacity.Bind
	case w.Stubborn && next.Step == capacity.Withdraw:
		next.Step = capacity.Wait
	case w.Tidy && next.Step == capacity.Evict:
		next.Step = capacity.Wait
	}
	return next
}

// list is a run's look at all reservations, and what it decides to do.
func (w *Capacity) list(s auction, i int) auction {
	next := w.decide(&s, i)
	r := &s.runs[i]
	r.listed, r.eviction = true, removing(next.Evict)
	r.step, r.takes = next.Step, takenBy(next.Hold)
	if b := s.bids[i]; next.Step == capacity.Bind {
		if r.takes = b.takes; b.moves {
			r.takes = b.to
		}
	}
	switch next.Step {
	case capacity.Wait:
	case capacity.Rest:
		r.phase = bidGranted
	case capacity.Refuse:
		r.phase = bidRefused
	default:
		r.phase = bidActs
	}
	w.fill(&s)
	return s
}

// fill notes for which runs there is no room now.
func (w *Capacity) fill(s *auction) {
	for i := range w.Runs {
		if r := &s.runs[i]; r.listed && !r.full {
			var beside []inventory.Hold
			for _, c := range w.pieces(s, i) {
				if c.Bound && !c.Over {
					beside = append(beside, c.Hold)
				}
			}
			_, refusal := w.room(s).Place(w.want(i), beside)
			r.full = refusal != nil
		}
	}
	w.fillLeases(s)
}

// write changes a claim: who has listed it before has listed what is no more.
func (w *Capacity) write(s *auction, k int, b bid) {
	s.bids[k] = b
	for i := range s.runs {
		s.runs[i].stale |= 1 << k
	}
	for i := range s.leases {
		s.leases[i].stale |= 1 << k
	}
	w.fill(s)
}

// act is a run's write, or evictions.
func (w *Capacity) act(s auction, i int) auction {
	r := s.runs[i]
	s.runs[i].phase = bidLists
	pinned := r.stale&(1<<i) == 0 || w.Unpinned
	switch {
	case r.step == capacity.Evict:
		w.evict(&s, r.eviction)
	case !pinned:
	case r.step == capacity.Announce:
		b := bid{there: true, takes: r.takes}
		if s.bids[i].former {
			b = s.bids[i]
			b.moves, b.movesOver, b.to = true, false, r.takes
		}
		w.write(&s, i, b)
		if w.Blind {
			s.runs[i].phase, s.runs[i].step, s.runs[i].stale = bidActs, capacity.Bind, 0
		}
	case r.step == capacity.Bind:
		w.write(&s, i, bid{there: true, bound: true, takes: r.takes}) // an apply without a pin makes the claim anew
	case r.step == capacity.Withdraw && s.bids[i].former && !w.Careless:
		w.write(&s, i, s.bids[i].stays())
	case r.step == capacity.Withdraw:
		w.write(&s, i, bid{})
	}
	return s
}

// next are all moments that may follow.
func (w *Capacity) next(s auction) []bidStep {
	var out []bidStep
	for i, run := range w.Runs {
		r := s.runs[i]
		switch r.phase {
		case bidLists:
			out = append(out, bidStep{w.list(s, i), true})
		case bidActs:
			out = append(out, bidStep{w.act(s, i), true})
		case bidGranted:
			if run.Releases && !r.released && s.bids[i].there {
				to := s
				to.runs[i].released = true
				w.write(&to, i, bid{})
				out = append(out, bidStep{to, false})
			}
		}
		if (r.phase == bidLists || r.phase == bidActs) && int(s.crashes) < w.Crashes {
			to := s
			to.crashes++
			to.runs[i].phase = bidCrashed
			out = append(out, bidStep{to, false})
		}
		out = append(out, w.runOut(s, i)...)
	}
	return append(out, w.nextOfLeases(s)...)
}

// runOut is the end of the time of a claim's parts: of a hold, or of what pends for too long. Time changes nothing in the
// object: what was listed is still what is written to.
func (w *Capacity) runOut(s auction, i int) (out []bidStep) {
	b, crashed := s.bids[i], s.runs[i].phase == bidCrashed
	ends := w.Runs[i].Ends && (b.former || crashed || s.runs[i].phase == bidGranted)
	if b.there && b.bound && !b.over && ends {
		to := s
		to.bids[i].over = true
		w.fill(&to)
		out = append(out, bidStep{to, crashed})
	}
	over := &b.over
	if b.moves {
		over = &b.movesOver
	}
	if !b.there || b.bound && !b.moves || *over || !crashed && int(s.stalls) >= w.Stalls {
		return out
	}
	*over = true
	if !crashed {
		s.stalls++
	}
	s.bids[i] = b
	w.fill(&s)
	return append(out, bidStep{s, crashed})
}
