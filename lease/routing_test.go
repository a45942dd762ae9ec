package lease_test

import (
	"strings"
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease"
)

// TestPathsOfHosts: a path of a host leads to one port of one service, and a host that passes TLS
// through has one.
func TestPathsOfHosts(t *testing.T) {
	through := &lease.Routing{TLS: &lease.TLS{Termination: lease.Passthrough}}
	for name, c := range map[string]struct {
		host, path string
		routing    *lease.Routing
		want       string
	}{
		"other path":  {interesting, "/v2", nil, ""},
		"deeper":      {interesting, "/v1/a", nil, ""},
		"root":        {interesting, "", nil, ""},
		"same path":   {interesting, "/v1", nil, `path /v1 of host "a.example.com" is named twice`},
		"other host":  {"b.example.com", "/v1", nil, ""},
		"wildcard":    {"*.example.com", "/v1", nil, ""},
		"passthrough": {interesting, "", through, "passes TLS through, so it has one path only"},
	} {
		t.Run(name, func(t *testing.T) {
			d := routed(func(e *lease.Expose, _ *lease.Routing) { e.Path = "/v1" })
			d.Services = append(d.Services, lease.Service{Name: "other", Expose: []lease.Expose{
				{Port: 80, Protocol: lease.TCP, Global: true, Hosts: []lease.Host{{Name: c.host}}, Path: c.path, Routing: c.routing},
			}})
			got := lease.Check(d).Error()
			if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
				t.Errorf("problems %q, want %q", got, c.want)
			}
		})
	}
	d := routed(func(*lease.Expose, *lease.Routing) {})
	e := d.Services[0].Expose[0]
	e.Path = "/"
	d.Services[0].Expose = append(d.Services[0].Expose, e)
	if got := lease.Check(d).Error(); !strings.Contains(got, `host "a.example.com" is named twice`) {
		t.Errorf("no path and / are two paths: %q", got)
	}
}

// TestSumOfRouting: the sum tells apart all that is said, and nothing that is not.
func TestSumOfRouting(t *testing.T) {
	sum := func(change func(e *lease.Expose, r *lease.Routing)) string {
		d := routed(change)
		if problems := lease.Check(d); len(problems) > 0 {
			t.Fatal(problems)
		}
		return lease.Sum(d)
	}
	plain := sum(func(*lease.Expose, *lease.Routing) {})
	const before = "hk96es6n8cma01n6el4llhf99d36rrbtvv2qlbip3f7ochprkiug"
	if plain != before {
		t.Errorf("the sum of a definition without routing has changed: %s", plain)
	}
	seen := map[string]int{plain: -1}
	for i, change := range []func(e *lease.Expose, r *lease.Routing){
		func(e *lease.Expose, _ *lease.Routing) { e.Path = "/a" },
		func(e *lease.Expose, _ *lease.Routing) { e.Path = "/b" },
		func(_ *lease.Expose, r *lease.Routing) { r.TLS = &lease.TLS{} },
		func(_ *lease.Expose, r *lease.Routing) { r.TLS = &lease.TLS{Termination: lease.Passthrough} },
		func(_ *lease.Expose, r *lease.Routing) { r.TLS = &lease.TLS{Insecure: lease.InsecureNone} },
		func(_ *lease.Expose, r *lease.Routing) { r.TLS = &lease.TLS{SecretName: "a"} },
		func(_ *lease.Expose, r *lease.Routing) { r.TLS = &lease.TLS{DestinationCASecretName: "a"} },
		func(_ *lease.Expose, r *lease.Routing) {
			r.TLS = &lease.TLS{SecretName: "a", Issuer: &lease.Issuer{Name: "a"}}
		},
		func(_ *lease.Expose, r *lease.Routing) {
			r.TLS = &lease.TLS{SecretName: "a", Issuer: &lease.Issuer{Name: "a", Kind: "ClusterIssuer"}}
		},
		func(_ *lease.Expose, r *lease.Routing) { r.Backends = backends("blue") },
		func(_ *lease.Expose, r *lease.Routing) { r.Backends = backends("green") },
		func(_ *lease.Expose, r *lease.Routing) { r.Backends, r.Weight = backends("blue"), weight(0) },
		func(_ *lease.Expose, r *lease.Routing) { r.Backends = []lease.Backend{{Service: "blue", Weight: 11}} },
		func(_ *lease.Expose, r *lease.Routing) {
			r.Backends = []lease.Backend{{Service: "blue", Port: 80, Weight: 10}}
		},
		func(_ *lease.Expose, r *lease.Routing) { r.Sticky = &lease.Sticky{} },
		func(_ *lease.Expose, r *lease.Routing) { r.Sticky = &lease.Sticky{Disabled: true} },
		func(_ *lease.Expose, r *lease.Routing) { r.Sticky = &lease.Sticky{Cookie: "Lax"} },
		func(_ *lease.Expose, r *lease.Routing) { r.Sticky = &lease.Sticky{SameSite: "Lax"} },
		func(_ *lease.Expose, r *lease.Routing) { r.RequestHeaders = headers("a") },
		func(_ *lease.Expose, r *lease.Routing) { r.ResponseHeaders = headers("a") },
		func(_ *lease.Expose, r *lease.Routing) { r.ResponseHeaders = headers("a", "b") },
		func(_ *lease.Expose, r *lease.Routing) { r.ResponseHeaders = headers("b", "a") },
		func(_ *lease.Expose, r *lease.Routing) {
			r.ResponseHeaders = []lease.HeaderRule{{Name: "a", Delete: true}}
		},
		func(_ *lease.Expose, r *lease.Routing) { r.Annotations = annotations(timeout, "1s") },
		func(_ *lease.Expose, r *lease.Routing) { r.Annotations = annotations(timeout, "2s") },
		func(_ *lease.Expose, r *lease.Routing) { r.Labels = map[string]string{"a": "b"} },
		func(_ *lease.Expose, r *lease.Routing) { r.Labels = map[string]string{"b": "a"} },
	} {
		got := sum(change)
		if j, ok := seen[got]; ok {
			t.Errorf("cases %d and %d have one sum", i, j)
		}
		seen[got] = i
	}
	for name, same := range map[string][2]func(e *lease.Expose, r *lease.Routing){
		"termination": {func(_ *lease.Expose, r *lease.Routing) { r.TLS = &lease.TLS{} }, func(_ *lease.Expose, r *lease.Routing) { r.TLS = &lease.TLS{Termination: lease.Edge} }},
		"weight":      {func(_ *lease.Expose, r *lease.Routing) { r.Backends = backends("blue") }, func(_ *lease.Expose, r *lease.Routing) { r.Backends, r.Weight = backends("blue"), weight(100) }},
		"backends":    {func(_ *lease.Expose, r *lease.Routing) { r.Backends = backends("blue", "red") }, func(_ *lease.Expose, r *lease.Routing) { r.Backends = backends("red", "blue") }},
		"annotations": {func(_ *lease.Expose, r *lease.Routing) {
			r.Annotations = annotations(timeout, "1s", allowlist, somebody)
		}, func(_ *lease.Expose, r *lease.Routing) {
			r.Annotations = annotations(allowlist, somebody, timeout, "1s")
		}},
		"issuer": {func(_ *lease.Expose, r *lease.Routing) {
			r.TLS = &lease.TLS{SecretName: "a", Issuer: &lease.Issuer{Name: "a"}}
		},
			func(_ *lease.Expose, r *lease.Routing) {
				r.TLS = &lease.TLS{SecretName: "a", Issuer: &lease.Issuer{Name: "a", Kind: "Issuer", Group: "cert-manager.io"}}
			}},
		"root": {func(*lease.Expose, *lease.Routing) {}, func(e *lease.Expose, _ *lease.Routing) { e.Path = "/" }},
	} {
		if sum(same[0]) != sum(same[1]) {
			t.Errorf("%s: two sums of what says the same", name)
		}
	}
	d := routed(func(*lease.Expose, *lease.Routing) {})
	d.Services[0].Target = "route"
	if _ = lease.Check(d); lease.Sum(d) == plain {
		t.Error("the target does not change the sum")
	}
}
