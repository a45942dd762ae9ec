package engine_test

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/akash-net/kubectl-akash-net/engine"
	"github.com/akash-net/kubectl-akash-net/kinds"
)

var switchesFlag = flag.Int("switches", 3, "how often one command goes on although the other could")

// Two commands meet in each order of their requests with so many switches between them, with and without one write that is held,
// and with its command taken for crashed meanwhile. What holds of random histories holds of each of these.
func TestInterleavings(t *testing.T) {
	for name, w := range map[string]struct{ before, first, second string }{
		"two owners want one host":             {"", "A/1 a.example.com", "B/1 a.example.com"},
		"a host and the wildcard above it":     {"", "A/1 a.example.com", "B/1 *.example.com"},
		"two deployments of an owner":          {"", "A/1 a.example.com", "A/2 a.example.com"},
		"one deployment twice":                 {"", "A/1 a.example.com", "A/1 a.example.com prune"},
		"two want the last address":            {"C/1 address", "A/1 address", "B/1 address"},
		"a release, and another owner":         {"A/1 a.example.com", "A/1 release", "B/1 a.example.com"},
		"a release, and the wildcard above":    {"A/1 a.example.com", "A/1 release", "B/1 *.example.com"},
		"a release, and a sibling":             {"A/1 a.example.com", "A/1 release", "A/2 a.example.com"},
		"a release, and its own lease anew":    {"A/1 a.example.com", "A/1 release", "A/1 a.example.com b.example.com"},
		"a lease is released twice":            {"A/1 a.example.com b.example.com", "A/1 release", "A/1 release a.example.com"},
		"a wildcard goes, and a host below it": {"A/1 *.example.com", "A/1 release", "B/1 a.example.com"},
		"one gives up what the other takes":    {"A/1 a.example.com", "A/1 b.example.com prune", "B/1 a.example.com"},
		"two owners apply one host":            {"", "A/1 apply a.example.com", "B/1 apply a.example.com"},
		"a lease is applied twice":             {"A/1 apply a.example.com", "A/1 apply a.example.com timeout", "A/1 apply a.example.com"},
		"an apply, and the release":            {"A/1 apply a.example.com", "A/1 release", "A/1 apply a.example.com timeout"},
		"an apply gives up what others take":   {"A/1 apply a.example.com", "A/1 apply prune", "B/1 apply a.example.com"},
		"a host goes and comes":                {"A/1 apply a.example.com", "A/1 apply prune", "A/1 apply a.example.com"},
		"a healing, and the release":           {"A/1 apply a.example.com", "A/1 release", "A/1 heal"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			paths := 0
			for path := (&choices{}); path != nil; path = path.next() {
				paths++
				h := meet(path, "", w.before, w.first, w.second)
				if len(h.verdicts) > 0 {
					t.Fatalf("order %v:\n%s\n%s", path.taken, short(strings.Join(h.trace, "\n")), short(strings.Join(h.verdicts, "\n")))
				}
			}
			t.Logf("%d orders", paths)
		})
	}
}

// choices are those of one run, so that another run can take the next ones. of are the numbers of alternatives.
type choices struct{ taken, of []int }

// choose returns one of n alternatives.
func (c *choices) choose(n, at int) int {
	if at == len(c.taken) {
		c.taken, c.of = append(c.taken, 0), append(c.of, n)
	}
	return c.taken[at]
}

// next returns the choices of the next run, nil after the last one.
func (c *choices) next() *choices {
	for i := len(c.taken) - 1; i >= 0; i-- {
		if c.taken[i]+1 < c.of[i] {
			taken := append([]int(nil), c.taken[:i+1]...)
			taken[i]++
			return &choices{taken, append([]int(nil), c.of[:i+1]...)}
		}
	}
	return nil
}

// meet runs two commands by choices, after one that has ended before and whose hosts a route serves.
func meet(path *choices, breach, before, first, second string) *history {
	h := newHistory(nil)
	h.ledger.breach = breach
	if before != "" {
		c := h.ledger.command("before", h.ledger.want(strings.Fields(before)))
		for !c.ended {
			h.turn(c, 0)
		}
		for _, claim := range h.ledger.list("", "") {
			if !claim.Kind.HasPorts() && len(h.ledger.routes(claim.Thing)) == 0 {
				h.ledger.serve(claim.Thing, claim.Parts[0].Lease, kinds.Ingress)
			}
		}
	}
	for i, text := range []string{first, second} {
		h.commands = append(h.commands, h.ledger.command(fmt.Sprint("c", i+1), h.ledger.want(strings.Fields(text))))
	}
	held, at, switches, most := false, 0, 0, *switchesFlag
	if len(h.ledger.said) > 0 {
		most-- // an apply has twice as many requests
	}
	var last *command
	choose := func(n int) int {
		if n == 1 {
			return 0
		}
		at++
		return path.choose(n, at-1)
	}
	for len(h.trace) < 300 {
		acts := h.acting()
		switch {
		case len(h.open()) == 0:
			h.judgeEnd()
			h.applyAgain()
			return h
		case len(acts) == 0: // time passes
			h.turn(h.open()[0], 0)
			continue
		}
		c := acts[0]
		switch {
		case len(acts) == 1:
		case switches >= most && slices.Contains(acts, last):
			c = last
		default:
			if c = acts[choose(len(acts))]; c != last && slices.Contains(acts, last) {
				switches++
			}
		}
		last = c
		if len(c.flying) > 0 {
			if _, alive := h.ledger.announced[c.nonce]; alive && choose(2) == 1 {
				h.crash(c)
				continue
			}
			f := c.flying[0]
			c.flying = nil
			h.arrive(c, f.place, f.request, f.sent, c.arrived, 0)
			continue
		}
		if place, r, _, ok := c.next(); ok && !held && isWrite(r) && c.mayWrite(r) && choose(2) == 1 {
			held = true
			h.send(c, place, r)
			continue
		}
		h.turn(c, 0)
	}
	h.wrong("it does not end")
	return h
}

// acting are the commands that can go on now: they wait neither for each other's turn nor for time to pass.
func (h *history) acting() (out []*command) {
	for _, c := range h.open() {
		_, r, waits, ok := c.next()
		blocked := ok && r.Verb == engine.Announce && h.ledger.isTaken(c)
		if len(c.flying) > 0 || ok && !blocked || !ok && len(waits) == 0 {
			out = append(out, c)
		}
	}
	return out
}
