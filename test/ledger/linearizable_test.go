package ledger_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/report"
)

// clients work at the same time, each for a deployment group of its own.
const clients = 16

// operations is how many a test of histories does: few, or LEDGER_OPERATIONS shared by the tests.
func operations(t *testing.T, share int) int {
	t.Helper()
	text := os.Getenv("LEDGER_OPERATIONS")
	if text == "" {
		return 640 * share / 100
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("LEDGER_OPERATIONS: %v", err)
	}
	return n * share / 100
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
	atOnce(t, operations(t, 50), "10.201.0.0/28", func(c *client, group int, random *rand.Rand) {
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

// Hosts against the wildcard above them: of two owners one wins.
func TestWildcardsAreLinearizable(t *testing.T) {
	h, ctx := newHistory(), t.Context()
	atOnce(t, operations(t, 30), "10.202.0.0/28", func(c *client, group int, random *rand.Rand) {
		id, domainName := groupLease("wild", group), fmt.Sprintf("d%d.wild.example.com", random.IntN(3))
		o, call := op{verb: release, group: group, cell: random.IntN(3)}, h.now()
		thing := []string{"a.", "b.", "*."}[o.cell] + domainName
		var err error
		if c.last == "" || random.IntN(3) == 0 {
			o.verb = reserve
			if err = c.reserve(ctx, id, "", thing); err == nil {
				c.last, c.cell = domainName, o.cell
			}
		} else {
			domainName, o.cell, c.last = c.last, c.cell, ""
			err = c.release(ctx, id, []string{"a.", "b.", "*."}[o.cell]+domainName)
		}
		o.out, o.took = c.result(t, o.verb, err)
		h.add(domainName, call, o)
	})
	if !h.check(t, domain) {
		t.Error("hosts and wildcards are not linearizable")
	}
}

// Addresses from a small range, each picked by the run: no two endpoints have one.
func TestAddressesAreLinearizable(t *testing.T) {
	const first = "10.203.0."
	h, ctx := newHistory(), t.Context()
	atOnce(t, operations(t, 20), first+"0/29", func(c *client, group int, random *rand.Rand) {
		id, call := groupLease("address", group), h.now()
		if random.IntN(2) == 0 {
			err := c.reserve(ctx, id, fmt.Sprint("endpoint", group), nil...)
			for _, a := range c.addresses() {
				if err == nil {
					h.add(a, call, op{verb: reserve, group: group, out: done})
				}
			}
			if _, ok := errors.AsType[*report.ExhaustedError](err); err != nil && !ok {
				t.Errorf("reserve: %v", err)
			}
			return
		}
		if err := c.release(ctx, id); err != nil {
			t.Errorf("release: %v", err)
		}
		left := c.named(report.Released)
		for n := range 8 {
			a, o := first+strconv.Itoa(n), op{verb: release, group: group, out: nothing}
			if slices.Contains(left, a) {
				o.out = done
			}
			h.add(a, call, o)
		}
	})
	if !h.check(t, paths) {
		t.Error("addresses are not linearizable")
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
