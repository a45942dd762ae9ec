package render_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/emit"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/render"
)

// targets are the kinds of route with the implementations of the Gateway API; the last section of
// each golden file is the last of these.
var targets = []struct {
	name      string
	configure func(*config.ProviderConfig)
}{
	{"ingress", func(*config.ProviderConfig) {}},
	{"httproute akash", httpRoute},
	{"httproute nginx-gateway-fabric", gateway(config.GatewayNGF)},
	{"httproute standard", gateway(config.GatewayStandard)},
	{"route", func(c *config.ProviderConfig) { c.Target = config.TargetRoute }},
}

func gateway(implementation string) func(*config.ProviderConfig) {
	return func(c *config.ProviderConfig) {
		httpRoute(c)
		c.Gateway.Implementation = implementation
	}
}

func at(line int) lease.Place { return lease.Place{File: "shop.yaml", Line: line, Column: 5} }

// places give each part of a routing a line of its own, by which refusals are known.
var places = lease.RoutingPlaces{
	TLS: at(20), Weight: at(30), AlternateBackends: at(31), Sticky: at(40), Headers: at(50), Annotations: at(60), Labels: at(70),
}

// routed is the web service with a routing.
func routed(r lease.Routing, hosts ...string) lease.Service {
	if len(hosts) == 0 {
		hosts = []string{"shop.example.com"}
	}
	s := web(hosts...)
	r.At = places
	s.Expose[0].Routing, s.Expose[0].At = &r, at(10)
	for i := range s.Expose[0].Hosts {
		s.Expose[0].Hosts[i].At = at(11)
	}
	return s
}

func below(path string, s lease.Service) lease.Service {
	s.Expose[0].Path, s.Expose[0].PathAt = path, at(12)
	return s
}

func named(name string, s lease.Service) lease.Service {
	s.Name = name
	return s
}

func tls(t lease.TLS) lease.Service {
	s := routed(lease.Routing{TLS: &t})
	s.Expose[0].Port, s.Expose[0].As = 8443, 443
	return s
}

func weight(w uint16) *uint16 { return &w }

func options(o lease.HTTPOptions) lease.Service {
	s := web("shop.example.com")
	s.Expose[0].HTTP = o
	s.Expose[0].HTTPAt = &lease.HTTPPlaces{MaxBodySize: at(81), ReadTimeout: at(82), SendTimeout: at(83), NextTries: at(84), NextTimeout: at(85), NextCases: at(86)}
	return s
}

// features are what a definition can say of a route, each in a golden file with all targets.
var features = []struct {
	name      string
	services  []lease.Service
	configure func(*config.ProviderConfig)
}{
	{name: "plain", services: []lease.Service{web("shop.example.com")}},
	{name: "paths", services: []lease.Service{below("/api/v1", named("api", routed(lease.Routing{}))), web("shop.example.com"), below("/only", named("below", routed(lease.Routing{}, "below.example.com")))}},
	{name: "wildcard", services: []lease.Service{routed(lease.Routing{}, "*.example.com")}},
	{name: "tls-edge", services: []lease.Service{tls(lease.TLS{Termination: lease.Edge})}},
	{name: "tls-edge-secret", services: []lease.Service{tls(lease.TLS{Termination: lease.Edge, SecretName: "shop-tls"})}},
	{name: "tls-edge-none", services: []lease.Service{tls(lease.TLS{Termination: lease.Edge, Insecure: lease.InsecureNone})}},
	{name: "tls-edge-allow", services: []lease.Service{tls(lease.TLS{Termination: lease.Edge, Insecure: lease.InsecureAllow})}},
	{name: "tls-edge-redirect", services: []lease.Service{tls(lease.TLS{Termination: lease.Edge, Insecure: lease.InsecureRedirect})}},
	{name: "tls-passthrough", services: []lease.Service{tls(lease.TLS{Termination: lease.Passthrough})}},
	{name: "tls-passthrough-redirect", services: []lease.Service{tls(lease.TLS{Termination: lease.Passthrough, Insecure: lease.InsecureRedirect})}},
	{name: "tls-passthrough-weights", services: []lease.Service{routed(lease.Routing{
		TLS: &lease.TLS{Termination: lease.Passthrough}, Backends: []lease.Backend{{Service: "canary", Weight: 10, At: at(32)}},
	}), named("canary", web())}},
	{name: "tls-reencrypt", services: []lease.Service{tls(lease.TLS{Termination: lease.Reencrypt})}},
	{name: "tls-reencrypt-ca", services: []lease.Service{tls(lease.TLS{Termination: lease.Reencrypt, DestinationCASecretName: "backend-ca"})}},
	{name: "issuer", services: []lease.Service{tls(lease.TLS{Termination: lease.Edge, Issuer: &lease.Issuer{Name: "letsencrypt", Kind: "Issuer"}})}},
	{name: "issuer-cluster", services: []lease.Service{tls(lease.TLS{Termination: lease.Edge, Insecure: lease.InsecureRedirect,
		Issuer: &lease.Issuer{Name: "letsencrypt", Kind: "ClusterIssuer"}, SecretName: "shop-tls"})}},
	{name: "issuer-external", services: []lease.Service{tls(lease.TLS{Termination: lease.Edge,
		Issuer: &lease.Issuer{Name: "pca", Kind: "AWSPCAClusterIssuer", Group: "awspca.cert-manager.io"}})}},
	{name: "weights", services: []lease.Service{named("canary", web()), routed(lease.Routing{
		Weight: weight(90), Backends: []lease.Backend{{Service: "canary", Weight: 10, At: at(32)}},
	})}},
	{name: "sticky", services: []lease.Service{routed(lease.Routing{Sticky: &lease.Sticky{Cookie: "shop", SameSite: "Lax"}, TLS: &lease.TLS{Termination: lease.Edge}})}},
	{name: "sticky-disabled", services: []lease.Service{routed(lease.Routing{Sticky: &lease.Sticky{Disabled: true}})}},
	{name: "headers", services: []lease.Service{routed(lease.Routing{
		Headers: lease.Headers{
			Request:  []lease.HeaderRule{{Name: "X-Shop", Value: "100%% <ours>", At: at(51)}, {Name: "X-Debug", Delete: true, At: at(52)}},
			Response: []lease.HeaderRule{{Name: "X-Frame-Options", Value: "DENY", At: at(53)}},
		},
	})}},
	{name: "headers-expression", services: []lease.Service{routed(lease.Routing{
		Headers: lease.Headers{Response: []lease.HeaderRule{{Name: "X-Target", Value: "%[res.hdr(X-target),lower]", At: at(51)}, {Name: "X-Price", Value: "5 $", At: at(52)}}},
	})}},
	{name: "annotations", services: []lease.Service{routed(lease.Routing{Annotations: []lease.RouteAnnotation{
		{Key: "haproxy.router.openshift.io/balance", Value: "leastconn", At: at(61)},
		{Key: "haproxy.router.openshift.io/timeout", Value: "2h", At: at(62)},
	}})}},
	{name: "labels", services: []lease.Service{routed(lease.Routing{Labels: map[string]string{"shard": "eu"}})}},
	{name: "http", services: []lease.Service{options(lease.HTTPOptions{
		MaxBodySize: 20000000, ReadTimeout: 1001 * time.Millisecond, SendTimeout: 2 * time.Second,
		NextTries: 5, NextTimeout: 29 * time.Second, NextCases: []string{"error", "503"},
	})}},
	{name: "http-read-timeout", services: []lease.Service{options(lease.HTTPOptions{ReadTimeout: 30 * time.Second})}},
	{name: "static-host", configure: static, services: []lease.Service{tls(lease.TLS{
		Termination: lease.Edge, Insecure: lease.InsecureRedirect, Issuer: &lease.Issuer{Name: "letsencrypt", Kind: "ClusterIssuer"},
	})}},
	{name: "generated-hosts", configure: func(c *config.ProviderConfig) {
		c.Hosts.Generated = "${service}-${dseq}.apps.example.com"
	}, services: []lease.Service{below("/api", named("api", web())), web()}},
	{name: "target-per-service", services: []lease.Service{
		{Name: "a", Target: config.TargetIngress, Expose: web("a.example.com").Expose},
		{Name: "b", Target: config.TargetHTTPRoute, Expose: web("b.example.com").Expose},
		{Name: "c", Target: config.TargetRoute, Expose: web("c.example.com").Expose},
	}},
}

// section renders a definition as a section of a golden file: the objects, or why there are none.
// Of ProviderHosts, which other golden files show, only the names are told.
func section(t *testing.T, def *lease.Definition, cfg *config.ProviderConfig) []byte {
	t.Helper()
	var out strings.Builder
	for _, w := range render.Warnings(def, cfg) {
		out.WriteString("warning: " + w.Error() + "\n")
	}
	objects, err := render.Lease(def, cfg, nil)
	if err != nil {
		for line := range strings.Lines(err.Error()) {
			out.WriteString("refused: " + strings.TrimSuffix(line, "\n") + "\n")
		}
		return []byte(out.String())
	}
	var routes []render.Object
	for _, o := range objects {
		if o.Kind == kinds.ProviderHost {
			out.WriteString("# " + o.String() + "\n")
		} else {
			routes = append(routes, o)
		}
	}
	return append([]byte(out.String()), encode(t, emit.YAML, routes)...)
}

func TestFeatures(t *testing.T) {
	for _, f := range features {
		t.Run(f.name, func(t *testing.T) {
			def := definition(f.services...)
			if problems := lease.Check(def); problems.Failed() {
				t.Fatal(problems)
			}
			sections := &txtar.Archive{}
			for _, target := range targets {
				cfg := config.Default()
				cfg.Gateway.Listeners.Passthrough = []string{"tls"}
				target.configure(cfg)
				if f.configure != nil {
					f.configure(cfg)
				}
				sections.Files = append(sections.Files, txtar.File{Name: target.name, Data: section(t, def, cfg)})
			}
			golden(t, filepath.Join("routes", f.name+".txtar"), txtar.Format(sections))
		})
	}
}
