package ledger_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// between are pairs of which the other command comes before each write of the torn one.
func between() []pair {
	if os.Getenv("LEDGER_OPERATIONS") != "" {
		return pairs()
	}
	p := func(torn, other, tenant, before string) pair {
		return pair{commandOf(torn), commandOf(other), tenant, before}
	}
	return []pair{
		p("apply", "transfer -f", "a", "nothing"), // the run is overtaken, and what it made is another's by then
		p("release", "apply", "a", "applied"),
		p("transfer", "apply", "a", "applied"), // what serves for another lease is not of this one's definition
	}
}

// A run that stands still before one of its writes finds what another command has done meanwhile: what it
// takes back then is its own.
func TestBetweenWrites(t *testing.T) {
	for i, p := range between() {
		t.Run(strings.ReplaceAll(p.String(), " ", "_"), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, fmt.Sprintf("m%d", i), p.target())
			defer w.reset(t)
			p.amid(t, w, -1, true)
		})
	}
}

// amid runs the other command before a request of the torn one, or before a write of it. With which below
// zero, and where all is tried, it is before each of them.
func (p pair) amid(t *testing.T, w *world, which int, writes bool) {
	t.Helper()
	all := os.Getenv("LEDGER_OPERATIONS") != "" || which < 0
	for at, requests := 0, 1; at < requests && !t.Failed(); at++ {
		if !all {
			at = 1 + which%4 // uninstall reads the namespace, writes it, and reads the claims
		}
		p.prepare(t, w)
		var before view
		n, through := beforeRequest(at, writes, func() {
			_ = p.do(t, w) // it may be refused for what the torn one has done
			before = w.view(t)
		})
		err := p.torn.run(t.Context(), w, w.client(t, w.cfg, through), "a", false)
		if *n <= at {
			return // it had no such request
		}
		where := fmt.Sprintf(" before request %d of %d (%v)", at, *n, err)
		p.judge(t, w, before, w.view(t), where)
		_ = p.run(t, w, &tearer{})
		p.settle(t, w, where)
		if all {
			requests = *n
		}
	}
}
