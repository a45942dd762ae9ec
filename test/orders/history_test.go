package orders

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/akash-net/kubectl-akash-net/apply/reservation"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/state/inventory"
	"github.com/akash-net/kubectl-akash-net/state/reserved"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

const (
	// bidders work at the same time, each for an order of its own, on a node with so many CPUs.
	bidders = 8
	cpus    = 6
)

// attempt is an operation: an order asks for CPUs, or gives up what it has where it asks for none.
type attempt struct{ order, cpus int }

// holds is the specification: what each order has. What is granted never exceeds what there is, and nobody is refused what
// was free at every moment of his attempt.
type holds [bidders]int

func (h holds) without(order int) (sum int) {
	for i, n := range h {
		if i != order {
			sum += n
		}
	}
	return sum
}

func step(state, input, output any) (bool, any) {
	h, a, done := state.(holds), input.(attempt), output.(bool)
	switch fits := h.without(a.order)+a.cpus <= cpus; {
	case a.cpus == 0:
		ok := done == (h[a.order] > 0)
		h[a.order] = 0
		return ok, h
	case !done:
		return !fits, h // and what the order had stays
	case !fits:
		return false, h
	}
	h[a.order] = a.cpus
	return true, h
}

var specification = porcupine.Model{Init: func() any { return holds{} }, Step: step}

// operations is how many a history has: few, or LEDGER_OPERATIONS.
func operations(t *testing.T) int {
	t.Helper()
	text := os.Getenv("LEDGER_OPERATIONS")
	if text == "" {
		return 240
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("LEDGER_OPERATIONS: %v", err)
	}
	return n / 2
}

// Histories of orders that come, change, and go, on one node: they are linearizable.
func TestOrdersAreLinearizable(t *testing.T) {
	harness.NeedsLong(t)
	free(t)
	harness.Node(t, "history-1", nil, harness.Amounts(strconv.Itoa(cpus), "64Gi"))
	begun := time.Now()
	var mu sync.Mutex
	var history []porcupine.Operation
	outcomes := map[string]int{}
	groups := map[int]inventory.Group{}
	for n := 1; n <= 4; n++ {
		groups[n] = inventory.Group{Resources: []inventory.Resource{{ID: 1, Count: 1, CPU: uint64(n) * 1000, Memory: 1 << 20}}}
	}
	var work sync.WaitGroup
	for i := range bidders {
		order, random := newOrder(t), rand.New(rand.NewPCG(11, uint64(i))) // a history that can be repeated
		orders := reservation.New(connect(t), config.Default())
		work.Go(func() {
			for range operations(t) / bidders {
				a := attempt{i, random.IntN(5)}
				call := int64(time.Since(begun))
				done, err := try(t, orders, order, groups[a.cpus])
				end := int64(time.Since(begun))
				mu.Lock()
				if err != nil {
					t.Errorf("order %d asks for %d: %v", i, a.cpus, err)
				}
				outcomes[fmt.Sprintf("reserves: %t, done: %t", a.cpus > 0, done)]++
				history = append(history, porcupine.Operation{ClientId: i, Input: a, Call: call, Output: done, Return: end})
				mu.Unlock()
			}
		})
	}
	work.Wait()
	if porcupine.CheckOperationsTimeout(specification, history, 5*time.Minute) != porcupine.Ok {
		t.Error("the orders are not linearizable")
	}
	if len(outcomes) != 4 {
		t.Errorf("not every outcome was seen: %v", outcomes)
	}
	t.Logf("%d operations: %v", len(history), maps.Clone(outcomes))
}

// try does an operation and says whether it was done.
func try(t *testing.T, orders *reservation.Orders, order lease.Order, g inventory.Group) (bool, error) {
	if len(g.Resources) == 0 {
		return orders.UnreserveIf(t.Context(), order, func(*reserved.Claim) bool { return true })
	}
	_, _, err := orders.Reserve(t.Context(), order, g, reservation.Options{})
	if _, refused := errors.AsType[*reservation.RefusedError](err); refused {
		return false, nil
	}
	return err == nil, err
}

// The specification itself refuses what must not be.
func TestTheSpecificationRefuses(t *testing.T) {
	one := func(order, cpus int, done bool, call, end int64) porcupine.Operation {
		return porcupine.Operation{ClientId: order, Input: attempt{order, cpus}, Call: call, Output: done, Return: end}
	}
	for name, h := range map[string][]porcupine.Operation{
		"more than there is":         {one(0, 4, true, 0, 1), one(1, 4, true, 2, 3)},
		"what was free":              {one(0, 2, true, 0, 1), one(1, 4, false, 2, 3)},
		"what was not there goes":    {one(0, 0, true, 0, 1)},
		"a refusal lets go":          {one(0, 4, true, 0, 1), one(1, 2, true, 2, 3), one(0, 5, false, 4, 5), one(1, 3, true, 6, 7)},
		"what was given up is there": {one(0, 4, true, 0, 1), one(0, 0, true, 2, 3), one(0, 0, true, 4, 5)},
	} {
		if porcupine.CheckOperations(specification, h) {
			t.Errorf("%s is allowed", name)
		}
	}
}
