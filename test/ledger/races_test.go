package ledger_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// Two runs of two owners, each with a host below the wildcard that the other wants: both have all but
// the last word when they look for hosts. One of them wins.
func TestCrossingRunsDoNotBothLose(t *testing.T) {
	cfg := settings(t, "10.235.0.0/29")
	names := []string{"crossa", "crossb"}
	var met sync.WaitGroup
	met.Add(len(names))
	results := make([]error, len(names))
	var runs sync.WaitGroup
	for i, name := range names {
		var once sync.Once
		c := newClient(t, cfg, func(connection *rest.Config) {
			connection.Wrap(func(next http.RoundTripper) http.RoundTripper {
				return roundTripper(func(r *http.Request) (*http.Response, error) {
					if strings.Contains(r.URL.RawQuery, "kind%3Dhost") {
						once.Do(func() {
							met.Done()
							met.Wait()
						})
					}
					return next.RoundTrip(r)
				})
			})
		})
		host, wildcard := fmt.Sprintf("a.x%d.cross.example.com", i), fmt.Sprintf("*.x%d.cross.example.com", 1-i)
		runs.Go(func() { results[i] = c.reserve(t.Context(), leaseOf(name, 1), "", host, wildcard) })
	}
	runs.Wait()
	won := 0
	for i, name := range names {
		claimed := len(written(t, name))
		switch held := (*report.HeldError)(nil); {
		case results[i] == nil && claimed == 2:
			won++
		case !errors.As(results[i], &held) || claimed != 0:
			t.Errorf("%s: %v, and has %d claims", name, results[i], claimed)
		}
	}
	if won != 1 {
		t.Errorf("%d of the runs have won: %v", won, results)
	}
}

// A claim that changes between the transfer's decision and its write is decided on anew, with what has
// come; one that went to another owner ends the transfer, and what had moved goes back.
func TestTransferDecidesAnew(t *testing.T) {
	const a, b = "a.anew.example.com", "b.anew.example.com"
	for name, lost := range map[string]bool{"a path has come": false, "it is another owner's": true} {
		t.Run(name, func(t *testing.T) {
			cfg := settings(t, "10.236.0.0/29")
			from, to, other := leaseOf("anew", 1), leaseOf("anew", 2), leaseOf("anewother", 1)
			c := newClient(t, cfg)
			for _, host := range []string{a, b} {
				if err := c.reserve(t.Context(), from, "", host); err != nil {
					t.Fatal(err)
				}
			}
			mover := newClient(t, cfg, behind(b, func() {
				var err error
				if lost { // deleted by hand: a release would wait for the transfer
					err = harness.Objects.Resource(leases).Namespace(ledgerNamespace).Delete(t.Context(), b, metav1.DeleteOptions{})
					err = errors.Join(err, c.reserve(t.Context(), other, "", b))
				} else {
					err = c.reserve(t.Context(), leaseOf("anew", 3), "", b+"/path")
				}
				if err != nil {
					t.Error(err)
				}
			}))
			err := mover.applier().Transfer(t.Context(), to, []string{a, b}, nil)
			if _, ok := errors.AsType[*report.HeldError](err); ok != lost || err != nil && !lost {
				t.Errorf("error %v", err)
			}
			text := strings.Join(written(t, "anew"), "\n")
			for dseq, want := range map[int]int{1: 0, 2: 3, 3: 0} {
				if lost {
					want = map[int]int{1: 1}[dseq]
				}
				if got := strings.Count(text, fmt.Sprintf(`{\"lease\":\"%s/%d/`, owner("anew"), dseq)); got != want {
					t.Errorf("deployment %d holds %d parts, want %d:\n%s", dseq, got, want, text)
				}
			}
			if runMark.MatchString(text) {
				t.Errorf("a mark stays:\n%s", text)
			}
			if err := c.applier().Release(t.Context(), []lease.Group{from.Group(), to.Group(), leaseOf("anew", 3).Group(), other.Group()}); err != nil {
				t.Error(err)
			}
		})
	}
}

// A transfer whose definition cannot be had moves nothing.
func TestTransferWithoutItsRoutes(t *testing.T) {
	const host, other = "a.kept.example.com", "b.kept.example.com"
	cfg := settings(t, "10.237.0.0/29")
	from, to := leaseOf("kept", 1), leaseOf("kept", 2)
	c := newClient(t, cfg)
	if err := errors.Join(c.reserve(t.Context(), from, "", host), c.reserve(t.Context(), leaseOf("keptother", 1), "", other)); err != nil {
		t.Fatal(err)
	}
	err := c.applier().Transfer(t.Context(), to, []string{host}, definition(to, "", host, other))
	if _, ok := errors.AsType[*report.HeldError](err); !ok {
		t.Errorf("want %s held, got %v", other, err)
	}
	left := written(t, "kept")
	if len(left) != 1 || !strings.Contains(left[0], owner("kept")+"/1/") || runMark.MatchString(left[0]) {
		t.Errorf("want %s held by deployment 1, without a mark, got %v", host, left)
	}
}
