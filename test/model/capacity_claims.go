package model

import (
	"fmt"
	"strings"
	"time"

	"github.com/akash-net/kubectl-akash-net/state/inventory"
	"github.com/akash-net/kubectl-akash-net/state/protocol/capacity"
	"github.com/akash-net/kubectl-akash-net/state/reserved"
)

// bid is a claim in the ledger; the zero value is none.
type bid struct {
	there, bound, over bool
	takes              taken
	// former is true for what was bound before the run began. Moves is true where the run has announced to what it moves
	// that, which takes to.
	former, moves, movesOver bool
	to                       taken
}

// taken is how many CPUs are taken of each node, and how many addresses.
type taken struct{ cpus0, cpus1, addresses uint8 }

func takenBy(h inventory.Hold) taken {
	return taken{uint8(h.Nodes[nodeName(0)].CPU), uint8(h.Nodes[nodeName(1)].CPU), uint8(h.Addresses)}
}

func (t taken) hold() inventory.Hold {
	h := inventory.Hold{Nodes: map[string]inventory.Amounts{}, Addresses: uint64(t.addresses)}
	for n, cpus := range []uint8{t.cpus0, t.cpus1} {
		if cpus > 0 {
			h.Nodes[nodeName(n)] = inventory.Amounts{CPU: uint64(cpus)}
		}
	}
	return h
}

// stays is a claim without what it is moved to.
func (b bid) stays() bid {
	b.moves, b.movesOver, b.to = false, false, taken{}
	return b
}

// Groups that orders ask for, and when a part of a claim has ended that is over.
const asked, before, ended = "asked", "before", "2026-01-01T00:00:00Z"

var now = time.Date(2026, 1, 1, 1, 0, 0, 0, time.UTC)

func reservedPart(group string, takes taken, over bool) *reserved.Part {
	p := &reserved.Part{Asked: group, Hold: takes.hold()}
	if over {
		p.Expires = ended
	}
	return p
}

// claim is the claim of an order as it is read.
func (b bid) claim(i int) *reserved.Claim {
	c := &reserved.Claim{ObjectName: fmt.Sprint("rs--", i)}
	switch {
	case b.former:
		c.Bound = reservedPart(before, b.takes, b.over)
	case b.bound:
		c.Bound = reservedPart(asked, b.takes, b.over)
	default:
		c.Pending = reservedPart(asked, b.takes, b.over)
	}
	if b.moves {
		c.Pending = reservedPart(asked, b.to, b.movesOver)
	}
	return c
}

// pieces are the claims of all but one, as the protocol sees them.
func (w *Capacity) pieces(s *auction, but int) (out []capacity.Claim) {
	for k, b := range s.bids {
		if b.there && k != but {
			out = append(out, b.claim(k).Pieces(now, func(h inventory.Hold) inventory.Hold { return h })...)
		}
	}
	return out
}

// start is the world before the runs begin.
func (w *Capacity) start() (s auction) {
	for i, run := range w.Runs {
		if run.Has > 0 {
			s.bids[i] = bid{there: true, bound: true, former: true, takes: taken{cpus0: run.Has}}
		}
	}
	return s
}

// eviction is what a run removes.
type eviction struct {
	// stale has a bit for each claim that has changed since the run listed, evicts one for each that it removes, and halves
	// one for each of which only that goes to which it is moved.
	stale, evicts, halves uint8
}

// removing is the eviction of claims that were just listed.
func removing(names []string) (e eviction) {
	for _, name := range names {
		k := name[len("rs--")] - '0'
		if e.evicts |= 1 << k; strings.HasSuffix(name, "+") {
			e.halves |= 1 << k
		}
	}
	return e
}

// evict removes what is over.
func (w *Capacity) evict(s *auction, e eviction) {
	for k := range w.Runs {
		if e.evicts&(1<<k) != 0 && (e.stale&(1<<k) == 0 || w.Unpinned) {
			b := bid{}
			if e.halves&(1<<k) != 0 && !s.bids[k].over {
				b = s.bids[k].stays()
			}
			w.write(s, k, b)
		}
	}
}
