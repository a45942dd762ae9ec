package reconcile_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state/kept"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// migrates asks a reconciler to move things to a lease.
func (s *server) migrates(t *testing.T, what string, to lease.ID, names ...string) (int, string) {
	t.Helper()
	body, err := json.Marshal(map[string]any{what + "s_to_migrate": names, "destination_dseq": to.DSeq, "destination_gseq": to.GSeq})
	if err != nil {
		t.Fatal(err)
	}
	return s.asks(t, http.MethodPost, "/"+what+"/migrate", string(body), "Akash-Owner", to.Owner)
}

// twoLeases are two deployments of an owner, of which the second wants what the first has.
type twoLeases struct {
	*server
	dir           folder
	first, second lease.ID
	hosts         []string
}

// migratable starts a reconciler over two leases, whose caller may migrate. With a proxy it reaches the API server through that.
func migratable(t *testing.T, kubeconfig, rest string) twoLeases {
	t.Helper()
	owner := harness.NewOwner()
	two := twoLeases{
		dir: newFolder(t), first: harness.LeaseOf(owner, 1), second: harness.LeaseOf(owner, 2), hosts: []string{harness.NewHost("kittens"), harness.NewHost("puppies")},
	}
	for _, id := range []lease.ID{two.first, two.second} {
		service := map[uint64]string{1: "web", 2: "hostly-service"}[id.DSeq]
		two.dir.write(t, fmt.Sprintf("%d.yaml", id.DSeq), fmt.Sprintf(`apiVersion: net.akash.network/v1alpha1
kind: LeaseDefinition
metadata: {name: test}
spec:
  lease: {owner: %s, dseq: %d, gseq: 1, oseq: 1, provider: %s}
  services:
  - {name: %s, expose: [{port: 1234, as: 80, global: true, hosts: [%s]}%s]}
%s`, id.Owner, id.DSeq, id.Provider, service, strings.Join(two.hosts, ", "), rest, map[bool]string{true: "  ipEndpoints: [{name: public}, {name: other}]\n"}[rest != ""]))
		if id == two.first { // it is to have them
			harness.Run(t.Context(), "apply", "-f", two.dir.path, "--wait=false", "--config", migrating(t)).Exits(t, 0)
		}
	}
	two.server = serveAs(t, kubeconfig, "http", "", "-f", two.dir.path, "--source", fmt.Sprint("two-", owner[len(owner)-8:]), "--max-deletes=1", "--leader-elect=false",
		"--request-timeout=1s", "--config", migrating(t)).ready(t)
	two.token = account(t, mayPost("/hostname/migrate", "/endpoint/migrate"))
	for _, host := range two.hosts {
		manages(t, two.server, host, two.first)
	}
	harness.Eventually(t, "the second lease's definition is to be kept", func(context.Context) (bool, error) {
		return harness.Find(t, cluster.Leases, "akash-net", kept.Name(two.second.Group())) != nil, nil
	})
	harness.Eventually(t, "the reconciler is to have seen it", func(context.Context) (bool, error) {
		_, text := two.migrates(t, "hostname", two.second, "foobar.org")
		return !strings.Contains(text, "destination deployment does not exist"), nil
	})
	return two
}

func migrating(t *testing.T) string { return harness.Configure(t, "ip: {ranges: [203.0.113.64/28]}") }

// has fails the test unless a lease has a host, in the cluster and as it is told.
func (s twoLeases) has(t *testing.T, id lease.ID, host string) {
	t.Helper()
	manages(t, s.server, host, id)
	for _, one := range []lease.ID{s.first, s.second} {
		routed(t, one, host, one == id)
	}
}

// A lease that does not exist gets nothing (MG-1), nor does one that does not use the host (MG-2).
func TestMG1AndMG2(t *testing.T) {
	two := migratable(t, reconciler, "")
	none := two.second
	none.DSeq = 7
	if status, text := two.migrates(t, "hostname", none, two.hosts[0]); status != http.StatusBadRequest || !strings.Contains(text, "destination deployment does not exist") {
		t.Errorf("MG-1: %d %s", status, text)
	}
	if status, text := two.migrates(t, "hostname", two.second, two.hosts[0], "foobar.org"); status != http.StatusBadRequest ||
		!strings.Contains(text, `the hostname "foobar.org" is not used by this deployment`) {
		t.Errorf("MG-2: %d %s", status, text)
	}
	two.has(t, two.first, two.hosts[0])
	two.Stops(t)
}

// The host that is named moves to the service that uses it, and no other; the lease keeps it when the first one is closed (MG-3, MG-7).
func TestMG3AndMG7(t *testing.T) {
	two := migratable(t, reconciler, "")
	status, text := two.migrates(t, "hostname", two.second, two.hosts[0])
	if want := fmt.Sprintf("{\n  \"transferred\": [\n    %q\n  ]\n}\n", two.hosts[0]); status != http.StatusOK || text != want {
		t.Fatalf("%d %s", status, text)
	}
	two.has(t, two.second, two.hosts[0])
	two.has(t, two.first, two.hosts[1])
	if one := manages(t, two.server, two.hosts[0], two.second); one.ServiceName != "hostly-service" || one.ExternalPort != 80 {
		t.Errorf("%+v", one)
	}
	if status, text := two.migrates(t, "hostname", two.second, two.hosts[0]); status != http.StatusOK {
		t.Errorf("once more: %d %s", status, text)
	}
	two.dir.remove(t, two.first)
	released(t, two.first)
	two.has(t, two.second, two.hosts[0])
	two.has(t, two.second, two.hosts[1]) // it was withheld
	two.Stops(t)
}

// A host of another owner is refused, with all that was asked for beside it.
func TestMigrateOfAnotherOwner(t *testing.T) {
	two := migratable(t, reconciler, "")
	theirs, other := harness.NewHost("theirs"), harness.LeaseOf(harness.NewOwner(), 1)
	harness.Run(t.Context(), "apply", "-f", harness.Define(t, other, []string{"{name: web, expose: [{port: 80, global: true, hosts: [" + theirs + "]}]}"}, nil), "--wait=false").Exits(t, 0)
	if status, _ := two.migrates(t, "hostname", other, two.hosts[0]); status != http.StatusBadRequest {
		t.Errorf("a host that the lease does not use: %d", status)
	}
	to := two.second
	to.Owner = other.Owner
	if status, text := two.migrates(t, "hostname", to, theirs); status != http.StatusBadRequest || !strings.Contains(text, "destination deployment does not exist") {
		t.Errorf("a lease of another owner: %d %s", status, text)
	}
	two.has(t, two.first, two.hosts[0])
	two.Stops(t)
}

// If reading fails nothing is moved (MG-4), and if writing does (MG-5). The same request does it when the API server answers again.
func TestMG4AndMG5(t *testing.T) {
	var reads, writes atomic.Bool
	ofLedger := func(r *http.Request) bool { return strings.Contains(r.URL.Path, "/namespaces/akash-net/leases") }
	first := cutting(t, &reads, func(r *http.Request) bool {
		return r.Method == http.MethodGet && ofLedger(r) && r.URL.Query().Get("watch") == ""
	})
	for name, tt := range map[string]struct {
		cut *atomic.Bool
		url string
	}{
		"MG-4": {&reads, first},
		"MG-5": {&writes, cutting(t, &writes, func(r *http.Request) bool { return r.Method == http.MethodPatch && ofLedger(r) })},
	} {
		two := migratable(t, harness.Kubeconfig(t, tt.url), "")
		tt.cut.Store(true)
		if status, text := two.migrates(t, "hostname", two.second, two.hosts[0]); status != http.StatusInternalServerError {
			t.Errorf("%s: %d %s", name, status, text)
		}
		tt.cut.Store(false)
		two.has(t, two.first, two.hosts[0])
		harness.Eventually(t, "it is to be moved", func(context.Context) (bool, error) {
			status, _ := two.migrates(t, "hostname", two.second, two.hosts[0])
			return status == http.StatusOK, nil
		})
		two.has(t, two.second, two.hosts[0])
		two.Stops(t)
	}
}

// The endpoint that is named moves with all of its ports, and no other. If its Service cannot be written, that is said (MG-6).
func TestMG6(t *testing.T) {
	var cut atomic.Bool
	url := cutting(t, &cut, func(r *http.Request) bool {
		return r.Method == http.MethodPatch && strings.Contains(r.URL.Path, "/services/")
	})
	two := migratable(t, harness.Kubeconfig(t, url), ", {port: 82, as: 82, global: true, ip: public}, {port: 81, as: 81, global: true, ip: other}")
	service := func(id lease.ID, port int) bool {
		return harness.Find(t, kinds.Service.Resource(), id.Namespace(), fmt.Sprintf("%s-ip-%d-tcp", map[uint64]string{1: "web", 2: "hostly-service"}[id.DSeq], port)) != nil
	}
	if status, text := two.migrates(t, "endpoint", two.second, "none"); status != http.StatusBadRequest ||
		!strings.Contains(text, `the endpoint "none" does not exist in the destination deployment`) {
		t.Errorf("%d %s", status, text)
	}
	cut.Store(true)
	if status, text := two.migrates(t, "endpoint", two.second, "public"); status != http.StatusInternalServerError {
		t.Errorf("%d %s", status, text)
	}
	cut.Store(false)
	harness.Eventually(t, "it is to be moved", func(context.Context) (bool, error) {
		status, _ := two.migrates(t, "endpoint", two.second, "public")
		return status == http.StatusOK, nil
	})
	harness.Eventually(t, "the second lease is to have the one endpoint", func(context.Context) (bool, error) {
		return service(two.second, 82) && !service(two.first, 82) && service(two.first, 81) && !service(two.second, 81), nil
	})
	two.Stops(t)
}
