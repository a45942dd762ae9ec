package ledger_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// kill ends the API server at one of a run's requests, before it arrives or before it is answered, and then does what is to be done.
func kill(t *testing.T, at int, after bool, then func()) *nth {
	t.Helper()
	return &nth{at: at, do: func(next http.RoundTripper, r *http.Request) (*http.Response, error) {
		if after {
			if response, err := next.RoundTrip(r); err == nil {
				_ = response.Body.Close()
			}
		}
		if err := harness.Plane.KillAPIServer(); err != nil {
			t.Error(err)
		}
		if then(); after {
			return nil, io.ErrUnexpectedEOF
		}
		return next.RoundTrip(r)
	}}
}

// points are requests of a run at which something is to happen: some of them, or all.
func points(last int) (out []int) {
	if !long() {
		return []int{last / 2, last - 1}
	}
	for at := 2; at <= last; at++ {
		out = append(out, at)
	}
	return out
}

// again runs the command once more than needed: the first run makes what all leases share, and stays.
func again(t *testing.T, w work, cfg *config.ProviderConfig) (requests int, outcome []string) {
	t.Helper()
	uncut(t, w, cfg)
	return uncut(t, w, cfg)
}

// An API server that is killed and started again in the middle of a run is waited for, and the run
// ends as if nothing had been.
func TestRestartOfTheAPIServer(t *testing.T) {
	for _, w := range works() {
		t.Run(w.name, func(t *testing.T) {
			cfg := settings(t, w.addresses)
			cfg.Target = config.TargetIngress
			last, want := again(t, w, cfg)
			for i, at := range points(last) {
				prepare(t, w, cfg)
				started, after := make(chan error, 1), i%2 == 1
				k := kill(t, at, after, func() {
					go func() { started <- harness.Plane.StartAPIServer() }()
				})
				err := w.command(t.Context(), w.client(t, cfg, k.through))
				if k.what == "" {
					t.Fatalf("the run has ended (%v) before request %d of %d", err, at, last)
				}
				if err := <-started; err != nil {
					t.Fatal(err)
				}
				where := fmt.Sprintf("restarted at %d of %d, %s, after it: %v", at, last, k.what, after)
				if err != nil {
					t.Errorf("%s: %v", where, err)
				}
				invariants(t, w, where)
				if diff := cmp.Diff(want, written(t, w.name)); diff != "" {
					t.Errorf("%s (-want +got):\n%s", where, diff)
				}
			}
		})
	}
}

// Where the API server stays away the run says so, and what it has done; the same command finishes
// the work when the server is back.
func TestAPIServerStaysAway(t *testing.T) {
	onlyLong(t)
	for _, w := range works() {
		t.Run(w.name, func(t *testing.T) {
			cfg := settings(t, w.addresses)
			cfg.Target = config.TargetIngress
			last, want := again(t, w, cfg)
			prepare(t, w, cfg)
			k := kill(t, last-1, false, func() {})
			impatient := func(connection *rest.Config) {
				k.through(connection)
				connection.Timeout = 3 * time.Second
			}
			c := w.client(t, cfg, impatient)
			err := w.command(t.Context(), c)
			if err := harness.Plane.StartAPIServer(); err != nil {
				t.Fatal(err)
			}
			ended, ok := errors.AsType[*report.LeaseError](err)
			if !ok || !cluster.IsAway(err) || len(ended.Done) == 0 {
				t.Fatalf("at %s: want that the server is away and what was done, got %v", k.what, err)
			}
			for _, e := range c.events {
				if change := fmt.Sprintf("%s/%s %s", e.Kind, e.Name, e.Action); e.Action == report.Claimed && !slices.Contains(ended.Done, change) {
					t.Errorf("%q is not among what was done: %q", change, ended.Done)
				}
			}
			invariants(t, w, "")
			if err := w.command(t.Context(), w.client(t, cfg)); err != nil {
				t.Errorf("one more run: %v", err)
			}
			if diff := cmp.Diff(want, written(t, w.name)); diff != "" {
				t.Errorf("after one more run (-want +got):\n%s", diff)
			}
		})
	}
}
