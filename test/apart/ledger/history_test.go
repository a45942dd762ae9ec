package ledger_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// verb is what a client tries.
type verb string

const (
	reserve  verb = "reserve"
	release  verb = "release"
	transfer verb = "transfer"
)

// outcome is how it went.
type outcome string

const (
	// done: the group holds the thing, or does not any more.
	done outcome = "done"
	// nothing: there was nothing to do.
	nothing outcome = "nothing"
	// held: another owner has it. withheld: another deployment group of the owner has it.
	held     outcome = "held"
	withheld outcome = "withheld"
	// failed: the run gave up and says so; it has done nothing.
	failed outcome = "failed"
)

// op is one operation of a history. A cell is a part of a thing: a path of a host, or one of the
// things of a domain.
type op struct {
	verb  verb
	group int
	cell  int
	out   outcome
	// took is true for an attempt that had taken something before it failed.
	took bool
	// excused is true for one that was refused while it overlapped such an attempt.
	excused bool
}

func (o op) owner() int { return owners(o.group) }

// owners is the owner of a group: each has two groups.
func owners(group int) int { return group / 2 }

// history collects operations of many clients, apart for each thing.
type history struct {
	mu    sync.Mutex
	start time.Time
	ops   map[string][]porcupine.Operation
}

func newHistory() *history {
	return &history{start: time.Now(), ops: map[string][]porcupine.Operation{}}
}

func (h *history) now() int64 { return int64(time.Since(h.start)) }

func (h *history) add(thing string, call int64, o op) {
	end := h.now()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ops[thing] = append(h.ops[thing], porcupine.Operation{ClientId: o.group, Input: o, Call: call, Output: o.out, Return: end})
}

// all stands for every cell of a thing.
const all = -1

// cells is the state of one thing: of each cell the group that holds it, and 1.
type cells [3]int

// space is a kind of thing: may says whether a group may take a free cell.
type space func(s cells, o op) bool

// paths are the cells of one host: all are one owner's.
func paths(s cells, o op) bool {
	for _, by := range s {
		if by != 0 && owners(by-1) != o.owner() {
			return false
		}
	}
	return true
}

// model is what the ledger promises of one thing (invariant 6 of docs/ledger.md).
func model(may space) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return cells{} },
		Step: func(before, input, _ any) (bool, any) {
			return step(before.(cells), input.(op), may)
		},
		DescribeOperation: func(input, _ any) string {
			o := input.(op)
			return fmt.Sprintf("%s %d by group %d: %s", o.verb, o.cell, o.group, o.out)
		},
	}
}

// step says whether the operation may have that outcome, and what is then.
func step(s cells, o op, may space) (bool, cells) {
	switch o.out {
	case failed:
		return true, s
	case held:
		return o.excused || !may(s, o), s
	}
	touched := false
	for cell, by := range s {
		sibling := by != 0 && by-1 != o.group && owners(by-1) == o.owner()
		switch {
		case o.cell != all && o.cell != cell:
		case o.verb == release && by-1 == o.group:
			touched, s[cell] = true, 0
		case o.verb == transfer && sibling, o.verb == reserve && o.out == withheld && sibling:
			touched = true
			if o.verb == transfer {
				s[cell] = o.group + 1
			}
		}
	}
	switch {
	case o.verb != reserve:
		return touched == (o.out == done), s
	case o.out == withheld:
		return touched || o.excused, s
	}
	by := s[o.cell]
	s[o.cell] = o.group + 1
	return (by == 0 || by-1 == o.group) && may(s, o), s
}

// excuse marks the refused attempts that overlap an attempt that had taken something and failed
// later: of another owner where they were told that it holds the thing, of theirs where withheld.
func excuse(ops []porcupine.Operation) {
	for i, a := range ops {
		o := a.Input.(op)
		o.excused = (o.out == held || o.out == withheld) && slices.ContainsFunc(ops, func(b porcupine.Operation) bool {
			p := b.Input.(op)
			return p.group != o.group && (p.owner() == o.owner()) == (o.out == withheld) && p.took && (p.out == held || p.out == failed) && b.Call <= a.Return && a.Call <= b.Return
		})
		ops[i].Input = o
	}
}

// check says whether the history of each thing is linearizable.
func (h *history) check(t *testing.T, may space) (legal bool) {
	t.Helper()
	legal = true
	counts, total := map[string]int{}, 0
	for thing, ops := range h.ops {
		excuse(ops)
		total += len(ops)
		for _, o := range ops {
			counts[string(o.Input.(op).verb)+" "+string(o.Input.(op).out)]++
		}
		switch result := porcupine.CheckOperationsTimeout(model(may), ops, time.Minute); result {
		case porcupine.Ok:
		case porcupine.Illegal:
			t.Logf("the history of %s is not linearizable (%d operations):\n%s", thing, len(ops), impossible(may, ops))
			legal = false
		default:
			t.Errorf("the history of %s could not be judged in time: %s", thing, result)
		}
	}
	t.Logf("%d operations: %v", total, counts)
	return legal
}

// impossible are the operations around the first one that has no place in the history.
func impossible(may space, ops []porcupine.Operation) string {
	_, info := porcupine.CheckOperationsVerbose(model(may), ops, time.Minute)
	placed := map[int]bool{}
	for _, partial := range info.PartialLinearizationsOperations()[0] {
		if len(partial) > len(placed) {
			clear(placed)
			for _, o := range partial {
				placed[slices.IndexFunc(ops, func(p porcupine.Operation) bool { return p.Call == o.Call && p.ClientId == o.ClientId })] = true
			}
		}
	}
	order := make([]int, len(ops))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return cmp.Compare(ops[i].Call, ops[j].Call) })
	first := slices.IndexFunc(order, func(i int) bool { return !placed[i] })
	var text strings.Builder
	for _, i := range order[max(first-30, 0):min(first+10, len(order))] {
		o := ops[i].Input.(op)
		fmt.Fprintf(&text, "%8.3f to %8.3f %-8s %2d by group %2d: %s took %v excused %v placed %v\n", float64(ops[i].Call)/1e9, float64(ops[i].Return)/1e9, o.verb, o.cell, o.group, o.out, o.took, o.excused, placed[i])
	}
	return text.String()
}
