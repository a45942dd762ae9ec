package soak_test

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const (
	one   = "akash1one"
	other = "akash1other"
)

// claimed is a claim as it stands in the cluster.
func claimed(name, kind, owner string, parts map[string]part) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"holderIdentity": owner}}}
	o.SetName(name)
	o.SetLabels(map[string]string{domainName + "kind": kind, domainName + "owner": owner})
	annotations := map[string]string{domainName + "ledger": "v1", domainName + "sharing-key": ""}
	if kind == "address" {
		annotations[domainName+"sharing-key"] = owner + "-ip-public"
	}
	for key, p := range parts {
		text, err := json.Marshal(p)
		if err != nil {
			panic(err)
		}
		annotations[key] = string(text)
	}
	o.SetAnnotations(annotations)
	return o
}

// The audit finds nothing in a sound ledger, and each fault.
func TestAudit(t *testing.T) {
	const root, tcp = "route.net.akash.network/root", "port.net.akash.network/tcp-443"
	type world struct {
		runs   map[string]bool
		leases []*unstructured.Unstructured
		routes []route
	}
	web := part{Lease: one + "/1/1/1/p", Path: "/", Service: "web", Port: 80}
	sound := func() world {
		group := one + "/1/1"
		return world{
			map[string]bool{},
			[]*unstructured.Unstructured{
				claimed("a.example.com", "host", one, map[string]part{root: web}),
				claimed("wc--any.example.com", "wildcard", one, map[string]part{root: {Lease: one + "/2/1/1/p", Path: "/", Bound: true}}),
				claimed("ip--10-0-0-1", "address", one, map[string]part{tcp: {Lease: one + "/1/1/1/p", Service: "web", Port: 8443}}),
			},
			[]route{
				{kind: "ProviderHost", name: "a.example.com", group: group, owner: one, definition: "d", thing: "a.example.com", key: "/"},
				{kind: "Ingress", name: "a.example.com", group: group, owner: one, definition: "d", thing: "a.example.com", key: "/", service: "web", port: 80},
				{kind: "ProviderLeasedIP", name: "l", group: group, owner: one, definition: "d", thing: "providerleasedip/l", key: "tcp-443", sharingKey: one + "-ip-public"},
				{kind: "Service", name: "s", group: group, owner: one, definition: "d", thing: "10.0.0.1", key: "tcp-443", sharingKey: one + "-ip-public", service: "web", port: 8443},
			},
		}
	}
	host := func(w *world, name, owner string, p part) {
		w.leases = append(w.leases, claimed(name, "host", owner, map[string]part{root: p}))
	}
	for name, test := range map[string]struct {
		spoil func(*world)
		want  []string
	}{
		"sound":        {func(*world) {}, nil},
		"no parts":     {func(w *world) { w.leases[0] = claimed("b.example.com", "host", one, nil) }, []string{"no claim", "nobody's claim"}},
		"no lease":     {func(w *world) { host(w, "b.example.com", one, part{}) }, []string{"nobody's claim", "part"}},
		"two owners":   {func(w *world) { host(w, "b.example.org", other, web) }, []string{"two owners"}},
		"other holder": {func(w *world) { w.leases[0].SetLabels(map[string]string{domainName + "kind": "host"}) }, []string{"another's claim", "holder", "wildcard"}},
		"mark": {func(w *world) {
			w.runs["x"] = true
			host(w, "b.example.com", one, part{Lease: web.Lease, Run: "x-2"})
		}, []string{"announced", "mark"}},
		"mark of a run that has ended": {func(w *world) { host(w, "b.example.com", one, part{Lease: web.Lease, Run: "x"}) }, nil},
		"ended":                        {func(w *world) { host(w, "b.example.com", one, part{Lease: web.Lease, Expires: "2001-02-03T04:05:06Z"}) }, []string{"ended hold"}},
		"below":                        {func(w *world) { host(w, "b.example.com", other, part{Lease: other + "/1/1/1/p"}) }, []string{"wildcard"}},
		"pending": {func(w *world) {
			w.leases[1] = claimed("wc--any.example.com", "wildcard", one, map[string]part{root: web})
		}, []string{"pending"}},
		"host free":    {func(w *world) { w.leases = w.leases[1:] }, []string{"no claim"}},
		"address free": {func(w *world) { w.leases = w.leases[:2] }, []string{"no claim"}},
		"half free":    {func(w *world) { w.leases, w.routes = w.leases[:2], w.routes[:3] }, []string{"half", "no claim"}},
		"another's": {func(w *world) {
			w.leases[0] = claimed("a.example.com", "host", other, map[string]part{root: {Lease: other + "/1/1/1/p"}})
		}, []string{"another's claim", "wildcard"}},
		"other lease": {func(w *world) {
			w.leases[0] = claimed("a.example.com", "host", one, map[string]part{root: {Lease: one + "/2/1/1/p", Path: "/"}})
		}, []string{"another lease's claim"}},
		"served from there": {func(w *world) {
			w.leases[0] = claimed("a.example.com", "host", one, map[string]part{root: {Lease: one + "/2/1/1/p", Path: "/", From: one + "/1/1"}})
		}, nil},
		"other path":    {func(w *world) { w.routes[1].key = "/v1" }, []string{"another lease's claim", "half"}},
		"other port":    {func(w *world) { w.routes[3].key = "tcp-80" }, []string{"another lease's claim", "half"}},
		"backend":       {func(w *world) { w.routes[1].port = 81 }, []string{"backend"}},
		"sharing key":   {func(w *world) { w.routes[3].sharingKey = "x" }, []string{"sharing key"}},
		"no route":      {func(w *world) { w.routes = slices.Delete(w.routes, 1, 2) }, []string{"half"}},
		"no Service":    {func(w *world) { w.routes = w.routes[:3] }, []string{"half"}},
		"definitions":   {func(w *world) { w.routes[1].definition = "e" }, []string{"definitions"}},
		"two routes":    {func(w *world) { w.routes = append(w.routes, w.routes[1]) }, []string{"two routes"}},
		"routes of two": {func(w *world) { r := w.routes[1]; r.owner = other; w.routes = append(w.routes, r) }, []string{"another's claim", "routes of two owners"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := sound()
			test.spoil(&w)
			a := &audit{now: time.Now(), claims: map[string]claim{}, runs: w.runs, routes: w.routes}
			for _, o := range w.leases {
				a.readClaim(o)
			}
			a.judgeClaims()
			a.judgeRoutes()
			rules := map[string]bool{}
			for _, f := range a.found {
				rules[f.rule] = true
			}
			if got := slices.Sorted(maps.Keys(rules)); !slices.Equal(got, test.want) {
				t.Errorf("the audit finds %q, want %q: %v", got, test.want, a.found)
			}
		})
	}
}
