package model

import (
	"github.com/akash-net/kubectl-akash-net/state/inventory"
	"github.com/akash-net/kubectl-akash-net/state/protocol/capacity"
)

const maxLeases = 3

type leasePhase uint8

const (
	leaseClaims leasePhase = iota
	leaseLooks
	leaseEvicts
	leaseGivesBack
	// leaseKeeps has looked, and its run is still under way; leaseSettled has ended.
	leaseKeeps
	leaseSettled
	leaseRefused
	// leaseCrashed has left its claim, with its mark: its next command, or repair, looks or gives it up.
	leaseCrashed
)

// leaser is a lease's run, which claims one address. Of two that sort differently the first has the smaller index.
type leaser struct {
	phase leasePhase
	eviction
	// full is true once the address was not to be had, beside what is bound and what leases keep.
	full bool
	// tired has a bit for each other lease for which the run waits no more.
	tired uint8
}

// works is true for a run that has something to do.
func (l leaser) works() bool {
	return l.phase < leaseSettled
}

// claimed is true where the claim is there, and marked while its run may give it back.
func (l leaser) claimed() bool { return l.phase != leaseClaims && l.phase != leaseRefused }

func (l leaser) marked() bool { return l.claimed() && l.phase != leaseSettled }

// keeps is true where the lease has the address.
func (l leaser) keeps() bool { return l.phase == leaseKeeps || l.phase == leaseSettled }

// stays is true where the claim is not given back any more.
func (l leaser) stays() bool { return l.keeps() || l.phase == leaseCrashed }

func (l leaser) String() string {
	return [...]string{"claims", "looks", "evicts", "gives back", "keeps", "settled", "refused", "crashed"}[l.phase]
}

// kept is how many addresses leases keep.
func (s *auction) kept() (n uint8) {
	for _, l := range s.leases {
		if l.keeps() {
			n++
		}
	}
	return n
}

// addresses are those that there are, as claims on them were listed.
func (w *Capacity) addresses(s *auction) *inventory.Addresses {
	a := &inventory.Addresses{Total: uint64(w.Addresses)}
	for _, l := range s.leases {
		if l.claimed() {
			a.InUse++
		}
	}
	return a
}

// fillLeases notes for which leases there is no address now.
func (w *Capacity) fillLeases(s *auction) {
	var taken uint8
	for _, b := range s.bids {
		if b.there && b.bound {
			taken += b.takes.addresses
		}
	}
	for _, l := range s.leases {
		if l.stays() {
			taken++
		}
	}
	for i := range w.Leases {
		s.leases[i].full = s.leases[i].full || taken >= w.Addresses
	}
}

// look is what package capacity says to a lease that has claimed.
func (w *Capacity) look(s *auction, i int) (capacity.Step, []string) {
	leased := capacity.Leased{Addresses: *w.addresses(s)}
	for k, l := range s.leases {
		if k != i && l.marked() && s.leases[i].tired&(1<<k) == 0 && !w.Meek && capacity.Yields(mark(k), mark(i)) {
			leased.Yielding++
		}
	}
	if w.Bold {
		leased.InUse -= leased.Yielding
	}
	orders := w.pieces(s, maxBidders)
	if w.Forward {
		orders = bound(orders)
	}
	if w.Heedless {
		orders = nil
	}
	return capacity.Beside(leased, orders)
}

func mark(i int) string { return string(rune('a' + i)) }

func bound(claims []capacity.Claim) (out []capacity.Claim) {
	for _, c := range claims {
		if c.Bound {
			out = append(out, c)
		}
	}
	return out
}

// nextOfLeases are the moments that may follow by what leases do.
func (w *Capacity) nextOfLeases(s auction) (out []bidStep) {
	for i := range w.Leases {
		l := s.leases[i]
		if !l.works() {
			continue
		}
		to := s
		w.work(&to, i)
		out = append(out, bidStep{to, true})
		for k, other := range s.leases { // those that give back are quicker than its patience
			if l.phase == leaseLooks && l.tired&(1<<k) == 0 && other.marked() && other.stays() {
				to := s
				to.leases[i].tired |= 1 << k
				out = append(out, bidStep{to, true})
			}
		}
		if l.claimed() && int(s.crashes) < w.Crashes {
			to := s
			to.crashes++
			to.leases[i].phase = leaseCrashed
			w.fill(&to)
			out = append(out, bidStep{to, false})
		}
	}
	return out
}

// work is the next step of a lease's run.
func (w *Capacity) work(s *auction, i int) {
	l := &s.leases[i]
	switch l.phase {
	case leaseClaims:
		if l.phase = leaseLooks; w.addresses(s).InUse > w.addresses(s).Total {
			l.phase, l.full = leaseRefused, true
		}
	case leaseLooks:
		step, evict := w.look(s, i)
		l.eviction = removing(evict)
		switch step {
		case capacity.Rest:
			l.phase = leaseKeeps
		case capacity.Evict:
			l.phase = leaseEvicts
		case capacity.Refuse:
			l.phase = leaseGivesBack
		}
	case leaseEvicts:
		l.phase = leaseLooks
		w.evict(s, l.eviction)
	case leaseGivesBack:
		l.phase = leaseRefused
	case leaseKeeps:
		l.phase = leaseSettled
	}
	w.fill(s)
}
