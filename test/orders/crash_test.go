package orders

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"

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

// requestsOf counts the requests of the ledger that a command makes.
func requestsOf(t *testing.T, do func(*reservation.Orders) error) (n int64) {
	t.Helper()
	var seen atomic.Int64
	c := connect(t, through(func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		if ofLedger(r) {
			seen.Add(1)
		}
		return next.RoundTrip(r)
	}))
	if err := do(reservation.New(c, config.Default())); err != nil {
		t.Fatal(err)
	}
	return seen.Load()
}

// A run that is killed before or after any of its requests takes nothing from anybody else; run again the command does what
// it would have done. So does another order, once what was announced is over.
func TestKilledAtEachRequest(t *testing.T) {
	free(t)
	harness.Node(t, "crash-1", nil, harness.Amounts("4", "8Gi"))
	bystander := newOrder()
	file, larger := sdl(t, group{resources: small}), sdl(t, group{resources: small, count: 3})
	reserve(t, 0, bystander, file)
	was := claimOf(t, bystander)
	reserves := func(file string) func(context.Context, *reservation.Orders, lease.Order) error {
		return func(ctx context.Context, o *reservation.Orders, order lease.Order) error {
			_, _, err := o.Reserve(ctx, order, groupOf(t, file, order), reservation.Options{Expires: 10 * time.Minute})
			return err
		}
	}
	unreserves := func(ctx context.Context, o *reservation.Orders, order lease.Order) error {
		_, err := o.Unreserve(ctx, order)
		return err
	}
	for name, work := range map[string]struct {
		before  string
		command func(context.Context, *reservation.Orders, lease.Order) error
		cpu     uint64
		// requests is how many the command makes of the ledger.
		requests int64
	}{
		"reserve":   {"", reserves(file), 1000, 4},
		"renew":     {file, reserves(file), 1000, 2},
		"move":      {file, reserves(larger), 3000, 4},
		"unreserve": {file, unreserves, 0, 2},
	} {
		t.Run(name, func(t *testing.T) {
			prepared := func() lease.Order {
				order := newOrder()
				if work.before != "" {
					reserve(t, 0, order, work.before, "--expires", "5m")
				}
				return order
			}
			order := prepared()
			last := requestsOf(t, func(o *reservation.Orders) error { return work.command(t.Context(), o, order) })
			harness.Run(t.Context(), "unreserve", "--order", order.String(), "--ignore-not-found").Exits(t, 0)
			for n := range 2 * last {
				at, after := n/2+1, n%2 == 1
				order, dead := prepared(), make(chan struct{})
				go func() {
					_ = work.command(context.WithoutCancel(t.Context()), reservation.New(connect(t, killed(at, after, dead)), config.Default()), order)
				}()
				<-dead
				left := claimOf(t, order)
				if work.before != "" && name == "move" && (left == nil || left.Bound == nil) {
					t.Errorf("cut at %d (%t): the old hold was let go: %+v", at, after, left)
				}
				if now := claimOf(t, bystander); now.ResourceVersion != was.ResourceVersion {
					t.Errorf("cut at %d (%t): the bystander has changed: %+v", at, after, now)
				}
				if err := work.command(t.Context(), reservation.New(connect(t), config.Default()), order); err != nil {
					t.Fatalf("cut at %d (%t), again: %v", at, after, err)
				}
				switch now := claimOf(t, order); {
				case work.cpu == 0 && now != nil, work.cpu > 0 && (now == nil || now.Bound == nil || now.Pending != nil || now.Bound.Hold.Total().CPU != work.cpu):
					t.Fatalf("cut at %d (%t), and again: there is %+v", at, after, now)
				}
				harness.Run(t.Context(), "unreserve", "--order", order.String(), "--ignore-not-found").Exits(t, 0)
			}
			if last != work.requests {
				t.Errorf("%d requests, and %d are enough", last, work.requests)
			}
		})
	}
}

// A run that is killed between its announcement and its second look stands in the way until what it has announced is over.
func TestKilledBetweenAnnounceAndBind(t *testing.T) {
	free(t)
	harness.Node(t, "between-1", nil, harness.Amounts("1", "8Gi"))
	order, file, dead := newOrder(), sdl(t, group{resources: small}), make(chan struct{})
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
	text, err := json.Marshal(part)
	if err != nil {
		t.Fatal(err)
	}
	edit(t, order, map[string]any{reserved.AnnotationPending: string(text)})
	reserve(t, 0, newOrder(), file)
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
			order := newOrder()
			orders := reservation.New(c, config.Default())
			claim, outcome, err := orders.Reserve(t.Context(), order, groupOf(t, file, order), reservation.Options{Expires: time.Minute})
			if err != nil || outcome != reservation.Made || claim.Bound == nil {
				t.Fatal(claim, outcome, err)
			}
			if found, err := orders.Unreserve(t.Context(), order); !found || err != nil {
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
	order := newOrder()
	claim, _, err := reservation.New(c, config.Default()).Reserve(t.Context(), order, groupOf(t, file, order), reservation.Options{Expires: 5 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	if at, err := time.Parse(time.RFC3339, claim.Bound.Expires); err != nil || at.Before(server.Add(5*time.Minute)) || at.After(server.Add(10*time.Minute)) {
		t.Errorf("by a clock of %s it ends at %s", server, claim.Bound.Expires)
	}
	ends(t, order, harness.ServerTime(t).Add(time.Minute))
	other := newOrder()
	if _, _, err := reservation.New(c, config.Default()).Reserve(t.Context(), other, groupOf(t, file, other), reservation.Options{}); err != nil {
		t.Errorf("what is over by the server's clock is in the way: %v", err)
	}
}
