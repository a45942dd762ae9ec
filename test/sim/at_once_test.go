package sim

import (
	"fmt"
	"maps"
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

// Three leases tell of each of their objects once, whatever was done with it, and one of them of the pool that they share.
func TestEachObjectIsToldOnce(t *testing.T) {
	t.Parallel()
	server := furnished(t)
	var defs, fewer []*lease.Definition
	for _, owner := range []string{"a", "b", "c"} {
		c := &invocation{id: leaseOf(owner, 100), hosts: []string{owner + ".example.com"}, endpoint: true}
		fewer = append(fewer, c.definition())
		c.hosts = append(c.hosts, owner+".example.org")
		defs = append(defs, c.definition())
		addNamespace(t, server, c.id.Namespace())
	}
	var told []string
	opts := command.Options{Config: settings(), Prune: true, Concurrency: 16, Report: func(e report.Event) { told = append(told, fmt.Sprint(e.Action, " ", e.Kind)) }}
	for _, of := range []struct {
		what, pool, other string
		want              map[string]int // of routes and ProviderHosts
		defs              []*lease.Definition
	}{
		{"new", "created", "created", map[string]int{"created ingress": 6, "created providerhost": 6}, defs},
		{"unchanged", "unchanged", "unchanged", map[string]int{"unchanged ingress": 6, "unchanged providerhost": 6}, defs},
		{"without routes", "unchanged", "unchanged", map[string]int{"created ingress": 6, "unchanged providerhost": 6}, defs},
		{"a host goes", "unchanged", "configured", map[string]int{"configured ingress": 3, "configured providerhost": 3, "pruned ingress": 3, "pruned providerhost": 3}, fewer},
	} {
		if of.what == "without routes" {
			for _, o := range server.Objects("ingresses") {
				deleteObject(t, server, "/apis/networking.k8s.io/v1/namespaces/"+o.GetNamespace()+"/ingresses/"+o.GetName())
			}
		}
		told = nil
		if err := apply.New(connected(t, server.RoundTrip), opts).Apply(t.Context(), of.defs); err != nil {
			t.Fatal(err)
		}
		times := map[string]int{}
		for _, one := range told {
			first := map[bool]string{false: of.other + " providerhost", true: "configured ingress"}[strings.HasPrefix(one, "pruned ")]
			if times[one]++; strings.HasSuffix(one, " ingress") && times[first] == 0 {
				t.Errorf("%s: %s is told of before what was written before it", of.what, one)
			}
		}
		for _, kind := range []string{"providerleasedip", "service"} {
			of.want[of.other+" "+kind] = 3
		}
		for _, kind := range []string{"ipaddresspool", "l2advertisement"} {
			of.want[of.pool+" "+kind] = 1
		}
		maps.DeleteFunc(times, func(one string, _ int) bool {
			_, known := of.want[one]
			return !known && (strings.HasSuffix(one, " host") || strings.HasSuffix(one, " address") || strings.HasSuffix(one, " lease"))
		})
		if diff := cmp.Diff(of.want, times); diff != "" {
			t.Errorf("%s (-want +told):\n%s", of.what, diff)
		}
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
