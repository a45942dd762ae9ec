package ledger_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	"github.com/akash-net/kubectl-akash-net/report"
)

// Two runs of one lease that both fail leave nothing: the one that takes the other for crashed, and takes its
// claim over, gives it back.
func TestTwoFailingRunsOfOneLease(t *testing.T) {
	const a, b = "a.runs.example.com", "b.runs.example.com"
	cfg, id := settings(t, "10.223.0.0/29"), leaseOf("runs", 1)
	other := newClient(t, cfg)
	refused := func(err error) {
		t.Helper()
		if _, ok := errors.AsType[*report.HeldError](err); !ok {
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
		refused(second.hasty().reserve(t.Context(), id, "", a, b))
		secondRan = true
	}))
	wantLost(t, first.reserve(t.Context(), id, "", a, b))
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
	if _, ok := errors.AsType[*report.HeldError](err); !ok {
		t.Errorf("a hold is renewed below the wildcard of another: %v", err)
	}
}

// A run that believes a host to be free, and was taken for crashed, neither takes away what another run of the same
// lease has taken of it meanwhile nor adds to it.
func TestRunsOfOneLeaseKeepEachOthersParts(t *testing.T) {
	const host = "parts.runs.example.com"
	cfg, id := settings(t, "10.225.0.0/29"), leaseOf("parts", 1)
	other := newClient(t, cfg)
	late := newClient(t, cfg, behind(host, func() {
		if err := other.hasty().reserve(t.Context(), id, "", host); err != nil {
			t.Error(err)
		}
	}))
	wantLost(t, late.reserve(t.Context(), id, "", host+"/v1"))
	held := written(t, "parts")
	if len(held) != 1 || !strings.Contains(held[0], `\"path\":\"/\"`) || strings.Contains(held[0], "/v1") || runMark.MatchString(held[0]) {
		t.Errorf("want the lease to hold the root path alone: %s", held)
	}
}

// A host that a killed run has left, and that nobody has compared with the wildcard above it, is
// not transferred past the wildcard of another owner.
func TestTransferBelowAWildcard(t *testing.T) {
	const host, above = "a.below.example.com", "*.below.example.com"
	cfg := settings(t, "10.226.0.0/29")
	writes := 0
	wild := newClient(t, cfg, spoil(func(r *http.Request) {
		if writes++; writes != 2 {
			return
		}
		// The wildcard is pending and has looked for hosts. Before it is bound a run takes one, and dies.
		taken := afterWriteOf(host)
		ctx := context.WithoutCancel(t.Context())
		go func() { _ = newClient(t, cfg, taken.through).reserve(ctx, leaseOf("below", 1), "", host) }()
		<-taken.dead
	}))
	if err := wild.reserve(t.Context(), leaseOf("above", 1), "", above); err != nil {
		t.Fatal(err)
	}
	was := written(t, "below")
	if len(was) != 1 {
		t.Fatalf("the host is %s", was)
	}
	err := newClient(t, cfg).hasty().applier().Transfer(t.Context(), leaseOf("below", 2), []string{host}, nil)
	if _, ok := errors.AsType[*report.HeldError](err); !ok {
		t.Errorf("a host is transferred below the wildcard of another: %v", err)
	}
	if diff := cmp.Diff(was, written(t, "below")); diff != "" {
		t.Errorf("it was not handed back (-want +got):\n%s", diff)
	}
}

// A wildcard that a killed run has left pending is bound when it is transferred.
func TestTransferOfAPendingWildcard(t *testing.T) {
	const thing = "*.pending.example.com"
	cfg := settings(t, "10.227.0.0/29")
	pending := afterWriteOf("wc--any.pending.example.com")
	ctx := context.WithoutCancel(t.Context())
	go func() { _ = newClient(t, cfg, pending.through).reserve(ctx, leaseOf("pending", 1), "", thing) }()
	<-pending.dead
	if err := newClient(t, cfg).hasty().applier().Transfer(t.Context(), leaseOf("pending", 2), []string{thing}, nil); err != nil {
		t.Fatal(err)
	}
	now := written(t, "pending")
	if len(now) != 1 || !strings.Contains(now[0], `\"bound\":true`) || strings.Contains(now[0], "expires") || runMark.MatchString(now[0]) {
		t.Errorf("the wildcard is %s", now)
	}
}

// A release that was taken for crashed, and finds its part in the hands of another deployment of the owner, has released
// nothing.
func TestReleaseOfWhatWasTransferredMeanwhile(t *testing.T) {
	const host = "given.runs.example.com"
	cfg, id, to := settings(t, "10.228.0.0/29"), leaseOf("given", 1), leaseOf("given", 2)
	first := newClient(t, cfg)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(first.reserve(t.Context(), to, "", host))
	must(first.reserve(t.Context(), id, "", host, host+"/a"))
	if withheld := first.named(report.Withheld); len(withheld) != 1 {
		t.Fatalf("withheld: %q", withheld)
	}
	var once sync.Once
	late := newClient(t, cfg, func(connection *rest.Config) {
		connection.Wrap(func(next http.RoundTripper) http.RoundTripper {
			return roundTripper(func(r *http.Request) (*http.Response, error) {
				if r.Method != http.MethodGet && strings.HasSuffix(r.URL.Path, "/leases/"+host) {
					once.Do(func() { must(first.hasty().applier().Transfer(t.Context(), to, []string{host}, nil)) })
				}
				return next.RoundTrip(r)
			})
		})
	})
	wantLost(t, late.release(t.Context(), id))
	if transferred := first.named(report.Transferred); len(transferred) != 1 {
		t.Fatalf("transferred: %q", transferred)
	}
	if released := late.named(report.Released); len(released) > 0 {
		t.Errorf("it says that it has released %q, which another deployment holds", released)
	}
	must(first.release(t.Context(), to))
}
