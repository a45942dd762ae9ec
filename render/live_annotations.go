package render

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/grammar"
)

// harmlessDomains are the domains of annotations that no router reads: those of the tools that deploy, back up, watch
// and describe objects, of cert-manager, and of external-dns. A key without a domain is nobody's.
var harmlessDomains = []string{
	"", "kubectl.kubernetes.io", "deployment.kubernetes.io", "app.kubernetes.io", "external-dns.kubernetes.io",
	"external-dns.alpha.kubernetes.io",
	"helm.sh", "helm.toolkit.fluxcd.io", "kustomize.toolkit.fluxcd.io", "fluxcd.io", "config.kubernetes.io",
	"internal.config.kubernetes.io", "config.k8s.io", "kustomize.config.k8s.io", "argoproj.io", "k14s.io", "cattle.io",
	"cert-manager.io", "prometheus.io", "velero.io", "stakater.com", "kyverno.io", "gethomepage.dev", "pulumi.com",
}

// harmless are the annotations of routers that only tune a route, or that do nothing without an annotation that is not
// among them. An entry that ends in * is the beginning of several.
var harmless = map[string][]string{
	"kubernetes.io": {"change-cause", "description", "tls-acme"},
	"nginx.ingress.kubernetes.io": {
		"affinity*", "session-cookie-*", "load-balance", "upstream-hash-by*", "service-upstream",
		"limit-*", "client-body-buffer-size", "client-header-*", "client-body-timeout", "custom-http-errors",
		"proxy-body-size", "proxy-buffer*", "proxy-busy-buffers-size", "proxy-max-temp-file-size", "proxy-request-buffering",
		"proxy-connect-timeout", "proxy-read-timeout", "proxy-send-timeout", "proxy-next-upstream*", "proxy-http-version",
		"proxy-ssl-*", "ssl-ciphers", "ssl-prefer-server-ciphers", "http2-push-preload", "preserve-trailing-slash",
		"enable-access-log", "enable-rewrite-log", "enable-opentelemetry", "enable-opentracing", "opentelemetry-*",
		"opentracing-*", "canary-*", "cors-*", "auth-cache-*", "auth-keepalive*", "auth-realm", "auth-secret-type",
		"auth-method", "auth-signin*", "auth-response-headers", "auth-request-redirect", "auth-always-set-cookie",
		"auth-proxy-set-headers", "auth-tls-verify-*", "auth-tls-error-page", "auth-tls-pass-*", "auth-tls-match-cn",
		"permanent-redirect-code", "temporal-redirect-code", "relative-redirects", "mirror-request-body", "mirror-host",
		"connection-proxy-header", "disable-proxy-intercept-errors", "use-port-in-redirects",
	},
	"nginx.org": {
		"client-max-body-size", "proxy-buffer*", "proxy-max-temp-file-size", "proxy-connect-timeout", "proxy-read-timeout",
		"proxy-send-timeout", "proxy-next-upstream*", "keepalive", "max-fails", "fail-timeout", "lb-method",
	},
}

// nginxBooleans are those of ingress-nginx's annotations that are true or false, and do nothing if they are false. Not
// even enable-global-auth, which is true by default: no other router has that authentication.
var nginxBooleans = []string{
	"canary", "use-regex", "from-to-www-redirect", "enable-cors", "enable-global-auth", "enable-modsecurity",
	"enable-owasp-core-rules",
}

// checkAnnotations reports the annotations that were not read as lost, or returns an error for one that may decide
// which requests are accepted or where they go: without it, the route would serve others. Only annotations that are
// known to be harmless are dropped, because any other may be that of a controller.
func (r *reader) checkAnnotations() error {
	for _, key := range nginxBooleans {
		if on, said := r.nginxBool(key, false); said && !on {
			r.take(nginxPrefix + key)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(r.annotations)) {
		value := r.annotations[key]
		switch {
		case value == "" || r.isHarmless(key):
			r.lose(key, "")
		case strings.HasPrefix(key, nginxPrefix):
			return fmt.Errorf("%s: %s decides who reaches what, which a lease definition cannot express", key, lease.Clip(value))
		default:
			return fmt.Errorf("%s: %s may decide who reaches what, which a lease definition cannot express; "+
				"remove the annotation if nothing reads it", key, lease.Clip(value))
		}
	}
	return nil
}

func (r *reader) isHarmless(key string) bool {
	domain, name, found := strings.Cut(key, "/")
	if !found {
		domain, name = "", key
	}
	if slices.ContainsFunc(harmlessDomains, func(d string) bool {
		return domain == d || d != "" && strings.HasSuffix(domain, "."+d)
	}) {
		return true
	}
	if _, known := grammar.Find(key); known && r.Route.GetKind() == kinds.Route.Kind {
		return true // a value that the router ignores
	}
	return slices.ContainsFunc(harmless[domain], func(h string) bool {
		beginning, several := strings.CutSuffix(h, "*")
		return name == h || several && strings.HasPrefix(name, beginning)
	})
}

// nginxBool returns a boolean annotation as ingress-nginx reads it: one that is neither true nor false has the default.
// said is false if the route does not have the annotation.
func (r *reader) nginxBool(key string, byDefault bool) (value, said bool) {
	text, said := r.annotations[nginxPrefix+key]
	value, err := strconv.ParseBool(text)
	if err != nil {
		value = byDefault
	}
	return value, said
}

// takeNginxBool is nginxBool for an annotation that is read.
func (r *reader) takeNginxBool(key string, byDefault bool) bool {
	value, _ := r.nginxBool(key, byDefault)
	r.take(nginxPrefix + key)
	return value
}
