package sim

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/akash-net/kubectl-akash-net/apply"
	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/apply/migrate"
	"github.com/akash-net/kubectl-akash-net/apply/repair"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
)

// Commands work on sixteen leases at once. The race detector watches them (make test).
func TestSixteenLeasesAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, sixteenAtOnce)
}

func sixteenAtOnce(t *testing.T) {
	server := furnished(t)
	if err := server.ServeAll(); err != nil {
		t.Fatal(err)
	}
	cfg := settings()
	wide, err := config.ParseRange("10.0.0.0/26")
	if err != nil {
		t.Fatal(err)
	}
	cfg.IP.Ranges.Include = []config.Range{wide}
	var defs []*lease.Definition
	var groups, others []lease.Group
	for i := range uint64(16) {
		c := &invocation{id: leaseOf("a", 100+i), hosts: []string{fmt.Sprintf("h%d.example.com", i), fmt.Sprintf("h%d.example.org", i)}, endpoint: true}
		defs, groups, others = append(defs, c.definition()), append(groups, c.id.Group()), append(others, leaseOf("a", 200+i).Group())
		addNamespace(t, server, c.id.Namespace())
	}
	opts := func(target string) command.Options {
		cfg := *cfg
		cfg.Target = target
		return command.Options{Config: &cfg, Prune: true, Concurrency: 16, AssumeServing: true}
	}
	done := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	c := connected(t, server.RoundTrip)
	routes := func(plural string, want int) {
		t.Helper()
		if n := len(server.Objects(plural)); n != want {
			t.Fatalf("%d %s, want %d", n, plural, want)
		}
	}
	done("apply", apply.New(c, opts(config.TargetIngress)).Apply(t.Context(), defs))
	routes("ingresses", 32)
	for _, to := range []string{config.TargetHTTPRoute, config.TargetIngress} {
		m, err := migrate.Plan(t.Context(), command.New(c, opts(to)), func(lease.ID) bool { return true }, migrate.Options{})
		done("plan of a migration", err)
		done("migrate to "+to, m.Run(t.Context()))
	}
	routes("ingresses", 32)
	routes("httproutes", 0)
	for _, o := range server.Objects("ingresses")[:16] {
		deleteObject(t, server, "/apis/networking.k8s.io/v1/namespaces/"+o.GetNamespace()+"/ingresses/"+o.GetName())
	}
	time.Sleep(5 * time.Minute) // in the bubble's time
	done("repair", repair.Repair(t.Context(), apply.New(c, opts(config.TargetIngress)), repair.Options{CrashedAfter: crash, Definitions: defs}))
	routes("ingresses", 32)
	var changed []*lease.Definition
	for i, def := range defs { // each lease gives a host to the next one
		c := &invocation{id: def.Lease, hosts: []string{fmt.Sprintf("h%d.example.com", i), fmt.Sprintf("h%d.example.org", (i+1)%16)}}
		changed = append(changed, c.definition())
	}
	done("apply of what leases give each other", apply.New(c, opts(config.TargetIngress)).Apply(t.Context(), changed))
	done("release", apply.New(c, opts(config.TargetIngress)).Release(t.Context(), slices.Concat(groups, others)))
	for _, o := range server.Objects("leases") {
		if !strings.HasPrefix(o.GetName(), "df--") {
			t.Errorf("%s is left", o.GetName())
		}
	}
	routes("ingresses", 0)
}

// Of what leases share, one of them tells.
func TestSharedPoolIsToldOnce(t *testing.T) {
	t.Parallel()
	server := furnished(t)
	var defs []*lease.Definition
	for _, owner := range []string{"a", "b", "c"} {
		c := &invocation{id: leaseOf(owner, 100), hosts: []string{owner + ".example.com"}, endpoint: true}
		defs = append(defs, c.definition())
		addNamespace(t, server, c.id.Namespace())
	}
	told := map[string]int{}
	opts := command.Options{Config: settings(), Prune: true, Concurrency: 16, Report: func(e report.Event) {
		if strings.HasPrefix(e.Name, "akash-net-") {
			told[fmt.Sprint(e.Action, " ", e.Kind)]++
		}
	}}
	for range 2 {
		if err := apply.New(connected(t, server.RoundTrip), opts).Apply(t.Context(), defs); err != nil {
			t.Fatal(err)
		}
		for _, o := range server.Objects("ingresses") { // so that the second one has its turn
			deleteObject(t, server, "/apis/networking.k8s.io/v1/namespaces/"+o.GetNamespace()+"/ingresses/"+o.GetName())
		}
	}
	want := map[string]int{"created ipaddresspool": 1, "created l2advertisement": 1, "unchanged ipaddresspool": 1, "unchanged l2advertisement": 1}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Error(diff)
	}
}

func deleteObject(t *testing.T, server *Server, path string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, "http://sim"+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if response, err := server.RoundTrip(r); err != nil || response.StatusCode != http.StatusOK { //nolint:bodyclose // it is in memory
		t.Fatal(err, response)
	}
}
