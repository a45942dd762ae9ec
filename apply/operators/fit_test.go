package operators

import (
	"errors"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/observed"
	ot "github.com/akash-net/kubectl-akash-net/apply/observed/observedtest"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/state"
)

// manifest is a Manifest of Akash's provider with one service and one port.
func manifest(service string, count, port, external int64, global bool) *unstructured.Unstructured {
	expose := map[string]any{"port": port, "external_port": external, "global": global}
	return &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"group": map[string]any{"services": []any{
		map[string]any{"name": service, "count": count, "expose": []any{expose}},
	}}}}}
}

// running are operators, and what is asked of them.
type running struct {
	hostname, ip, off bool
	mode              string
	static, endpoint  bool
	annotations       bool
	manifest          *unstructured.Unstructured
	expose            lease.Expose
}

// What Akash's operators would ignore for good, or write over, is refused before anything is claimed, and the error says
// what does not fit and what to do.
func TestFits(t *testing.T) {
	hosts := []lease.Host{{Name: "shop.example.com"}}
	http := lease.Expose{Port: 80, Protocol: lease.TCP, Global: true, Hosts: hosts, At: lease.Place{File: "deploy.yaml", Line: 3, Column: 5}}
	with := func(change func(e *lease.Expose)) lease.Expose {
		e := http
		change(&e)
		return e
	}
	declared := manifest("web", 1, 80, 80, true)
	const stopHostname, stopIP = "kubectl -n akash-services scale deployment operator-hostname --replicas=0", "kubectl -n akash-services scale deployment operator-ip --replicas=0"
	tests := []struct {
		name string
		running
		says []string // nothing where it fits
	}{
		{"no operator runs", running{expose: http}, nil},
		{"the Manifest has the service and its port", running{hostname: true, manifest: declared, expose: http}, nil},
		{"no Manifest yet", running{hostname: true, expose: http}, []string{"deploy.yaml:3:5", "no Manifest in namespace lease", "apply again when the tenant has sent the manifest"}},
		{"the Manifest has another port", running{hostname: true, manifest: manifest("web", 1, 81, 81, true), expose: http}, []string{"no service web with instances and a global port 80", "apply what the tenant has deployed"}},
		{"the port has another number outside", running{hostname: true, manifest: declared, expose: with(func(e *lease.Expose) { e.Port, e.As = 3000, 80 })}, nil},
		{"a path needs no Manifest: the operator does not know it", running{hostname: true, expose: with(func(e *lease.Expose) { e.Path = "/v1" })}, nil},
		{"a port without hosts", running{hostname: true, expose: with(func(e *lease.Expose) { e.Hosts = nil })}, nil},
		{"a port without hosts, to which the provider gives one", running{hostname: true, static: true, expose: with(func(e *lease.Expose) { e.Hosts = nil })}, []string{"no Manifest"}},
		{"a port that is not routed", running{hostname: true, expose: with(func(e *lease.Expose) { e.Port = 8080 })}, nil},
		{"a port within the lease", running{hostname: true, expose: with(func(e *lease.Expose) { e.Global = false })}, nil},
		{"a host's route has settings", running{hostname: true, manifest: declared, expose: with(func(e *lease.Expose) { e.Routing = &lease.Routing{} })},
			[]string{"Akash's hostname operator makes plain routes", "does not know TLS, weights"}},
		{"a path's route has settings", running{hostname: true, expose: with(func(e *lease.Expose) { e.Path, e.Routing = "/v1", &lease.Routing{} })}, nil},
		{"the operator is said to be off and runs", running{hostname: true, off: true, manifest: declared, expose: http},
			[]string{"--operators=off, but Akash's hostname operator runs", "its own route of web", "leave --operators=off out", stopHostname}},
		{"the operator is said to be off and knows no wildcard", running{hostname: true, off: true, manifest: declared, expose: with(func(e *lease.Expose) { e.Hosts = []lease.Host{{Name: "*.example.com"}} })}, nil},
		{"DNS by annotations", running{hostname: true, annotations: true, manifest: declared, expose: http}, []string{"knows no annotations for external-dns (dns.form: annotations)", "dns.form endpoint works"}},
		{"DNS by annotations without the operator", running{annotations: true, expose: http}, nil},
		{"an address that MetalLB chooses", running{ip: true, mode: config.ModePool, endpoint: true}, nil},
		{"an address that this program chooses", running{ip: true, mode: config.ModeRange, endpoint: true}, []string{"deploy.yaml:9:1", `set ip.mode to "pool"`, `not with "range"`, stopIP}},
		{"a lease without addresses", running{ip: true, mode: config.ModeRange, expose: http}, nil},
		{"the IP operator is said to be off and runs", running{ip: true, off: true, mode: config.ModePool, endpoint: true}, []string{"--operators=off, but Akash's IP operator runs", "leave --operators=off out", stopIP}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := tt.fits()
			if len(tt.says) == 0 {
				if err != nil {
					t.Errorf("refused: %v", err)
				}
				return
			}
			if _, ok := errors.AsType[*report.OperatorError](err); !ok {
				t.Fatalf("error %v", err)
			}
			for _, text := range append(tt.says, ot.Shop.String(), "Nothing was changed") {
				if !strings.Contains(err.Error(), text) {
					t.Errorf("%q does not say %q", err, text)
				}
			}
		})
	}
}

func (how running) fits() error {
	cfg := config.Default()
	cfg.Ingress.StaticHosts, cfg.Ingress.Domain = how.static, "ingress.example.net"
	if cfg.IP.Mode = how.mode; how.annotations {
		cfg.DNS.Form = config.DNSAnnotations
	}
	def := &lease.Definition{Lease: ot.Shop, Services: []lease.Service{{Name: "web", Expose: []lease.Expose{how.expose}}}}
	request := state.Request{Lease: ot.Shop}
	if how.endpoint {
		request.Endpoints = []state.EndpointWant{{Name: "public", At: lease.Place{File: "deploy.yaml", Line: 9, Column: 1}}}
	}
	seen := ot.Snapshot(nil)
	seen.Operators.Hostname, seen.Operators.IP, seen.Operators.Off = how.hostname, how.ip, how.off
	if how.manifest != nil {
		seen.Manifests = observed.Manifests{ot.Shop.Namespace(): how.manifest}
	}
	return Fits(seen, cfg, def, request)
}

const shop = "shop.example.com"

// What an operator has made agrees where it serves the same host or port from the same backend, whatever its kind.
func TestAgrees(t *testing.T) {
	deleting := ot.Ingress(ot.Shop, shop, "/")
	deleting.Object["metadata"].(map[string]any)["deletionTimestamp"] = "2026-11-01T12:00:00Z" //nolint:forcetypeassert // a panic fails the test
	route, port := ot.Ingress(ot.Shop, shop, "/"), ot.Service(ot.Shop, 80, "")
	for name, tt := range map[string]struct {
		want, live *unstructured.Unstructured
		agrees     bool
	}{
		"nothing is there":           {route, nil, false},
		"the route":                  {route, ot.Ingress(ot.Shop, shop, "/"), true},
		"the route of another kind":  {route, ot.HTTPRoute(ot.Shop, shop, "/"), true},
		"a route of another host":    {route, ot.Ingress(ot.Shop, "www.example.com", "/"), false},
		"a route of another lease":   {route, ot.Ingress(ot.Next, shop, "/"), false},
		"a route that is deleted":    {route, deleting, false},
		"the Service":                {port, ot.Service(ot.Shop, 80, ""), true},
		"a Service of another port":  {port, ot.Service(ot.Shop, 81, ""), false},
		"a Service of another owner": {port, ot.Service(ot.Blog, 80, ""), false},
	} {
		kind := kinds.Of(tt.want.GetKind())
		if got := Agrees(ot.Snapshot(nil), nil, ot.Shop, cluster.Applicable(kind, tt.want), tt.live); got != tt.agrees {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// The operator's options are those of the Manifest. A route of it agrees with a definition that has the same ones when it
// has them; with another one, whatever it has.
func TestHTTPOptions(t *testing.T) {
	given := map[string]any{
		"max_body_size": int64(1048576), "read_timeout": int64(1500), "send_timeout": int64(60000), "next_tries": int64(3),
		"next_cases": []any{"error", "timeout"},
	}
	same := lease.HTTPOptions{ReadTimeout: 1500 * time.Millisecond}
	for name, tt := range map[string]struct {
		given   map[string]any
		wanted  lease.HTTPOptions
		live    lease.HTTPOptions
		unlike  string
		stands  bool
		without bool // the live route has no annotations
	}{
		"the same":                               {given: given, wanted: same, live: same, stands: true},
		"the same in whole seconds":              {given: given, wanted: lease.HTTPOptions{ReadTimeout: 2 * time.Second}, live: same, stands: true},
		"the same, and the route is older":       {given: given, wanted: same, live: lease.HTTPOptions{}},
		"the same, written elsewhere":            {given: given, wanted: same, without: true, stands: true},
		"others":                                 {given: given, wanted: lease.HTTPOptions{}, live: same, unlike: `proxy-read-timeout is "2", the definition says "60"`, stands: true},
		"other cases":                            {given: given, wanted: lease.HTTPOptions{ReadTimeout: same.ReadTimeout, NextCases: []string{"500"}}, unlike: `proxy-next-upstream is "error timeout", the definition says "http_500"`, stands: true},
		"a Manifest of an old version, defaults": {wanted: lease.HTTPOptions{}, unlike: `proxy-next-upstream-timeout is "60", the definition says "0"`, stands: true},
	} {
		m := manifest("web", 1, 80, 80, true)
		services, _, _ := unstructured.NestedSlice(m.Object, "spec", "group", "services")
		services[0].(map[string]any)["expose"].([]any)[0].(map[string]any)["http_options"] = tt.given //nolint:forcetypeassert // a panic fails the test
		if err := unstructured.SetNestedSlice(m.Object, services, "spec", "group", "services"); err != nil {
			t.Fatal(err)
		}
		seen := ot.Snapshot(nil)
		seen.Manifests = observed.Manifests{ot.Shop.Namespace(): m}
		def := &lease.Definition{Lease: ot.Shop, Services: []lease.Service{{Name: "web", Expose: []lease.Expose{{Port: 80, Protocol: lease.TCP, Global: true, Hosts: []lease.Host{{Name: shop}}, HTTP: tt.wanted}}}}}
		live := ot.Ingress(ot.Shop, shop, "/")
		if !tt.without {
			live.SetAnnotations(render.OptionsOf(kinds.Ingress, tt.live.WithDefaults()))
		}
		o := cluster.Applicable(kinds.Ingress, ot.Ingress(ot.Shop, shop, "/"))
		if got := UnlikeOf(seen, def, ot.Shop, o); (got == "") != (tt.unlike == "") || !strings.Contains(got, tt.unlike) {
			t.Errorf("%s: unlike %q", name, got)
		}
		if got := Agrees(seen, def, ot.Shop, o, live); got != tt.stands {
			t.Errorf("%s: agrees %t", name, got)
		}
	}
}
