package console

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/akash-net/kubectl-akash-net/lease"
)

// total counts how the work on the leases of a command has ended.
type total struct {
	leases int
	// done has the leases that are done, by their state, such as "live".
	done map[string]int
	// failed are refused or failed. begun were stopped, with something changed; unprocessed were stopped as they were before.
	failed, begun, unprocessed int
	// took is how long the command has worked.
	took time.Duration
}

// totalOf counts leases. states are those of the leases of which the command said that they are done.
func totalOf(leases int, states []string, s stop, readOnly bool, took time.Duration) total {
	t := total{leases: leases, done: map[string]int{}, failed: s.failed - len(s.rests), took: took}
	for _, r := range s.rests {
		if r.Stays && !readOnly {
			t.begun++
		} else {
			t.unprocessed++
		}
	}
	rest := leases - s.failed
	for _, state := range states {
		if rest > 0 {
			t.done[state]++
			rest--
		}
	}
	if rest > 0 {
		t.done["done"] += rest
	}
	return t
}

// String returns the counts that are not zero, such as "200 leases: 199 live, 1 failed, 6.1s".
func (t total) String() string {
	var parts []string
	add := func(n int, what string) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, what))
		}
	}
	for _, state := range slices.Sorted(maps.Keys(t.done)) {
		add(t.done[state], state)
	}
	add(t.failed, "failed")
	add(t.begun, "begun")
	add(t.unprocessed, "not processed")
	parts = append(parts, t.took.Round(100*time.Millisecond).String())
	return lease.Count(t.leases, "lease") + ": " + strings.Join(parts, ", ")
}

// printTotal prints how the work on several leases has ended, if that is known. perLease is true if leases have failed, not the command.
func (c *Console) printTotal(s stop, perLease bool) {
	switch {
	case c.Leases > 1 && (perLease && len(s.rests) > 0 || len(c.states) > 0):
		text := totalOf(c.Leases, slices.Collect(maps.Values(c.states)), s, c.readOnly, time.Since(c.begun)).String()
		fmt.Fprintln(c.ErrOut, text+c.suffix)
	case len(s.rests) > 1:
		fmt.Fprintf(c.ErrOut, "%s were not processed.\n", lease.Count(len(s.rests), "lease"))
	}
}
