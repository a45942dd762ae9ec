package live

import (
	"net/netip"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/apply/executor"
	"github.com/akash-net/kubectl-akash-net/engine/observed"
	ot "github.com/akash-net/kubectl-akash-net/engine/observed/observedtest"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/test/golden"
)

const shop = "shop.example.com"

// The first router that accepts a route is told, with a backend that it does not find, unless nothing was changed.
func TestReportAccepted(t *testing.T) {
	accepted := state.Report{By: "gw/a", Verdict: state.RouteAccepted}
	unresolved := state.Report{By: "gw/b", Verdict: state.RouteAccepted, Unresolved: "no service web"}
	stale := state.Report{By: "gw/c", Verdict: state.RouteAccepted, Stale: "gone"}
	for name, tt := range map[string]struct {
		reports []state.Report
		changed bool
		want    []string
	}{
		"accepted":                 {[]state.Report{stale, accepted, unresolved}, true, []string{"by gw/a"}},
		"accepted, and unresolved": {[]state.Report{unresolved}, true, []string{"by gw/b, which does not find its backend yet (no service web)"}},
		"by nobody":                {[]state.Report{stale}, true, nil},
		"nothing was changed":      {[]state.Report{accepted}, false, nil},
	} {
		var got []string
		x := executor.New(&command.Command{Options: command.Options{Report: func(e report.Event) {
			if e.Action == report.Accepted {
				got = append(got, e.Message)
			}
		}}}, state.Request{Lease: ot.Shop})
		if tt.changed {
			x.Event(report.Created, "httproute", "ns", "shop", "")
		}
		reportAccepted(x, render.Object{Kind: kinds.HTTPRoute, Namespace: "ns", Name: "shop"}, tt.reports)
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// A route that was accepted when it was read is not waited for again.
func TestAcceptedAlready(t *testing.T) {
	judged := func(verdict string) *unstructured.Unstructured {
		o := ot.Object(kinds.Route, ot.Shop, shop, map[string]any{"host": shop})
		if verdict != "" {
			o.Object["status"] = map[string]any{"ingress": []any{map[string]any{"host": shop, "routerName": "default", "conditions": []any{map[string]any{"type": "Admitted", "status": verdict}}}}}
		}
		return o
	}
	for name, tt := range map[string]struct {
		live *unstructured.Unstructured
		want bool
	}{
		"it is not there": {nil, false}, "accepted": {judged("True"), true}, "refused": {judged("False"), false}, "nobody reports on it": {judged(""), true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := acceptedAlready(tt.live); got != tt.want {
				t.Errorf("accepted: %t, want %t", got, tt.want)
			}
		})
	}
}

// A lease is known to serve as defined where somebody reports on each route, and Akash's operator gives it the options of
// the definition.
func TestAcceptedIsKnown(t *testing.T) {
	route := ot.Object(kinds.Route, ot.Shop, shop, map[string]any{"host": shop})
	exposed := map[string]any{"port": int64(80), "external_port": int64(80), "global": true, "http_options": map[string]any{
		"max_body_size": int64(1048576), "read_timeout": int64(5000), "send_timeout": int64(60000), "next_tries": int64(3), "next_cases": []any{"error", "timeout"},
	}}
	manifest := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"group": map[string]any{"services": []any{
		map[string]any{"name": "web", "count": int64(1), "expose": []any{exposed}},
	}}}}}
	for name, tt := range map[string]struct {
		routed  *unstructured.Unstructured
		changed bool
		timeout time.Duration
		want    bool
	}{
		"nobody reports on a changed lease":   {route, true, 0, false},
		"nobody reports, nothing has changed": {route, false, 0, true},
		"an Ingress, on which nobody reports": {ot.Ingress(ot.Shop, shop, "/"), true, 0, true},
		"the operator gives other options":    {ot.Ingress(ot.Shop, shop, "/"), true, time.Minute, false},
		"the operator gives these options":    {ot.Ingress(ot.Shop, shop, "/"), true, 5 * time.Second, true},
	} {
		x := executor.New(&command.Command{Options: command.Options{Config: config.Default(), Report: func(report.Event) {}}}, state.Request{Lease: ot.Shop})
		x.Snapshot = ot.Snapshot(nil, route)
		x.Snapshot.Operators.Hostname, x.Snapshot.Manifests = tt.timeout > 0, observed.Manifests{ot.Shop.Namespace(): manifest}
		if tt.changed {
			x.Event(report.Created, "ingress", "ns", "shop", "")
		}
		l := &Lease{X: x, Desired: []render.Object{cluster.Applicable(kinds.Of(tt.routed.GetKind()), tt.routed)}, Definition: &lease.Definition{
			Lease: ot.Shop, Services: []lease.Service{{Name: "web", Expose: []lease.Expose{{Port: 80, Protocol: lease.TCP, Global: true, Hosts: []lease.Host{{Name: shop}}, HTTP: lease.HTTPOptions{ReadTimeout: tt.timeout}}}}},
		}}
		if known, err := l.Accepted(t.Context()); err != nil || known != tt.want {
			t.Errorf("%s: known is %t, %v", name, known, err)
		}
	}
}

// The message of a timeout names each Service, its addresses, and who uses these.
func TestMissingGrants(t *testing.T) {
	one, two := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("2001:db8::1")
	got := golden.Cases{}
	for name, c := range map[string]struct {
		waiting   map[string][]netip.Addr
		squatters map[netip.Addr][]string
	}{
		"no Service waits": {},
		"in pool mode a Service waits for any address": {map[string][]netip.Addr{"a": nil}, nil},
		"a Service waits for two addresses":            {map[string][]netip.Addr{"a": {one, two}}, nil},
		"others use the addresses":                     {map[string][]netip.Addr{"a": {one, two}}, map[netip.Addr][]string{one: {"x has it"}, two: {"y has it"}}},
		"Services are sorted":                          {map[string][]netip.Addr{"b": {one}, "a": {one}}, nil},
	} {
		for _, text := range missingGrants("ns", c.waiting, c.squatters) {
			got[name] += text + "\n"
		}
	}
	got.Check(t, "testdata/grants.golden")
}
