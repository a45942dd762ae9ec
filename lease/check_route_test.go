package lease_test

import (
	"strings"
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease"
)

const (
	timeout     = "haproxy.router.openshift.io/timeout"
	rateLimit   = "haproxy.router.openshift.io/rate-limit-connections"
	allowlist   = "haproxy.router.openshift.io/ip_allowlist"
	whitelist   = "haproxy.router.openshift.io/ip_whitelist"
	hsts        = "haproxy.router.openshift.io/hsts_header"
	disable     = "haproxy.router.openshift.io/disable_cookies"
	cookieName  = "router.openshift.io/cookie_name"
	sameSite    = "router.openshift.io/cookie-same-site"
	maxAge      = "max-age=1"
	somebody    = "192.0.2.1"
	interesting = "a.example.com"
)

// routed is a definition with one routed expose, and two services that may share its traffic.
func routed(change func(e *lease.Expose, r *lease.Routing)) *lease.Definition {
	e := lease.Expose{Port: 80, Protocol: lease.TCP, Global: true, Hosts: []lease.Host{{Name: interesting}}}
	r := &lease.Routing{}
	change(&e, r)
	if e.Routing == nil {
		e.Routing = r
	}
	return &lease.Definition{
		Lease: lease.ID{Owner: "akash1xqnd68gm", DSeq: 1, GSeq: 1, OSeq: 1, Provider: "akash1yqd7y67h"},
		Services: []lease.Service{
			{Name: "web", Expose: []lease.Expose{e}},
			{Name: "canary", Expose: []lease.Expose{{Port: 8080, As: 80, Protocol: lease.TCP}, {Port: 53, Protocol: lease.UDP}}},
			{Name: "blue", Expose: []lease.Expose{{Port: 80, Protocol: lease.TCP}}},
			{Name: "green", Expose: []lease.Expose{{Port: 80, Protocol: lease.TCP}}},
			{Name: "red", Expose: []lease.Expose{{Port: 80, Protocol: lease.TCP}}},
		},
	}
}

func weight(w uint16) *uint16 { return &w }

func annotations(pairs ...string) (out []lease.RouteAnnotation) {
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, lease.RouteAnnotation{Key: pairs[i], Value: pairs[i+1]})
	}
	return out
}

func backends(names ...string) (out []lease.Backend) {
	for _, name := range names {
		out = append(out, lease.Backend{Service: name, Weight: 10})
	}
	return out
}

func headers(names ...string) (out []lease.HeaderRule) {
	for _, name := range names {
		out = append(out, lease.HeaderRule{Name: name, Value: "a"})
	}
	return out
}

func TestCheckRouting(t *testing.T) {
	edge, secure := &lease.TLS{Termination: lease.Edge}, &lease.TLS{Insecure: lease.InsecureRedirect}
	through := func() *lease.TLS { return &lease.TLS{Termination: lease.Passthrough} }
	allow := &lease.TLS{Insecure: lease.InsecureAllow}
	for _, c := range []struct {
		name   string
		change func(e *lease.Expose, r *lease.Routing)
		want   string
	}{
		// TLS.
		{"edge", func(_ *lease.Expose, r *lease.Routing) { r.TLS = edge }, ""},
		{"edge on another port", func(e *lease.Expose, r *lease.Routing) { e.Port, r.TLS = 443, edge }, ""},
		{"passthrough", func(_ *lease.Expose, r *lease.Routing) { r.TLS = through() }, ""},
		{"passthrough redirects", func(_ *lease.Expose, r *lease.Routing) { r.TLS = through(); r.TLS.Insecure = lease.InsecureRedirect }, ""},
		{"passthrough none", func(_ *lease.Expose, r *lease.Routing) { r.TLS = through(); r.TLS.Insecure = lease.InsecureNone }, ""},
		{"passthrough allows", func(_ *lease.Expose, r *lease.Routing) { r.TLS = through(); r.TLS.Insecure = lease.InsecureAllow }, "insecure can be None or Redirect, not Allow"},
		{"passthrough, secret", func(_ *lease.Expose, r *lease.Routing) { r.TLS = through(); r.TLS.SecretName = "a" }, "there can be no secretName"},
		{"passthrough, ca", func(_ *lease.Expose, r *lease.Routing) { r.TLS = through(); r.TLS.DestinationCASecretName = "a" }, "there can be no destinationCASecretName"},
		{"passthrough, issuer", func(_ *lease.Expose, r *lease.Routing) { r.TLS = through(); r.TLS.Issuer = &lease.Issuer{Name: "a"} }, "there can be no issuer"},
		{"passthrough, path", func(e *lease.Expose, r *lease.Routing) { r.TLS, e.Path = through(), "/v2" }, "passthrough hides the path"},
		{"passthrough, root", func(e *lease.Expose, r *lease.Routing) { r.TLS, e.Path = through(), "/" }, ""},
		{"passthrough, header", func(_ *lease.Expose, r *lease.Routing) { r.TLS, r.ResponseHeaders = through(), headers("X-A") }, "sees no headers"},
		{"passthrough, sticky", func(_ *lease.Expose, r *lease.Routing) { r.TLS, r.Sticky = through(), &lease.Sticky{} }, "sees no cookies"},
		{"passthrough, http", func(e *lease.Expose, r *lease.Routing) { r.TLS, e.HTTP.NextTries = through(), 7 }, "there can be no http options"},
		{"passthrough, default http", func(e *lease.Expose, r *lease.Routing) { r.TLS, e.HTTP = through(), lease.HTTPOptions{}.WithDefaults() }, ""},
		{"unknown termination", func(_ *lease.Expose, r *lease.Routing) { r.TLS = &lease.TLS{Termination: "Edge"} }, "unknown termination"},
		{"unknown insecure", func(_ *lease.Expose, r *lease.Routing) { r.TLS = &lease.TLS{Insecure: "no"} }, "unknown insecure"},
		{"edge, ca", func(_ *lease.Expose, r *lease.Routing) {
			r.TLS = &lease.TLS{Termination: lease.Edge, DestinationCASecretName: "a"}
		}, "belongs to reencrypt"},
		{"reencrypt", func(_ *lease.Expose, r *lease.Routing) {
			r.TLS = &lease.TLS{Termination: lease.Reencrypt, SecretName: "a.b-c"}
		}, ""},
		{"secret's name", func(_ *lease.Expose, r *lease.Routing) { r.TLS = &lease.TLS{SecretName: "A"} }, `secretName "A" is not the name of a Secret`},
		{"ca's name", func(_ *lease.Expose, r *lease.Routing) { r.TLS = &lease.TLS{DestinationCASecretName: "a/b"} }, `destinationCASecretName "a/b" is not`},
		{"issuer", func(_ *lease.Expose, r *lease.Routing) {
			r.TLS = &lease.TLS{SecretName: "a", Issuer: &lease.Issuer{Name: "a", Kind: "ClusterIssuer", Group: "cert-manager.io"}}
		}, ""},
		{"issuer alone", func(_ *lease.Expose, r *lease.Routing) { r.TLS = &lease.TLS{Issuer: &lease.Issuer{Name: "a"}} }, ""},
		{"issuer's name", func(_ *lease.Expose, r *lease.Routing) {
			r.TLS = &lease.TLS{SecretName: "a", Issuer: &lease.Issuer{Name: "A"}}
		}, "the issuer's name"},
		{"issuer's kind", func(_ *lease.Expose, r *lease.Routing) {
			r.TLS = &lease.TLS{SecretName: "a", Issuer: &lease.Issuer{Name: "a", Kind: "AWSPCAIssuer"}}
		}, "unknown kind of issuer"},
		{"another group's kind", func(_ *lease.Expose, r *lease.Routing) {
			r.TLS = &lease.TLS{SecretName: "a", Issuer: &lease.Issuer{Name: "a", Kind: "AWSPCAIssuer", Group: "awspca.cert-manager.io"}}
		}, ""},
		{"another group, no kind", func(_ *lease.Expose, r *lease.Routing) {
			r.TLS = &lease.TLS{SecretName: "a", Issuer: &lease.Issuer{Name: "a", Group: "pki.example.com"}}
		}, "is not a kind"},
		{"group", func(_ *lease.Expose, r *lease.Routing) {
			r.TLS = &lease.TLS{SecretName: "a", Issuer: &lease.Issuer{Name: "a", Kind: "A", Group: "group"}}
		}, "is not an API group"},

		// What is routed.
		{"tls, not global", func(e *lease.Expose, r *lease.Routing) { e.Global, r.TLS = false, edge }, "only ports that are routed over HTTP have tls"},
		{"tls, UDP", func(e *lease.Expose, r *lease.Routing) { e.Protocol, r.TLS = lease.UDP, edge }, "have tls"},
		{"weight, port 81", func(e *lease.Expose, r *lease.Routing) { e.Port, r.Weight = 81, weight(1) }, "have a weight"},
		{"backends, port 81", func(e *lease.Expose, r *lease.Routing) { e.Port, r.Backends = 81, backends("blue") }, "have alternateBackends"},
		{"sticky, port 81", func(e *lease.Expose, r *lease.Routing) { e.Port, r.Sticky = 81, &lease.Sticky{} }, "have sticky"},
		{"headers, port 81", func(e *lease.Expose, r *lease.Routing) { e.Port, r.RequestHeaders = 81, headers("a") }, "have headers"},
		{"annotations, port 81", func(e *lease.Expose, r *lease.Routing) { e.Port, r.Annotations = 81, annotations(timeout, "1s") }, "have annotations"},
		{"labels, port 81", func(e *lease.Expose, r *lease.Routing) { e.Port, r.Labels = 81, map[string]string{"a": "b"} }, "have labels"},
		{"path, port 81", func(e *lease.Expose, _ *lease.Routing) { e.Port, e.Path = 81, "/a" }, "have a path"},
		{"path", func(e *lease.Expose, _ *lease.Routing) { e.Path = "/a" }, ""},
		{"wildcard", func(e *lease.Expose, _ *lease.Routing) { e.Hosts[0].Name = "*.example.com" }, ""},
		{"long host", func(e *lease.Expose, r *lease.Routing) { e.Hosts[0].Name, r.TLS = strings.Repeat("a.", 122)+"a", edge }, ""},
		{"long host, redirect", func(e *lease.Expose, r *lease.Routing) {
			e.Hosts[0].Name, r.TLS = strings.Repeat("a.", 122)+"a", secure
		}, "a name of 254 characters"},
		{"wide wildcard", func(e *lease.Expose, _ *lease.Routing) { e.Hosts[0].Name = "*.com" }, "covers a whole top-level domain"},

		// Weights.
		{"weight alone", func(_ *lease.Expose, r *lease.Routing) { r.Weight = weight(100) }, "and there are none"},
		{"three backends", func(_ *lease.Expose, r *lease.Routing) {
			r.Backends, r.Weight = backends("canary", "blue", "green"), weight(256)
		}, ""},
		{"four backends", func(_ *lease.Expose, r *lease.Routing) { r.Backends = backends("canary", "blue", "green", "red") }, "at most 3 are allowed"},
		{"weight 257", func(_ *lease.Expose, r *lease.Routing) { r.Backends, r.Weight = backends("blue"), weight(257) }, "257 is not a weight"},
		{"backend's 257", func(_ *lease.Expose, r *lease.Routing) { r.Backends = []lease.Backend{{Service: "blue", Weight: 257}} }, "257 is not a weight"},
		{"all 0", func(_ *lease.Expose, r *lease.Routing) {
			r.Backends, r.Weight = []lease.Backend{{Service: "blue"}}, weight(0)
		}, "all weights are 0"},
		{"own 0", func(_ *lease.Expose, r *lease.Routing) { r.Backends, r.Weight = backends("blue"), weight(0) }, ""},
		{"itself", func(_ *lease.Expose, r *lease.Routing) { r.Backends = backends("web") }, `service "web" is named twice`},
		{"twice", func(_ *lease.Expose, r *lease.Routing) { r.Backends = backends("blue", "blue") }, `service "blue" is named twice`},
		{"unknown", func(_ *lease.Expose, r *lease.Routing) { r.Backends = backends("canari") }, `no service named "canari"; did you mean "canary"?`},
		{"port", func(_ *lease.Expose, r *lease.Routing) {
			r.Backends = []lease.Backend{{Service: "canary", Port: 8080, Weight: 1}}
		}, `service "canary" exposes no TCP port 8080`},
		{"port outside", func(_ *lease.Expose, r *lease.Routing) {
			r.Backends = []lease.Backend{{Service: "canary", Port: 80, Weight: 1}}
		}, ""},
		{"UDP port", func(_ *lease.Expose, r *lease.Routing) {
			r.Backends = []lease.Backend{{Service: "canary", Port: 53, Weight: 1}}
		}, "no TCP port 53"},

		// Sticky sessions.
		{"sticky", func(_ *lease.Expose, r *lease.Routing) { r.Sticky = &lease.Sticky{Cookie: "a-B_1", SameSite: "Lax"} }, ""},
		{"cookie", func(_ *lease.Expose, r *lease.Routing) { r.Sticky = &lease.Sticky{Cookie: "a b"} }, "not the name of a cookie"},
		{"sameSite", func(_ *lease.Expose, r *lease.Routing) { r.Sticky = &lease.Sticky{SameSite: "lax"} }, "unknown sameSite"},
		{"None, plain", func(_ *lease.Expose, r *lease.Routing) { r.Sticky = &lease.Sticky{SameSite: "None"} }, "sameSite None needs tls"},
		{"None, allowed", func(_ *lease.Expose, r *lease.Routing) { r.TLS, r.Sticky = allow, &lease.Sticky{SameSite: "None"} }, "sameSite None needs tls"},
		{"None, tls", func(_ *lease.Expose, r *lease.Routing) { r.TLS, r.Sticky = secure, &lease.Sticky{SameSite: "None"} }, ""},
		{"disabled", func(_ *lease.Expose, r *lease.Routing) { r.Sticky = &lease.Sticky{Disabled: true} }, ""},
		{"disabled cookie", func(_ *lease.Expose, r *lease.Routing) { r.Sticky = &lease.Sticky{Disabled: true, Cookie: "a"} }, "sticky is disabled"},

		// Headers.
		{"headers", func(_ *lease.Expose, r *lease.Routing) {
			r.RequestHeaders, r.ResponseHeaders = headers("a", "b"), headers("a")
		}, ""},
		{"20 headers", func(_ *lease.Expose, r *lease.Routing) {
			r.RequestHeaders = headers(strings.Split(letters[:39], " ")...)
		}, ""},
		{"21 headers", func(_ *lease.Expose, r *lease.Routing) {
			r.RequestHeaders = headers(strings.Split(letters[:41], " ")...)
		}, "there are 21 rules"},
		{"header twice", func(_ *lease.Expose, r *lease.Routing) { r.ResponseHeaders = headers("X-A", "x-a") }, "two rules for the header"},
		{"header's name", func(_ *lease.Expose, r *lease.Routing) { r.ResponseHeaders = headers("Set-Cookie") }, "may not be changed"},
		{"header's value", func(_ *lease.Expose, r *lease.Routing) {
			r.ResponseHeaders = []lease.HeaderRule{{Name: "a", Value: "%T"}}
		}, "begins no expression"},
		{"no value", func(_ *lease.Expose, r *lease.Routing) { r.ResponseHeaders = []lease.HeaderRule{{Name: "a"}} }, "is empty"},
		{"deleted value", func(_ *lease.Expose, r *lease.Routing) {
			r.ResponseHeaders = []lease.HeaderRule{{Name: "a", Delete: true, Value: "b"}}
		}, "has no value"},
		{"other direction", func(_ *lease.Expose, r *lease.Routing) {
			r.ResponseHeaders = []lease.HeaderRule{{Name: "a", Value: "%[req.hdr(a)]"}}
		}, "%[res.hdr(Host)]"},

		// Annotations.
		{"timeout", func(_ *lease.Expose, r *lease.Routing) { r.Annotations = annotations(timeout, "30s") }, ""},
		{"bad timeout", func(_ *lease.Expose, r *lease.Routing) { r.Annotations = annotations(timeout, "1d12h") }, `"1d12h" is not a time: it takes a whole number from 1, then us, ms, s, m, h, d, or nothing for ms, such as "30s"`},
		{"unknown annotation", func(_ *lease.Expose, r *lease.Routing) {
			r.Annotations = annotations("nginx.ingress.kubernetes.io/server-snippet", "x")
		}, "could configure any router"},
		{"misspelt", func(_ *lease.Expose, r *lease.Routing) {
			r.Annotations = annotations("router.openshift.io/ip-allowlist", somebody)
		}, "did you mean " + allowlist},
		{"termination", func(_ *lease.Expose, r *lease.Routing) {
			r.Annotations = annotations("route.openshift.io/termination", "edge")
		}, "is set by tls.termination"},
		{"cert-manager", func(_ *lease.Expose, r *lease.Routing) { r.Annotations = annotations("cert-manager.io/issuer", "a") }, "is set by tls.issuer"},
		{"twice the key", func(_ *lease.Expose, r *lease.Routing) { r.Annotations = annotations(timeout, "1s", timeout, "2s") }, "is given twice"},
		{"too much", func(_ *lease.Expose, r *lease.Routing) {
			r.Annotations = annotations(allowlist, somebody+strings.Repeat(" "+somebody, 15000))
		}, "bytes together"},
		{"allowlist", func(_ *lease.Expose, r *lease.Routing) { r.Annotations = annotations(allowlist, somebody+" foo") }, `"foo" is neither`},
		{"both lists", func(_ *lease.Expose, r *lease.Routing) {
			r.Annotations = annotations(allowlist, somebody, whitelist, somebody)
		}, "give one of the two"},
		{"old list", func(_ *lease.Expose, r *lease.Routing) { r.Annotations = annotations(whitelist, somebody) }, ""},
		{"rate", func(_ *lease.Expose, r *lease.Routing) {
			r.Annotations = annotations(rateLimit+".rate-tcp", "3", rateLimit, "true")
		}, ""},
		{"rate without", func(_ *lease.Expose, r *lease.Routing) { r.Annotations = annotations(rateLimit+".rate-tcp", "3") }, "ignores this without " + rateLimit},
		{"rate turned off", func(_ *lease.Expose, r *lease.Routing) {
			r.Annotations = annotations(rateLimit+".rate-tcp", "3", rateLimit, "false")
		}, "ignores this without"},
		{"hsts", func(_ *lease.Expose, r *lease.Routing) { r.TLS, r.Annotations = edge, annotations(hsts, maxAge) }, ""},
		{"hsts, plain", func(_ *lease.Expose, r *lease.Routing) { r.Annotations = annotations(hsts, maxAge) }, "add tls"},
		{"hsts, passthrough", func(_ *lease.Expose, r *lease.Routing) { r.TLS, r.Annotations = through(), annotations(hsts, maxAge) }, "sees no requests"},
		{"timeout, passthrough", func(_ *lease.Expose, r *lease.Routing) {
			r.TLS, r.Annotations = through(), annotations(timeout, "1h", allowlist, somebody)
		}, ""},
		{"rewrite, passthrough", func(_ *lease.Expose, r *lease.Routing) {
			r.TLS, r.Annotations = through(), annotations("haproxy.router.openshift.io/rewrite-target", "/")
		}, "sees no requests"},
		{"same site", func(_ *lease.Expose, r *lease.Routing) { r.TLS, r.Annotations = edge, annotations(sameSite, "Lax") }, ""},
		{"same site, plain", func(_ *lease.Expose, r *lease.Routing) { r.Annotations = annotations(sameSite, "Lax") }, "add tls"},
		{"same site, allowed", func(_ *lease.Expose, r *lease.Routing) { r.TLS, r.Annotations = allow, annotations(sameSite, "Lax") }, "insecure: Allow"},
		{"cookie and sticky", func(_ *lease.Expose, r *lease.Routing) {
			r.Sticky, r.Annotations = &lease.Sticky{}, annotations(cookieName, "a")
		}, "sticky says this too"},
		{"cookie and none", func(_ *lease.Expose, r *lease.Routing) { r.Annotations = annotations(cookieName, "a", disable, "true") }, "ignores this with " + disable},

		// Labels.
		{"labels", func(_ *lease.Expose, r *lease.Routing) {
			r.Labels = map[string]string{"shard": "public", "example.com/a": ""}
		}, ""},
		{"label", func(_ *lease.Expose, r *lease.Routing) { r.Labels = map[string]string{"a b": "c"} }, `"a b" is not a label`},
		{"value", func(_ *lease.Expose, r *lease.Routing) { r.Labels = map[string]string{"a": "b c"} }, `"b c" is not the value of a label`},
		{"Akash's label", func(_ *lease.Expose, r *lease.Routing) { r.Labels = map[string]string{"akash.network": "true"} }, "not yours"},
		{"Akash's domain", func(_ *lease.Expose, r *lease.Routing) {
			r.Labels = map[string]string{"akash.network/lease.id.dseq": "1"}
		}, "not yours"},
		{"our domain", func(_ *lease.Expose, r *lease.Routing) {
			r.Labels = map[string]string{"net.akash.network/managed": "true"}
		}, "not yours"},
		{"cert-manager's label", func(_ *lease.Expose, r *lease.Routing) {
			r.Labels = map[string]string{"acme.cert-manager.io/http01-solver": "true"}
		}, "the domain cert-manager.io is reserved"},
		{"Argo CD's label", func(_ *lease.Expose, r *lease.Routing) {
			r.Labels = map[string]string{"argocd.argoproj.io/instance": "a"}
		}, "the domain argoproj.io is reserved"},
		{"kubernetes' domain", func(_ *lease.Expose, r *lease.Routing) { r.Labels = map[string]string{"app.kubernetes.io/name": "a"} }, "not yours"},
		{"a domain like ours", func(_ *lease.Expose, r *lease.Routing) { r.Labels = map[string]string{"myakash.network/a": "b"} }, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := lease.Check(routed(c.change)).Error()
			if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
				t.Errorf("problems %q, want %q", got, c.want)
			}
		})
	}
}

const letters = "a b c d e f g h i j k l m n o p q r s t u v w x y z"
