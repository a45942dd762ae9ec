package ledger_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/akash-net/kubectl-akash-net/apply/repair"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/report"
)

// rounds are how often a loop goes round.
func rounds(short, long int) int {
	if os.Getenv("LEDGER_OPERATIONS") != "" {
		return long
	}
	return short
}

// Two owners take and release one host by turns, and two loops repair beside them: what is applied stays
// whole until it is released, and what is released is free.
func TestRepairBesideTwoOwners(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "looprepair", config.TargetIngress)
	defer w.reset(t)
	w.reset(t)
	ended := make(chan struct{})
	var repairs sync.WaitGroup
	for range 2 {
		repairs.Go(func() {
			c := w.client(t, w.cfg)
			c.opts.Concurrency = 1
			for {
				select {
				case <-ended:
					return
				default:
					_ = repair.Repair(t.Context(), c.applier(), repairing) // may find a run under way
				}
			}
		})
	}
	c := w.client(t, w.cfg)
	for i := range rounds(12, 100) {
		tenant := []string{"a", "b"}[i%2]
		if err := c.apply(t.Context(), definition(w.lease(tenant, 1), "public", w.host())); err != nil {
			t.Errorf("round %d: %v", i, err)
			break
		}
		v := w.view(t)
		if len(v.claims) != 2 {
			t.Errorf("round %d: the lease holds %d things", i, len(v.claims))
		}
		for _, claim := range v.claims {
			for _, p := range claim.Parts {
				if missing := v.serves(claim, p); len(missing) > 0 {
					t.Errorf("round %d: %s of %s has lost its %v", i, claim.Thing, p.Lease, missing)
				}
			}
		}
		if err := c.release(t.Context(), w.lease(tenant, 1)); err != nil {
			t.Errorf("round %d: %v", i, err)
		}
		if t.Failed() {
			break
		}
	}
	close(ended)
	repairs.Wait()
	if left := w.view(t).text(t); len(left) > 0 {
		t.Errorf("left are %q", left)
	}
}

// `release --all` beside an apply of twenty leases: whatever each of them has done, nothing serves without a
// claim.
func TestReleaseAllBesideApply(t *testing.T) {
	t.Parallel()
	w, defs := newTwenty(t, "loopall")
	defer w.reset(t)
	all := w.client(t, w.cfg)
	for i := range rounds(2, 12) {
		var applied error
		var work sync.WaitGroup
		work.Go(func() { applied = w.client(t, w.cfg).applier().Apply(t.Context(), defs) })
		released := errors.Join(all.releaseAll(t.Context()), all.releaseAll(t.Context()))
		work.Wait()
		if _, ok := errors.AsType[*report.OvertakenError](applied); applied != nil && !ok {
			t.Errorf("round %d: apply: %v", i, applied)
		}
		if released != nil && !strings.Contains(released.Error(), "applied again and again") {
			t.Errorf("round %d: release: %v", i, released)
		}
		w.servesClaimedOnly(t)
		if err := all.releaseAll(t.Context()); err != nil {
			t.Errorf("round %d: %v", i, err)
		}
		if left := w.view(t).text(t); len(left) > 0 {
			t.Errorf("round %d: left are %q", i, left)
		}
		if t.Failed() {
			return
		}
	}
}

// A release has deleted objects and stands still before it gives up its first claim. An apply takes it for crashed, and
// makes them anew: what is applied stays whole.
func TestApplyWithinReleaseAll(t *testing.T) {
	t.Parallel()
	w, defs := newTwenty(t, "within")
	defer w.reset(t)
	if err := w.client(t, w.cfg).applier().Apply(t.Context(), defs); err != nil {
		t.Fatal(err)
	}
	late := w.client(t, w.cfg, beforeClaims(func() {
		if err := w.client(t, w.cfg).hasty().applier().Apply(t.Context(), defs); err != nil {
			t.Error(err)
		}
	}))
	wantLost(t, late.releaseAll(t.Context()))
	w.servesClaimedOnly(t)
	v := w.view(t)
	if len(v.claims) != 2*len(defs) {
		t.Errorf("%d claims are left of %d leases", len(v.claims), len(defs))
	}
	for _, claim := range v.claims {
		for _, p := range claim.Parts {
			if missing := v.serves(claim, p); len(missing) > 0 {
				t.Errorf("%s of %s has lost its %v", claim.Thing, p.Lease, missing)
			}
		}
	}
}

// A release stands still before one of its writes, an apply takes it for crashed, and the write comes after all: what the
// apply has found or made stays whole, also what it had no reason to write. An apply that finds everything as wanted
// came before the release.
func TestApplyWithinRelease(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "before", config.TargetIngress)
	defer w.reset(t)
	def := definition(w.lease("a", 1), "public", w.host())
	for at, writes := 0, 1; at < writes; at++ {
		w.reset(t)
		if err := w.client(t, w.cfg).apply(t.Context(), def); err != nil {
			t.Fatal(err)
		}
		n, through := beforeRequest(at, true, func() {
			if err := w.client(t, w.cfg).hasty().apply(t.Context(), def); err != nil {
				t.Error(err)
			}
		})
		late := w.client(t, w.cfg, through)
		late.opts.Concurrency = 1
		err := late.release(t.Context(), w.lease("a", 1))
		writes = *n
		v := w.view(t)
		if err == nil {
			if left := v.text(t); len(left) > 0 {
				t.Errorf("before write %d: the release leaves %q", at, left)
			}
			continue
		}
		wantLost(t, err)
		if len(v.claims) != 2 {
			t.Errorf("before write %d: %d claims are left", at, len(v.claims))
		}
		for _, claim := range v.claims {
			for _, p := range claim.Parts {
				if missing := v.serves(claim, p); len(missing) > 0 {
					t.Errorf("before write %d: %s has lost its %v", at, claim.Thing, missing)
				}
			}
		}
	}
}

// newTwenty is a world with the definitions of twenty leases.
func newTwenty(t *testing.T, name string) (*world, []*lease.Definition) {
	t.Helper()
	w := newWorld(t, name, config.TargetIngress)
	w.reset(t)
	var defs []*lease.Definition
	for i := range uint64(20) {
		defs = append(defs, definition(w.lease("a", i+1), fmt.Sprintf("public%d", i), fmt.Sprintf("n%d.%s", i, w.host())))
	}
	return w, defs
}

// servesClaimedOnly fails the test where something serves without a claim.
func (w *world) servesClaimedOnly(t *testing.T) {
	t.Helper()
	v := w.view(t)
	for _, o := range v.things {
		if !v.entitled(o) {
			t.Errorf("%s serves without a claim", o)
		}
	}
	for _, p := range w.problems(t.Context(), t) {
		if strings.HasPrefix(p, "RouteWithoutClaim") || strings.HasPrefix(p, "UnclaimedAddress") {
			t.Error(p)
		}
	}
}
