package orders

import (
	"errors"
	"fmt"
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

// Histories of orders that come, change, and go, on one node: they are linearizable.
func TestOrdersAreLinearizable(t *testing.T) {
	harness.NeedsLong(t)
	free(t)
	harness.Node(t, "history-1", nil, harness.Amounts(strconv.Itoa(cpus), "64Gi"))
	operations := 240
	if text := os.Getenv("LEDGER_OPERATIONS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatalf("LEDGER_OPERATIONS: %v", err)
		}
		operations = n / 2
	}
	begun := time.Now()
	var mu sync.Mutex
	var history []porcupine.Operation
	outcomes := map[string]int{}
	var work sync.WaitGroup
	for i := range bidders {
		order, random := newOrder(t), rand.New(rand.NewPCG(11, uint64(i))) // a history that can be repeated
		orders := reservation.New(connect(t), config.Default())
		work.Go(func() {
			for range operations / bidders {
				a := attempt{i, random.IntN(5)}
				call := int64(time.Since(begun))
				done, err := try(t, orders, order, a.cpus)
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
}

// try does an operation and says whether it was done.
func try(t *testing.T, orders *reservation.Orders, order lease.Order, cpus int) (bool, error) {
	if cpus == 0 {
		return orders.UnreserveIf(t.Context(), order, func(*reserved.Claim) bool { return true })
	}
	g := inventory.Group{Resources: []inventory.Resource{{ID: 1, Count: 1, CPU: uint64(cpus) * 1000, Memory: 1 << 20}}}
	_, _, err := orders.Reserve(t.Context(), order, g, reservation.Options{})
	if _, refused := errors.AsType[*reservation.RefusedError](err); refused {
		return false, nil
	}
	return err == nil, err
}
