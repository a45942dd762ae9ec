package model

import (
	"fmt"
	"slices"

	"github.com/akash-net/kubectl-akash-net/state/inventory"
)

// CapacityResult is what a search has found: the number of states, and ways to bad ones.
type CapacityResult struct {
	States int
	// Oversold: more is bound of a node than it has. Denied: a run was refused what was free throughout. AllLost: all
	// runs were refused, though none has crashed and each alone would fit. Stuck: not all runs can come to an end.
	// Lost: what an order had reserved is gone, though nobody has given it up and nothing else is bound for the order.
	Oversold, Denied, AllLost, Stuck, Lost []string
}

// Search walks through all states.
func (w *Capacity) Search() CapacityResult {
	type node struct {
		from int
		back []int
		good bool
	}
	nodes, states, index := []node{{from: -1}}, []auction{w.start()}, map[auction]int{w.start(): 0}
	var result CapacityResult
	note := func(found *[]string, bad bool, i int) {
		if !bad || *found != nil {
			return
		}
		for ; i >= 0; i = nodes[i].from {
			*found = append([]string{w.describe(&states[i])}, *found...)
		}
	}
	var ends []int
	for i := 0; i < len(states); i++ {
		s := states[i]
		note(&result.Oversold, w.oversold(&s), i)
		note(&result.Denied, w.denied(&s), i)
		note(&result.Lost, w.lost(&s), i)
		if w.ended(&s) {
			nodes[i].good = true
			ends = append(ends, i)
			note(&result.AllLost, s.crashes == 0 && w.allRefused(&s), i)
		}
		for _, step := range w.next(s) {
			to, known := index[step.to]
			if !known {
				to = len(states)
				index[step.to] = to
				states, nodes = append(states, step.to), append(nodes, node{from: i})
			}
			if step.live {
				nodes[to].back = append(nodes[to].back, i)
			}
		}
	}
	for len(ends) > 0 {
		i := ends[len(ends)-1]
		ends = ends[:len(ends)-1]
		for _, from := range nodes[i].back {
			if !nodes[from].good {
				nodes[from].good = true
				ends = append(ends, from)
			}
		}
	}
	for i := range nodes {
		note(&result.Stuck, !nodes[i].good, i)
	}
	result.States = len(states)
	return result
}

func (w *Capacity) oversold(s *auction) bool {
	var sum taken
	for _, b := range s.bids {
		if b.there && b.bound {
			sum.cpus0, sum.cpus1, sum.addresses = sum.cpus0+b.takes.cpus0, sum.cpus1+b.takes.cpus1, sum.addresses+b.takes.addresses
		}
	}
	return int64(sum.cpus0) > w.Nodes[0] || int64(sum.cpus1) > w.Nodes[1] || sum.addresses+s.kept() > w.Addresses
}

func (w *Capacity) denied(s *auction) bool {
	for i := range w.Runs {
		if s.runs[i].phase == bidRefused && !s.runs[i].full {
			return true
		}
	}
	return w.ended(s) && slices.ContainsFunc(s.leases[:w.Leases], func(l leaser) bool { return l.phase == leaseRefused && !l.full })
}

func (w *Capacity) lost(s *auction) bool {
	for i, run := range w.Runs {
		if b := s.bids[i]; run.Has > 0 && !run.Ends && !s.runs[i].released && (!b.there || !b.bound) {
			return true
		}
	}
	return false
}

func (w *Capacity) ended(s *auction) bool {
	for i := range w.Runs {
		if p := s.runs[i].phase; p == bidLists || p == bidActs {
			return false
		}
	}
	return !slices.ContainsFunc(s.leases[:w.Leases], leaser.works)
}

func (w *Capacity) allRefused(s *auction) bool {
	first := w.start()
	for i := range w.Runs {
		var beside []inventory.Hold
		for _, c := range w.pieces(&first, i) {
			beside = append(beside, c.Hold)
		}
		if _, refusal := w.room(&first).Place(w.want(i), beside); refusal != nil || s.runs[i].phase != bidRefused {
			return false
		}
	}
	return !slices.ContainsFunc(s.leases[:w.Leases], func(l leaser) bool { return l.phase != leaseRefused })
}

// describe is a state in words, for the way to a bad one.
func (w *Capacity) describe(s *auction) string {
	phases := [...]string{"lists", "acts", "granted", "refused", "crashed"}
	steps := [...]string{"announce", "bind", "evict", "wait", "withdraw", "refuse", "rest"}
	text := ""
	for i := range w.Runs {
		text += fmt.Sprintf("%d %s", i, phases[s.runs[i].phase])
		if s.runs[i].phase == bidActs {
			text += " " + steps[s.runs[i].step]
		}
		if b := s.bids[i]; b.there {
			text += fmt.Sprintf(" [%v bound %v over %v]", b.takes, b.bound, b.over)
		}
		if b := s.bids[i]; b.moves {
			text += fmt.Sprintf(" [moves to %v over %v]", b.to, b.movesOver)
		}
		text += "; "
	}
	for i := range w.Leases {
		text += fmt.Sprintf("lease %d %s; ", i, s.leases[i])
	}
	return text
}
