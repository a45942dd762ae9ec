package orders

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/reservation"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// ofLedger is true for requests about reservations, or about anything else of the ledger. What is read of nodes and pods
// comes before the first of them.
func ofLedger(r *http.Request) bool {
	return strings.Contains(r.URL.Path, "/leases") || strings.HasSuffix(r.URL.Path, "/namespaces/akash-net")
}

// killed ends a process at a request of the ledger, counted from 1, before or after it has reached the server: nothing that
// it sends from there on does.
func killed(at int64, after bool, dead chan<- struct{}) func(*rest.Config) {
	var seen atomic.Int64
	return through(func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		if !ofLedger(r) && seen.Load() < at {
			return next.RoundTrip(r)
		}
		n := seen.Load()
		if ofLedger(r) {
			n = seen.Add(1)
		}
		if n < at {
			return next.RoundTrip(r)
		}
		if n == at {
			if after {
				if answer, err := next.RoundTrip(r); err == nil {
					_ = answer.Body.Close()
				}
			}
			close(dead)
		}
		select {} // the process is dead
	})
}

// work is a command that does something for an order.
type work func(context.Context, *cluster.Cluster, lease.Order) error

// reserves reserves what a file asks for, takesOver makes it the lease's that was won.
func reserves(t *testing.T, file string) work {
	t.Helper()
	return func(ctx context.Context, c *cluster.Cluster, order lease.Order) error {
		_, _, err := reservation.New(c, config.Default()).Reserve(ctx, order, groupOf(t, file, order), reservation.Options{Expires: 10 * time.Minute})
		return err
	}
}

func takesOver(t *testing.T, file string) work {
	t.Helper()
	return func(ctx context.Context, c *cluster.Cluster, order lease.Order) error {
		_, err := reservation.Claim(ctx, c, config.Default(), leaseOf(order), asked(t, file, leaseOf(order)), nil)
		return err
	}
}

// A run that is killed before or after any of its requests takes nothing from anybody else, and what its order had stays until
// it has something else, also where the run that takes its place is killed. Run again the command does what it would have done.
func TestKilledAtEachRequest(t *testing.T) {
	free(t)
	harness.Node(t, "crash-1", nil, harness.Amounts("4", "8Gi"))
	bystander := newOrder(t)
	file, larger := sdl(t, group{resources: small}), sdl(t, group{resources: small, count: 3})
	reserve(t, 0, bystander, file)
	was := claimOf(t, bystander)
	for name, tt := range harness.Drawn(map[string]struct {
		command, then work
		cpu           uint64
		// requests is how many the command makes of the ledger.
		requests int64
		won      bool
	}{
		"renew":               {reserves(t, file), reserves(t, file), 1000, 2, false},
		"move":                {reserves(t, larger), reserves(t, larger), 3000, 4, false},
		"take over":           {takesOver(t, file), takesOver(t, file), 1000, 2, true},
		"take over and move":  {takesOver(t, larger), takesOver(t, larger), 3000, 4, true},
		"move, and take over": {reserves(t, larger), takesOver(t, larger), 3000, 4, true},
	}) {
		t.Run(name, func(t *testing.T) {
			for n := range tt.requests * tt.requests {
				order := newOrder(t)
				reserve(t, 0, order, file, "--expires", "5m")
				// A cut before a request leaves what one after the request before it does.
				for i, at := range []int64{n/tt.requests + 1, n%tt.requests + 1} {
					dead, ended := make(chan struct{}), make(chan struct{})
					go func() {
						defer close(ended)
						_ = []work{tt.command, tt.then}[i](context.WithoutCancel(t.Context()), connect(t, killed(at, i == 1 || n%2 == 1, dead)), order)
					}()
					select {
					case <-dead:
					case <-ended: // it had less to do than that
					}
					if left := claimOf(t, order); left == nil || left.Bound == nil {
						t.Errorf("cut %d of %d: what the order had was let go: %+v", i, n, left)
					}
				}
				if now := claimOf(t, bystander); now.ResourceVersion != was.ResourceVersion {
					t.Errorf("cuts %d: the bystander has changed: %+v", n, now)
				}
				if err := tt.then(t.Context(), connect(t), order); err != nil {
					t.Fatalf("cuts %d, again: %v", n, err)
				}
				switch now := claimOf(t, order); {
				case now == nil || now.Bound == nil || now.Pending != nil || now.Bound.Hold.Total().CPU != tt.cpu:
					t.Fatalf("cuts %d, and again: there is %+v", n, now)
				case tt.won && (now.Bound.Provider != harness.Provider || now.Bound.Expires != ""):
					t.Fatalf("cuts %d, and again: it is not the lease's: %+v", n, now)
				}
				harness.Run(t.Context(), "order", "release", order.String()).Exits(t, 0)
			}
		})
	}
}

// When something ends the API server's clock says, and not the client's, which may be hours off.
func TestClocksThatAreWrong(t *testing.T) {
	free(t)
	harness.Node(t, "clock-1", nil, harness.Amounts("1", "8Gi"))
	file := sdl(t, group{resources: small})
	server := harness.ServerTime(t).Add(3 * time.Hour)
	c := connect(t, through(func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		answer, err := next.RoundTrip(r)
		if err == nil {
			if at, wrong := http.ParseTime(answer.Header.Get("Date")); wrong == nil { // to this server, the client is three hours behind
				answer.Header.Set("Date", at.Add(3*time.Hour).UTC().Format(http.TimeFormat))
			}
		}
		return answer, err
	}))
	order := newOrder(t)
	claim, _, err := reservation.New(c, config.Default()).Reserve(t.Context(), order, groupOf(t, file, order), reservation.Options{Expires: 5 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	if at, err := time.Parse(time.RFC3339, claim.Bound.Expires); err != nil || at.Before(server.Add(5*time.Minute)) || at.After(server.Add(10*time.Minute)) {
		t.Errorf("by a clock of %s it ends at %s", server, claim.Bound.Expires)
	}
	ends(t, order, harness.ServerTime(t).Add(time.Minute))
	other := newOrder(t)
	if _, _, err := reservation.New(c, config.Default()).Reserve(t.Context(), other, groupOf(t, file, other), reservation.Options{}); err != nil {
		t.Errorf("what is over by the server's clock is in the way: %v", err)
	}
}
