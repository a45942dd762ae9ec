package sim

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/akash-net/kubectl-akash-net/apply"
	"github.com/akash-net/kubectl-akash-net/apply/backup"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
)

// While a host is restored, another owner claims the wildcard over it: the host is taken back, and what else was in the backup is restored.
func TestRestoreBesideAWildcard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, mine, other := newScene(t), leaseOf("a", 1), leaseOf("b", 1)
		s.apply(mine, false, "a.example.com", "a.example.org")
		ledger := s.opts.Config.LedgerNamespace
		backed, err := backup.Read(t.Context(), connected(t, s.server.RoundTrip), ledger)
		if err != nil {
			t.Fatal(err)
		}
		s.must(func(a *apply.Applier) error { return a.Release(t.Context(), []lease.Group{mine.Group()}) })
		met := false
		through := connected(t, func(r *http.Request) (*http.Response, error) {
			if !met && r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/leases") {
				met = true
				s.apply(other, false, "*.example.com")
			}
			return s.server.RoundTrip(r)
		})
		restorer := &backup.Restorer{Cluster: through, Namespace: ledger, Concurrency: 1, Report: func(report.Event) {}}
		err = restorer.Restore(t.Context(), backed.Records)
		if held, is := errors.AsType[*backup.HeldError](err); !met || !is || !strings.Contains(held.By, "*.example.com") {
			t.Errorf("%v", err)
		}
		var names []string
		for _, o := range s.server.Objects("leases") {
			names = append(names, o.GetName())
		}
		if slices.Contains(names, "a.example.com") || !slices.Contains(names, "a.example.org") || !slices.Contains(names, "wc--any.example.com") {
			t.Errorf("the ledger has %q", names)
		}
	})
}
