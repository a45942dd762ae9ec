package ledger_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
)

// clients work at the same time, each for a deployment group of its own.
const clients = 16

// operations is how many a test of histories does: a share of a few hundred, or of many.
func operations(share int) int {
	if long() {
		return 20_000 * share / 100
	}
	return 128 * share / 100
}

func groupLease(word string, group int) lease.ID {
	return leaseOf(fmt.Sprintf("%s%d", word, owners(group)), uint64(group%2+1))
}

// atOnce runs the clients side by side until all operations are done.
func atOnce(t *testing.T, n int, addresses string, do func(c *client, group int, random *rand.Rand)) {
	t.Helper()
	cfg := settings(t, addresses)
	var work sync.WaitGroup
	for group := range clients {
		c := newClient(t, cfg)
		work.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(group)))
			for range n / clients {
				do(c, group, random)
			}
		})
	}
	work.Wait()
}

// result reads a run's outcome for a thing.
func (c *client) result(t *testing.T, v verb, err error) (out outcome, took bool) {
	var refused *report.HeldError
	var overtaken *report.OvertakenError
	took = len(c.named(report.Claimed)) > 0
	switch {
	case errors.As(err, &refused):
		return held, took
	case v == transfer && len(c.named(report.Transferred)) > 0, v == release && len(c.named(report.Released)) > 0:
		return done, false
	case errors.As(err, &overtaken) && took:
		return done, false // it had it until another group of the owner took it over
	case err != nil:
		t.Logf("%s: %v", v, err)
		return failed, took
	case v != reserve:
		return nothing, false
	case len(c.named(report.Withheld)) > 0:
		return withheld, false
	}
	return done, took
}

// Paths of hosts: the deployment groups of one owner come and go, hand over, and shut out others.
func TestPathsAreLinearizable(t *testing.T) {
	h, ctx := newHistory(), t.Context()
	atOnce(t, operations(50), "10.201.0.0/28", func(c *client, group int, random *rand.Rand) {
		id := groupLease("paths", group)
		host := fmt.Sprintf("h%d.paths.example.com", (owners(group)/2+random.IntN(2))%4)
		o, call := op{verb: release, group: group, cell: all}, h.now()
		var err error
		switch n := random.IntN(10); {
		case c.last != "" && n < 5:
			host, c.last = c.last, ""
			err = c.release(ctx, id, host)
		case n < 8:
			o.verb, o.cell, c.last = reserve, random.IntN(2), host
			err = c.reserve(ctx, id, "", host+[]string{"", "/a"}[o.cell])
		default:
			o.verb, c.last = transfer, host
			err = c.applier().Transfer(ctx, id, []string{host}, nil)
		}
		o.out, o.took = c.result(t, o.verb, err)
		h.add(host, call, o)
	})
	if !h.check(t, paths) {
		t.Error("the paths of hosts are not linearizable")
	}
}

// addresses are those that the last run ended with.
func (c *client) addresses() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range c.events {
		if e.Action == report.Done && e.Summary != nil {
			return e.Summary.Addresses
		}
	}
	return nil
}
