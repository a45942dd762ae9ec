package model

import (
	"fmt"
	"time"

	"github.com/akash-net/kubectl-akash-net/state/inventory"
	"github.com/akash-net/kubectl-akash-net/state/protocol/capacity"
	"github.com/akash-net/kubectl-akash-net/state/reserved"
)

// bid is a claim in the ledger; the zero value is none.
type bid struct {
	there, bound, over bool
	// takes is how many CPUs it takes of each node.
	takes [2]uint8
	// former is true for what was bound before the run began. Moves is true where the run has announced to what it moves
	// that: to is how many CPUs of each node.
	former, moves, movesOver bool
	to                       [2]uint8
}

// stays is a claim without what it is moved to.
func (b bid) stays() bid {
	b.moves, b.movesOver, b.to = false, false, [2]uint8{}
	return b
}

// Groups that orders ask for, and when a part of a claim has ended that is over.
const asked, before, ended = "asked", "before", "2026-01-01T00:00:00Z"

var now = time.Date(2026, 1, 1, 1, 0, 0, 0, time.UTC)

func reservedPart(group string, takes [2]uint8, over bool) *reserved.Part {
	p := &reserved.Part{Asked: group, Hold: inventory.Hold{Nodes: map[string]inventory.Amounts{}}}
	for n, cpus := range takes {
		if cpus > 0 {
			p.Hold.Nodes[nodeName(n)] = inventory.Amounts{CPU: uint64(cpus)}
		}
	}
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
			s.bids[i] = bid{there: true, bound: true, former: true, takes: [2]uint8{run.Has}}
		}
	}
	return s
}
