package render_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/render"
)

func edge(insecure lease.InsecurePolicy) *lease.TLS {
	return &lease.TLS{Termination: lease.Edge, Insecure: insecure}
}

func reencrypt(ca string) *lease.TLS {
	return &lease.TLS{Termination: lease.Reencrypt, DestinationCASecretName: ca}
}

func manyHeaders(n int) (rules []lease.HeaderRule) {
	for i := range n {
		rules = append(rules, lease.HeaderRule{Name: "X-" + strings.Repeat("a", i+1), Value: "1"})
	}
	return rules
}

func withHTTP(s lease.Service, o lease.HTTPOptions) lease.Service {
	s.Expose[0].HTTP = o
	return s
}

// What a target takes in general it may refuse in one case; the golden files show what it never
// takes.
func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		name     string
		services []lease.Service
		targets  string // of the five of the golden files
		want     string // empty: nothing is refused
	}{
		{
			"two names for one backend", []lease.Service{routed(lease.Routing{TLS: reencrypt("")}, "a.example.com", "b.example.com")},
			"httproute", `shop.yaml:20:5: a Gateway reaches a service in one way for all its hosts and ports (BackendTLSPolicy), but service "web"`,
		},
		{
			"two hosts with a CA", []lease.Service{routed(lease.Routing{TLS: reencrypt("ca")}, "a.example.com", "b.example.com")},
			"httproute", "",
		},
		{
			"with TLS and without", []lease.Service{{Name: "web", Expose: append(
				routed(lease.Routing{TLS: reencrypt("ca")}).Expose, routed(lease.Routing{TLS: edge("")}, "plain.example.com").Expose...)}},
			"httproute", `"web" is asked for with TLS and without`,
		},
		{
			"no host for a backend's certificate", []lease.Service{routed(lease.Routing{TLS: reencrypt("")}, "*.example.com")},
			"httproute", "shop.yaml:20:5: the backend of a wildcard host has no one name",
		},
		{
			"two CAs' names in one rule", []lease.Service{named("canary", web()), routed(lease.Routing{
				TLS: reencrypt("ca"), Backends: []lease.Backend{{Service: "canary", Weight: 1}},
			})},
			"httproute akash|httproute nginx", "shop.yaml:31:5: NGINX Gateway Fabric wants certificates of one name",
		},
		{
			"two CAs' names in one rule", []lease.Service{named("canary", web()), routed(lease.Routing{
				TLS: reencrypt("ca"), Backends: []lease.Backend{{Service: "canary", Weight: 1}},
			})},
			"httproute standard", "",
		},
		{
			"one Secret for two certificates", []lease.Service{routed(lease.Routing{TLS: &lease.TLS{
				Termination: lease.Edge, SecretName: "shop-tls", Issuer: &lease.Issuer{Name: "ca", Kind: "Issuer"},
			}}, "a.example.com", "b.example.com")},
			"ingress", `shop.yaml:20:5: cert-manager writes one certificate for each Ingress, but several hosts or paths share the Secret "shop-tls"`,
		},
		{
			"one Secret of the tenant's for two hosts", []lease.Service{routed(lease.Routing{TLS: &lease.TLS{
				Termination: lease.Edge, SecretName: "shop-tls",
			}}, "a.example.com", "b.example.com")},
			"ingress|route", "",
		},
		{"SameSite without TLS", []lease.Service{routed(lease.Routing{Sticky: &lease.Sticky{SameSite: "Lax"}})}, "route", "shop.yaml:40:5: OpenShift's router writes SameSite only where"},
		{"SameSite without TLS", []lease.Service{routed(lease.Routing{Sticky: &lease.Sticky{SameSite: "Lax"}})}, "ingress", ""},
		{"SameSite with both", []lease.Service{routed(lease.Routing{Sticky: &lease.Sticky{SameSite: "Lax"}, TLS: edge(lease.InsecureAllow)})}, "route", "SameSite"},
		{
			"a setting said twice", []lease.Service{routed(lease.Routing{
				Sticky:      &lease.Sticky{Cookie: "a"},
				Annotations: []lease.RouteAnnotation{{Key: "router.openshift.io/cookie_name", Value: "b", At: at(61)}},
			})},
			"route", `shop.yaml:61:5: router.openshift.io/cookie_name conflicts with another field of the definition, which sets it to "a"`,
		},
		{
			"a timeout said twice", []lease.Service{withHTTP(routed(lease.Routing{
				Annotations: []lease.RouteAnnotation{{Key: "haproxy.router.openshift.io/timeout", Value: "1h", At: at(61)}},
			}), lease.HTTPOptions{ReadTimeout: 1e9})},
			"route", `shop.yaml:61:5: haproxy.router.openshift.io/timeout conflicts with another field of the definition, which sets it to "1s"`,
		},
		{
			"another container port", []lease.Service{
				{Name: "canary", Expose: []lease.Expose{{Port: 3000, As: 80, Protocol: lease.TCP, Global: true}}},
				routed(lease.Routing{Backends: []lease.Backend{{Service: "canary", Weight: 1, At: at(32)}}}),
			},
			"route", `shop.yaml:32:5: an OpenShift Route has one container port for all services, here 8080, but service "canary" is reached at 3000`,
		},
		{"16 headers", []lease.Service{routed(lease.Routing{Headers: lease.Headers{Request: manyHeaders(16)}})}, "httproute|route", ""},
		{"17 headers", []lease.Service{routed(lease.Routing{Headers: lease.Headers{Request: manyHeaders(17)}})}, "httproute", "shop.yaml:50:5: an HTTPRoute sets, and removes, at most 16"},
		{"a long header", []lease.Service{routed(lease.Routing{Headers: lease.Headers{Request: []lease.HeaderRule{{Name: "X", Value: strings.Repeat("v", 4097), At: at(51)}}}})}, "httproute", "shop.yaml:51:5: the value of header \"X\" has 4097 characters"},
	} {
		for _, target := range targets {
			if !matches(target.name, c.targets) {
				continue
			}
			t.Run(c.name+"/"+target.name, func(t *testing.T) {
				cfg := config.Default()
				target.configure(cfg)
				cfg.Gateway.Listeners.Passthrough = []string{"tls"}
				objects, err := render.Lease(definition(c.services...), cfg, nil)
				if c.want == "" {
					if err != nil || len(objects) == 0 {
						t.Errorf("got %v and %d objects, want no error", err, len(objects))
					}
					return
				}
				if _, ok := errors.AsType[lease.Problems](err); !ok || !strings.Contains(err.Error(), c.want) {
					t.Errorf("got %v, want %q", err, c.want)
				}
			})
		}
	}
}

func matches(target, list string) bool {
	for prefix := range strings.SplitSeq(list, "|") {
		if strings.HasPrefix(target, prefix) {
			return true
		}
	}
	return false
}

// Listeners that a route needs by name must be configured.
func TestListeners(t *testing.T) {
	for want, r := range map[string]*lease.TLS{
		"gateway.listeners.http)":        edge(lease.InsecureRedirect),
		"gateway.listeners.https)":       edge(lease.InsecureNone),
		"gateway.listeners.passthrough)": {Termination: lease.Passthrough},
	} {
		cfg := config.Default()
		httpRoute(cfg)
		cfg.Gateway.Listeners = config.Listeners{}
		_, err := render.Lease(definition(routed(lease.Routing{TLS: r})), cfg, nil)
		if err == nil || !strings.Contains(err.Error(), "shop.yaml:20:5: the provider's configuration names no listener that") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", want, err)
		}
	}
}
