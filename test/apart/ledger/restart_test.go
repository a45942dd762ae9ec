package ledger_test

import (
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/akash-net/kubectl-akash-net/lease/config"
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
