package reconcile_test

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// foreign are the beginnings of the names of metrics that are not ours, as they are documented.
var foreign = []string{"controller_runtime_", "workqueue_", "rest_client_", "leader_election_", "certwatcher_", "go_", "process_"}

// Prometheus gets what happens: a lease that is applied, and one that fails. promtool has nothing against our metrics, and there are no
// others than those that are documented.
func TestHTTPMetrics(t *testing.T) {
	dir, id, other, host := newFolder(t), harness.LeaseOf(harness.NewOwner(), 1), harness.LeaseOf(harness.NewOwner(), 1), harness.NewHost("metrics")
	theirs := harness.NewHost("theirs")
	harness.Run(t.Context(), "reserve", theirs, "--lease", other.String()).Exits(t, 0)
	dir.define(t, id, host)
	failing := lease.ID{Owner: id.Owner, DSeq: 2, GSeq: 1, OSeq: 1, Provider: id.Provider}
	dir.define(t, failing, theirs)
	s := serve(t, "-f", dir.path)
	manages(t, s, host, id)
	fails(t, s, failing, 1)
	status, text := s.asks(t, http.MethodGet, "/metrics", "")
	if status != http.StatusOK {
		t.Fatalf("%d %s", status, text)
	}
	problems, err := promlint.New(strings.NewReader(text)).Lint()
	if err != nil {
		t.Error(err)
	}
	for _, p := range problems {
		if strings.HasPrefix(p.Metric, "akash_net_") {
			t.Error(p)
		}
	}
	for _, name := range regexp.MustCompile(`(?m)^# TYPE (\S+)`).FindAllStringSubmatch(text, -1) {
		if !strings.HasPrefix(name[1], "akash_net_") && !slices.ContainsFunc(foreign, func(prefix string) bool { return strings.HasPrefix(name[1], prefix) }) {
			t.Errorf("%s is not documented", name[1])
		}
	}
	for _, want := range []string{
		`(?m)^akash_net_failing_leases 1$`, `(?m)^akash_net_hosts\{state="Active"\} [1-9]`, `(?m)^akash_net_leases\{state="Active"\} [1-9]`,
		`(?m)^akash_net_commands_total\{action="apply",result="failed"\} [1-9]`, `(?m)^akash_net_command_duration_seconds_count\{action="apply"\} [1-9]`,
	} {
		if !regexp.MustCompile(want).MatchString(text) {
			t.Errorf("nothing is %s", want)
		}
	}
	s.Stops(t)
}
