package ledger_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/akash-net/kubectl-akash-net/engine/report"
)

// scarce is a range of few addresses; each holds the client that has it, and 1.
type scarce [4]int

// pickOp is a client's wish for any address, or its release.
type pickOp struct {
	client  int
	release bool
	// got is the address, counted from 0; none where there was none left, or nothing to release.
	got int
}

const none = -1

// scarceModel is what a client may be told: it has its address or a free one, and that none is free
// only at a moment at which that is so.
var scarceModel = porcupine.Model{
	Init: func() any { return scarce{} },
	Step: func(before, input, _ any) (bool, any) {
		s, o := before.(scarce), input.(pickOp)
		has := slices.Index(s[:], o.client+1)
		switch {
		case o.release:
			if has != none {
				s[has] = 0
			}
			return has == o.got, s
		case o.got == none:
			return has == none && !slices.Contains(s[:], 0), s
		}
		free := s[o.got] == 0 && has == none
		s[o.got] = o.client + 1
		return free || has == o.got, s
	},
	DescribeOperation: func(input, _ any) string { return fmt.Sprintf("%+v", input) },
}

// Clients want more addresses than there are: who is told that none is free is told the truth of one
// moment, and nobody is given another's.
func TestExhaustionIsLinearizable(t *testing.T) {
	const first = "10.204.0."
	var mu sync.Mutex
	var ops []porcupine.Operation
	h, told := newHistory(), 0
	atOnce(t, operations(50), first+"0/30", func(c *client, group int, random *rand.Rand) {
		id, o := groupLease("scarce", group), pickOp{client: group, got: none, release: random.IntN(2) == 0}
		call := h.now()
		var err error
		var things []string
		if o.release {
			err = c.release(t.Context(), id)
			things = c.named(report.Released)
		} else {
			err = c.reserve(t.Context(), id, fmt.Sprint("endpoint", group), nil...)
			things = c.addresses()
		}
		end := h.now()
		exhausted, ok := errors.AsType[*report.ExhaustedError](err)
		if err != nil && !ok {
			t.Errorf("%+v: %v", o, err)
			return
		}
		for n := range len(scarce{}) {
			if slices.Contains(things, first+strconv.Itoa(n)) {
				o.got = n
			}
		}
		mu.Lock()
		defer mu.Unlock()
		if exhausted != nil {
			told++
		}
		ops = append(ops, porcupine.Operation{ClientId: group, Input: o, Call: call, Return: end})
	})
	if result := porcupine.CheckOperationsTimeout(scarceModel, ops, time.Minute); result != porcupine.Ok {
		t.Errorf("the history of %d operations is %s", len(ops), result)
	}
	if told == 0 {
		t.Error("nobody was told that no address is free")
	}
	t.Logf("%d operations, %d found no address left", len(ops), told)
}
