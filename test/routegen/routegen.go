// Package routegen generates lease definitions with all that one can say of a route, for property
// tests of what is made from them.
package routegen

import (
	"fmt"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
)

// Target is a kind of route with the implementation that serves it.
type Target struct {
	Name   string
	Config *config.ProviderConfig
}

// Targets are all kinds of route, with each implementation of the Gateway API.
func Targets() []Target {
	all := []Target{{Name: "ingress"}, {Name: "route"}}
	for _, implementation := range []string{config.GatewayAkash, config.GatewayNGF, config.GatewayStandard} {
		all = append(all, Target{Name: "httproute " + implementation})
	}
	for i := range all {
		cfg := config.Default()
		cfg.Gateway.Listeners.Passthrough = []string{"tls"}
		switch i {
		case 0:
		case 1:
			cfg.Target = config.TargetRoute
		default:
			cfg.Target = config.TargetHTTPRoute
			cfg.Gateway.Implementation = all[i].Name[len("httproute "):]
		}
		all[i].Config = cfg
	}
	return all
}

// Lease is the lease of all generated definitions.
var Lease = lease.ID{
	Owner: "akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h", DSeq: 8438017, GSeq: 1, OSeq: 1,
	Provider: "akash1nxq8gmsw2vlz3m68qvyvcf3kh6q269ajvqw6y0",
}

var (
	names   = []string{"api", "canary", "web"}
	hosts   = []string{"a.example.com", "b.example.com", "c.d.example.com", "*.example.com", "*.d.example.com"}
	cookies = rapid.StringMatching(`[A-Za-z0-9_-]{0,12}`)
	values  = rapid.StringMatching(`([ -$&-~]|%%){0,20}[!-$&-~]`)
	secrets = rapid.SampledFrom([]string{"", "", "shop-tls"})
	headers = []string{"X-Shop", "x-frame-options", "Accept", "Server", "X~|^"}
)

// Definition is a definition of one to three services that lead to one port each. The checks pass
// it.
func Definition(t *rapid.T) *lease.Definition {
	def := &lease.Definition{Name: "shop", Lease: Lease, Hash: lease.Hash("shop")}
	for _, name := range names[:rapid.IntRange(1, len(names)).Draw(t, "services")] {
		e := lease.Expose{Port: 8080, As: rapid.SampledFrom([]uint16{80, 80, 80, 80, 443, 8443}).Draw(t, "as"), Protocol: lease.TCP, Global: true}
		if rarely(t, "port") {
			e.Port = rapid.Uint16Min(1).Draw(t, "container port")
		}
		s := lease.Service{Name: name, Expose: []lease.Expose{e}}
		if rarely(t, "target") {
			s.Target = rapid.SampledFrom([]string{config.TargetIngress, config.TargetHTTPRoute, config.TargetRoute}).Draw(t, "the target")
		}
		def.Services = append(def.Services, s)
	}
	taken := map[string]bool{}
	for i := range def.Services {
		e := &def.Services[i].Expose[0]
		if e.As != 80 || rarely(t, "routing") || rarely(t, "more routing") {
			e.Routing = routing(t, def, i)
		}
		passes := e.Routing != nil && e.Routing.TLS != nil && e.Routing.TLS.Termination == lease.Passthrough
		if !passes && rarely(t, "path") {
			e.Path = rapid.StringMatching(`/[A-Za-z0-9][-A-Za-z0-9._]{0,4}(/[-A-Za-z0-9_]{1,3})?`).Draw(t, "the path")
		}
		if !passes && rarely(t, "http") {
			e.HTTP = httpOptions(t)
		}
		for _, h := range rapid.SliceOfNDistinct(rapid.SampledFrom(hosts), 1, 2, rapid.ID).Draw(t, "hosts") {
			// Beside a path that passes TLS through, a host has no other.
			if taken[h+"passes"] || passes && taken[h] || taken[h+e.RoutePath()] {
				continue
			}
			taken[h], taken[h+e.RoutePath()], taken[h+"passes"] = true, true, passes
			e.Hosts = append(e.Hosts, lease.Host{Name: h})
		}
	}
	return def
}

// rarely is true once in six times: a target refuses most definitions that say much.
func rarely(t *rapid.T, what string) bool { return rapid.IntRange(0, 5).Draw(t, what) == 0 }

func routing(t *rapid.T, def *lease.Definition, own int) *lease.Routing {
	r := &lease.Routing{}
	if def.Services[own].Expose[0].As != 80 || rarely(t, "tls") {
		r.TLS = tls(t)
	}
	if rarely(t, "backends") {
		backends(t, r, def, own)
	}
	if r.TLS == nil || r.TLS.Termination != lease.Passthrough {
		if rarely(t, "sticky") {
			r.Sticky = sticky(t, r.TLS != nil && r.TLS.Insecure != lease.InsecureAllow)
		}
		if rarely(t, "headers") {
			r.Headers.Request, r.Headers.Response = headerRules(t), headerRules(t)
		}
	}
	if rarely(t, "annotations") {
		r.Annotations = []lease.RouteAnnotation{{Key: "haproxy.router.openshift.io/balance", Value: "leastconn"}}
	}
	if rarely(t, "labels") {
		r.Labels = map[string]string{"shard": rapid.StringMatching(`[a-z]{0,5}`).Draw(t, "label")}
	}
	return r
}

func backends(t *rapid.T, r *lease.Routing, def *lease.Definition, own int) {
	for i, other := range def.Services {
		if i != own {
			r.Backends = append(r.Backends, lease.Backend{
				Service: other.Name, Port: other.Expose[0].As, Weight: rapid.Uint16Range(0, 256).Draw(t, "weight"),
			})
		}
	}
	if len(r.Backends) > 0 && rapid.Bool().Draw(t, "weighted") {
		w := rapid.Uint16Range(1, 256).Draw(t, "own weight")
		r.Weight = &w
	}
}

func sticky(t *rapid.T, secure bool) *lease.Sticky {
	if rapid.Bool().Draw(t, "disabled") {
		return &lease.Sticky{Disabled: true}
	}
	sameSites := []string{"", "Lax", "Strict", "None"}
	if !secure {
		sameSites = sameSites[:3]
	}
	return &lease.Sticky{Cookie: cookies.Draw(t, "cookie"), SameSite: rapid.SampledFrom(sameSites).Draw(t, "same site")}
}

// tls is what OpenShift's rules allow of certificates and policies.
func tls(t *rapid.T) *lease.TLS {
	all := &lease.TLS{
		Termination: rapid.SampledFrom([]lease.Termination{lease.Edge, lease.Passthrough, lease.Reencrypt}).Draw(t, "termination"),
		Insecure: rapid.SampledFrom([]lease.InsecurePolicy{
			"", lease.InsecureNone, lease.InsecureAllow, lease.InsecureRedirect,
		}).Draw(t, "insecure"),
	}
	if all.Termination == lease.Passthrough {
		if all.Insecure == lease.InsecureAllow {
			all.Insecure = ""
		}
		return all
	}
	all.SecretName = secrets.Draw(t, "secret")
	if all.Termination == lease.Reencrypt {
		all.DestinationCASecretName = secrets.Draw(t, "destination CA")
	}
	if rarely(t, "issuer") {
		all.Issuer = rapid.SampledFrom([]*lease.Issuer{
			{Name: "ca", Kind: "Issuer"}, {Name: "ca", Kind: "ClusterIssuer"}, {Name: "ca", Kind: "Other", Group: "example.com"},
		}).Draw(t, "the issuer")
	}
	return all
}

func headerRules(t *rapid.T) (rules []lease.HeaderRule) {
	for i, name := range rapid.Permutation(headers).Draw(t, "names")[:rapid.IntRange(0, 3).Draw(t, "rules")] {
		rule := lease.HeaderRule{Name: name, Delete: lease.HeaderAction(rapid.Bool().Draw(t, fmt.Sprint("delete ", i)))}
		if !rule.Delete {
			rule.Value = values.Draw(t, "value")
		}
		rules = append(rules, rule)
	}
	return rules
}

func httpOptions(t *rapid.T) lease.HTTPOptions {
	o := lease.HTTPOptions{}
	if rapid.Bool().Draw(t, "body") {
		o.MaxBodySize = rapid.Uint32Range(1, lease.MaxBodySizeLimit).Draw(t, "size")
	}
	if rapid.Bool().Draw(t, "read") {
		o.ReadTimeout = millis(t)
	}
	if rapid.Bool().Draw(t, "send") {
		o.SendTimeout = millis(t)
	}
	if rarely(t, "next") {
		o.NextTries = rapid.Uint32().Draw(t, "tries")
		o.NextTimeout = millis(t)
		o.NextCases = slices.Clone(rapid.SampledFrom([][]string{nil, {"off"}, {"error", "500", "429"}}).Draw(t, "cases"))
	}
	return o
}

func millis(t *rapid.T) time.Duration {
	return time.Duration(rapid.IntRange(1, int(lease.TimeoutLimit/time.Millisecond)).Draw(t, "milliseconds")) * time.Millisecond
}
