package repair

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/akash-net/kubectl-akash-net/apply"
	"github.com/akash-net/kubectl-akash-net/apply/command"
	ot "github.com/akash-net/kubectl-akash-net/engine/observed/observedtest"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/test/sim/simtest"
)

// crashed is a cluster in which a command for shop and next has crashed, once it had claimed a host for the one that holds another by now,
// and has an object in the ledger that cannot be read.
func crashed(t *testing.T) (s *simtest.Server, opts command.Options) {
	t.Helper()
	opts = command.Options{Config: config.Default(), Concurrency: 1}
	s = simtest.New(t, opts.Config.LedgerNamespace, opts.Config.IP.MetalLBNamespace, opts.Config.ManifestNamespace)
	taken := 0
	s.After = func(method, path string) (int, bool) {
		if method == http.MethodPatch && strings.Contains(path, "/leases/") && strings.HasSuffix(path, ".example.com") {
			taken++
		}
		return 0, false
	}
	s.Before = func(string, string) (int, bool) { return 0, taken > 0 }
	var requests []state.Request
	for i, id := range []lease.ID{ot.Shop, ot.Next} {
		request, problems := state.NamedRequest(id, []string{[]string{"a.example.com", "b.example.com"}[i]}, nil, "", opts.Config)
		if problems.Failed() {
			t.Fatal(problems)
		}
		requests = append(requests, request)
	}
	if err := apply.New(s.Connect(), opts).Reserve(t.Context(), requests); err == nil || taken == 0 {
		t.Fatalf("it has not crashed: %d hosts taken, %v", taken, err)
	}
	s.Before, s.After = nil, nil
	at := "/apis/coordination.k8s.io/v1/namespaces/" + opts.Config.LedgerNamespace + "/leases/torn.example.com"
	s.Put("test", at, map[string]any{
		"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
		"metadata": map[string]any{"name": "torn.example.com", "labels": map[string]any{state.LabelKind: string(state.Host)}},
	})
	time.Sleep(time.Hour)
	return s, opts
}

// A crashed command is over with what it has claimed, also for the deployment groups of which it had claimed nothing; a dry run says so, and
// neither says that what is to be decided has gone.
func TestCrashedCommandIsOver(t *testing.T) {
	for _, dryRun := range []string{"", command.DryRunClient} {
		synctest.Test(t, func(t *testing.T) {
			s, opts := crashed(t)
			var told []string
			opts.DryRun, opts.Report = dryRun, func(e report.Event) {
				if e.Action != report.Waiting {
					told = append(told, e.Kind+"/"+e.Name+" "+string(e.Action))
				}
			}
			err := Repair(t.Context(), apply.New(s.Connect(), opts), Options{CrashedAfter: time.Minute})
			if want := []string{"UnreadableClaim/torn.example.com skipped", "CrashedRun/a.example.com repaired"}; err == nil || !slices.Equal(told, want) {
				t.Errorf("%q: %v: %q", dryRun, err, told)
			}
			var there []string
			for _, o := range s.Objects("leases") {
				there = append(there, o.GetName())
			}
			if dryRun == "" && !slices.Equal(there, []string{"torn.example.com"}) {
				t.Errorf("the ledger has %q", there)
			}
		})
	}
}
