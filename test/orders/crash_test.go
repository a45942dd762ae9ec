package orders

import (
	"context"
	"errors"
	"fmt"
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
	"github.com/akash-net/kubectl-akash-net/state/reserved"
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

// requestsOf counts the requests of the ledger that a command makes.
func requestsOf(t *testing.T, do work, order lease.Order) (n int64) {
	t.Helper()
	var seen atomic.Int64
	c := connect(t, through(func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		if ofLedger(r) {
			seen.Add(1)
		}
		return next.RoundTrip(r)
	}))
	if err := do(t.Context(), c, order); err != nil {
		t.Fatal(err)
	}
	return seen.Load()
}

// kill runs a command that is killed at a request, and returns when it is dead.
func kill(t *testing.T, do work, order lease.Order, at int64, after bool) {
	t.Helper()
	dead, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		_ = do(context.WithoutCancel(t.Context()), connect(t, killed(at, after, dead)), order)
	}()
	select {
	case <-dead:
	case <-ended: // it had less to do than that
	}
}

// reserves reserves what a file asks for, takesOver makes it the lease's that was won, unreserves gives it up.
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

func unreserves(ctx context.Context, c *cluster.Cluster, order lease.Order) error {
	_, err := reservation.New(c, config.Default()).UnreserveIf(ctx, order, func(*reserved.Claim) bool { return true })
	return err
}

// A run that is killed before or after any of its requests takes nothing from anybody else, and what its order had stays until
// it has something else; run again the command does what it would have done. So does another order, once what was
// announced is over. The short run tries one of the commands, or pairs of them.
func TestKilledAtEachRequest(t *testing.T) {
	free(t)
	harness.Node(t, "crash-1", nil, harness.Amounts("4", "8Gi"))
	bystander := newOrder(t)
	file, larger := sdl(t, group{resources: small}), sdl(t, group{resources: small, count: 3})
	reserve(t, 0, bystander, file)
	was := claimOf(t, bystander)
	for name, tt := range harness.Drawn(map[string]struct {
		before  string
		command work
		// second is killed after the first was: both then after each of their requests. A cut before a request leaves what
		// one after the request before it does.
		second work
		cpu    uint64
		// requests is how many the command makes of the ledger.
		requests int64
		won      bool
	}{
		"reserve":                     {"", reserves(t, file), nil, 1000, 4, false},
		"renew":                       {file, reserves(t, file), nil, 1000, 2, false},
		"move":                        {file, reserves(t, larger), nil, 3000, 4, false},
		"take over":                   {file, takesOver(t, file), nil, 1000, 2, true},
		"take over and move":          {file, takesOver(t, larger), nil, 3000, 4, true},
		"take over what nobody has":   {"", takesOver(t, file), nil, 1000, 4, true},
		"unreserve":                   {file, unreserves, nil, 0, 2, false},
		"move, and move":              {file, reserves(t, larger), reserves(t, larger), 3000, 4, false},
		"move, and take over":         {file, reserves(t, larger), takesOver(t, larger), 3000, 4, true},
		"take over, and again":        {file, takesOver(t, larger), takesOver(t, larger), 3000, 4, true},
		"reserve, and take over":      {"", reserves(t, file), takesOver(t, file), 1000, 4, true},
		"move, and unreserve":         {file, reserves(t, larger), unreserves, 0, 4, false},
		"unreserve, and reserve anew": {file, unreserves, reserves(t, file), 1000, 2, false},
	}) {
		t.Run(name, func(t *testing.T) {
			prepared := func() lease.Order {
				order := newOrder(t)
				if tt.before != "" {
					if _, _, err := reservation.New(connect(t), config.Default()).Reserve(t.Context(), order, groupOf(t, tt.before, order), reservation.Options{Expires: 5 * time.Minute}); err != nil {
						t.Fatal(err)
					}
				}
				return order
			}
			counted := func(do work) int64 {
				order := prepared()
				defer func() { _ = unreserves(t.Context(), connect(t), order) }()
				return requestsOf(t, do, order)
			}
			last := counted(tt.command)
			if last != tt.requests {
				t.Errorf("%d requests, and %d are enough", last, tt.requests)
			}
			cuts, final := 2*last, tt.command
			if tt.second != nil {
				cuts, final = last*counted(tt.second), tt.second
			}
			for n := range cuts {
				at, second, after := n/2+1, int64(0), n%2 == 1
				if tt.second != nil {
					at, second, after = n%last+1, n/last+1, true
				}
				order, what := prepared(), fmt.Sprintf("cut at %d (%t)", at, after)
				kill(t, tt.command, order, at, after)
				stays := func() {
					if left := claimOf(t, order); tt.before != "" && !strings.Contains(name, "unreserve") && (left == nil || left.Bound == nil) {
						t.Errorf("%s: what the order had was let go: %+v", what, left)
					}
				}
				stays()
				if tt.second != nil {
					what += fmt.Sprintf(", then at %d", second)
					kill(t, tt.second, order, second, true)
					stays()
				}
				if now := claimOf(t, bystander); now.ResourceVersion != was.ResourceVersion {
					t.Errorf("%s: the bystander has changed: %+v", what, now)
				}
				if err := final(t.Context(), connect(t), order); err != nil {
					t.Fatalf("%s, again: %v", what, err)
				}
				switch now := claimOf(t, order); {
				case tt.cpu == 0 && now != nil, tt.cpu > 0 && (now == nil || now.Bound == nil || now.Pending != nil || now.Bound.Hold.Total().CPU != tt.cpu):
					t.Fatalf("%s, and again: there is %+v", what, now)
				case tt.won && (now.Bound.Provider != harness.Provider || now.Bound.Expires != ""):
					t.Fatalf("%s, and again: it is not the lease's: %+v", what, now)
				}
				if err := unreserves(t.Context(), connect(t), order); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// A run that is killed between its announcement and its second look stands in the way until what it has announced is over.
func TestKilledBetweenAnnounceAndBind(t *testing.T) {
	free(t)
	harness.Node(t, "between-1", nil, harness.Amounts("1", "8Gi"))
	order, file, dead := newOrder(t), sdl(t, group{resources: small}), make(chan struct{})
	group := groupOf(t, file, order)
	go func() {
		_, _, _ = reservation.New(connect(t, killed(2, true, dead)), config.Default()).Reserve(context.WithoutCancel(t.Context()), order, group, reservation.Options{})
	}()
	<-dead
	pending := claimOf(t, order)
	if pending == nil || pending.Bound != nil || pending.Pending == nil {
		t.Fatalf("left is %+v", pending)
	}
	harness.Run(t.Context(), "state", "orders").Exits(t, 0).Prints(t, "Pending")
	part := *pending.Pending
	part.Expires = time.Now().Add(-time.Minute).UTC().Format(time.RFC3339) // as if the time had passed
	edit(t, order, map[string]any{reserved.AnnotationPending: encoded(t, part)})
	reserve(t, 0, newOrder(t), file)
	if claimOf(t, order) != nil {
		t.Error("what was announced is still there")
	}
}

// A write whose answer is lost is looked up: the command ends as if it had come.
func TestLostAnswers(t *testing.T) {
	free(t)
	harness.Node(t, "lost-1", nil, harness.Amounts("4", "8Gi"))
	file := sdl(t, group{resources: small})
	for n := int64(1); n <= 3; n++ {
		t.Run(fmt.Sprint("write ", n), func(t *testing.T) {
			var writes atomic.Int64
			c := connect(t, through(func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
				answer, err := next.RoundTrip(r)
				if r.Method != http.MethodGet && err == nil && writes.Add(1) == n {
					_ = answer.Body.Close()
					return nil, errors.New("connection reset")
				}
				return answer, err
			}))
			order := newOrder(t)
			orders := reservation.New(c, config.Default())
			claim, outcome, err := orders.Reserve(t.Context(), order, groupOf(t, file, order), reservation.Options{Expires: time.Minute})
			if err != nil || outcome != reservation.Made || claim.Bound == nil {
				t.Fatal(claim, outcome, err)
			}
			if found, err := orders.UnreserveIf(t.Context(), order, func(*reserved.Claim) bool { return true }); !found || err != nil {
				t.Error(found, err)
			}
			if now := claimOf(t, order); now != nil {
				t.Errorf("left is %+v", now)
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
