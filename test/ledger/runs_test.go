package ledger_test

import (
	"errors"
	"testing"
	"time"

	"github.com/akash-net/kubectl-akash-net/apply"
)

// Two runs of one lease that both fail leave nothing: the one that took the claim over from the
// other gives it back.
func TestTwoFailingRunsOfOneLease(t *testing.T) {
	const a, b = "a.runs.example.com", "b.runs.example.com"
	cfg, id := settings(t, "10.223.0.0/29"), leaseOf("runs", 1)
	other := newClient(t, cfg)
	refused := func(err error) {
		t.Helper()
		if held := (*apply.HeldError)(nil); !errors.As(err, &held) {
			t.Errorf("want the host held, got %v", err)
		}
	}
	secondRan := false
	first := newClient(t, cfg, behind(b, func() {
		// The first has a. The second takes a over, and then both lose b.
		second := newClient(t, cfg, behind(b, func() {
			if err := other.reserve(t.Context(), leaseOf("winner", 1), "", b); err != nil {
				t.Error(err)
			}
		}))
		refused(second.reserve(t.Context(), id, "", a, b))
		secondRan = true
	}))
	refused(first.reserve(t.Context(), id, "", a, b))
	if !secondRan {
		t.Error("the second run did not come between")
	}
	if left := written(t, "runs"); len(left) > 0 {
		t.Errorf("the lease has %v", left)
	}
}

// A hold that has ended does not shut out a wildcard, and cannot be renewed below it.
func TestEndedHoldIsNotRenewedBelowAWildcard(t *testing.T) {
	const host = "a.ended.example.com"
	cfg := settings(t, "10.224.0.0/29")
	tenant, other := newClient(t, cfg), newClient(t, cfg)
	tenant.opts.Expires = -time.Hour // it has ended when it begins
	if err := tenant.reserve(t.Context(), leaseOf("ended", 1), "", host); err != nil {
		t.Fatal(err)
	}
	if err := other.reserve(t.Context(), leaseOf("endedother", 1), "", "*.ended.example.com"); err != nil {
		t.Fatal(err)
	}
	tenant.opts.Expires = time.Hour
	err := tenant.reserve(t.Context(), leaseOf("ended", 1), "", host)
	if held := (*apply.HeldError)(nil); !errors.As(err, &held) {
		t.Errorf("a hold is renewed below the wildcard of another: %v", err)
	}
}
