package render

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	netv1 "k8s.io/api/networking/v1"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/grammar"
)

// ingress reads an Ingress with one rule and one path, the form that this program and Akash's provider write.
func (r *reader) ingress() error {
	o, err := as[netv1.Ingress](r.Route)
	if err != nil {
		return err
	}
	spec := o.Spec
	if len(spec.Rules) != 1 || spec.Rules[0].HTTP == nil || len(spec.Rules[0].HTTP.Paths) != 1 || spec.DefaultBackend != nil {
		return fmt.Errorf("it does not have exactly one rule with one path")
	}
	rule, path := spec.Rules[0], spec.Rules[0].HTTP.Paths[0]
	if path.PathType != nil && *path.PathType != netv1.PathTypePrefix {
		return fmt.Errorf("its path is of type %s, not Prefix", *path.PathType)
	}
	if rule.Host == "" {
		return fmt.Errorf("it is for every host")
	}
	if path.Backend.Service == nil {
		return fmt.Errorf("it leads to no Service")
	}
	r.Host, r.Expose.Path = rule.Host, path.Path
	if err := r.ingressClass(spec); err != nil {
		return err
	}
	service := path.Backend.Service
	port := uint16(service.Port.Number)
	for _, p := range r.Ports[service.Name] {
		if port == 0 && p.Name == service.Port.Name {
			port = p.Port
		}
	}
	if port == 0 {
		return fmt.Errorf("it leads to port %q of Service %s, which is not there", service.Port.Name, service.Name)
	}
	r.setService(service.Name, port)
	r.nginx = r.Route.GetAnnotations()
	r.readNGINX(nginxPrefix, "proxy-body-size")
	r.ingressSticky()
	return r.ingressTLS(spec)
}

func (r *reader) ingressSticky() {
	affinity := r.take(nginxPrefix + "affinity")
	if affinity != "cookie" {
		if affinity != "" {
			r.lose(nginxPrefix+"affinity", "only \"cookie\" is supported, not %q", affinity)
		}
		return
	}
	r.Expose.Routing.Sticky = &lease.Sticky{
		Cookie: r.take(nginxPrefix + "session-cookie-name"), SameSite: r.take(nginxPrefix + "session-cookie-samesite"),
	}
}

// ingressClass returns an error if the Ingress is not of the configured IngressClass: another controller serves it, to
// others. The annotation is stronger than the field.
func (r *reader) ingressClass(spec netv1.IngressSpec) error {
	class := r.take("kubernetes.io/ingress.class")
	if class == "" && spec.IngressClassName != nil {
		class = *spec.IngressClassName
	}
	if want := r.cfg.Ingress.ClassName; class != "" && class != want {
		return fmt.Errorf("it is of the IngressClass %q, not of %q as in the provider's configuration (ingress.className)",
			class, want)
	}
	return nil
}

// ingressTLS reads the TLS settings.
func (r *reader) ingressTLS(spec netv1.IngressSpec) error {
	const prefix = nginxPrefix
	insecure := lease.InsecurePolicy("")
	if !r.takeNginxBool("ssl-redirect", true) {
		insecure = lease.InsecureAllow
	}
	if r.takeNginxBool("force-ssl-redirect", false) {
		insecure = lease.InsecureRedirect
	}
	passthrough, protocol := r.takeNginxBool("ssl-passthrough", false), strings.ToUpper(r.take(prefix+"backend-protocol"))
	if protocol != "" && protocol != "HTTP" && protocol != "HTTPS" {
		return fmt.Errorf("its backend speaks %s (%sbackend-protocol), which a lease definition cannot express", protocol, prefix)
	}
	if !passthrough && protocol != "HTTPS" && len(spec.TLS) == 0 {
		if insecure == lease.InsecureRedirect {
			return fmt.Errorf("it redirects to TLS, and has no TLS of its own (spec.tls): something before the controller ends it")
		}
		return nil
	}
	tls := r.tls()
	tls.Insecure = insecure
	switch {
	case len(spec.TLS) > 0 && r.namesHost(spec.TLS):
		r.plain = lease.InsecureRedirect
	case len(spec.TLS) > 0 && insecure == "":
		return fmt.Errorf("whether it redirects to TLS cannot be seen: its TLS (spec.tls) does not name %s", r.Host)
	case !passthrough:
		r.plain = lease.InsecureAllow
	}
	switch {
	case passthrough:
		tls.Termination = lease.Passthrough
		return nil
	case protocol == "HTTPS":
		tls.Termination = lease.Reencrypt
		if err := r.ingressCA(tls); err != nil {
			return err
		}
	default:
		tls.Termination = lease.Edge
	}
	if len(spec.TLS) > 0 {
		tls.SecretName = spec.TLS[0].SecretName
	}
	r.ingressIssuer(tls)
	return nil
}

// namesHost reports whether the TLS of an Ingress is for its host. ingress-nginx then redirects requests without TLS,
// also if there is no certificate.
func (r *reader) namesHost(all []netv1.IngressTLS) bool {
	return slices.ContainsFunc(all, func(tls netv1.IngressTLS) bool {
		return slices.ContainsFunc(tls.Hosts, func(host string) bool { return strings.EqualFold(host, r.Host) })
	})
}

// ingressCA reads how the backend's certificate is verified. It returns an error for any verification that a definition
// cannot express, because dropping it would weaken the route.
func (r *reader) ingressCA(tls *lease.TLS) error {
	secret, verify := r.take(nginxPrefix+"proxy-ssl-secret"), r.take(nginxPrefix+"proxy-ssl-verify")
	name := r.take(nginxPrefix + "proxy-ssl-name")
	r.take(nginxPrefix + "proxy-ssl-server-name")
	if secret == "" && verify != "on" {
		return nil
	}
	namespace, ca, _ := strings.Cut(secret, "/")
	if namespace != r.Lease.Namespace() || ca == "" || verify != "on" {
		return fmt.Errorf("%sproxy-ssl-secret %s: only a CA in the lease's namespace that is verified is supported", nginxPrefix,
			secret)
	}
	if want := r.Service + "." + namespace + ".svc"; name != want {
		return fmt.Errorf("%sproxy-ssl-name %s: the certificate is verified for %s", nginxPrefix, name, want)
	}
	tls.DestinationCASecretName = ca
	return nil
}

func (r *reader) ingressIssuer(tls *lease.TLS) {
	const prefix = "cert-manager.io/"
	cluster, name := r.take(prefix+"cluster-issuer"), r.take(prefix+"issuer")
	switch {
	case cluster != "":
		tls.Issuer = &lease.Issuer{Name: cluster, Kind: "ClusterIssuer"}
	case name != "":
		tls.Issuer = &lease.Issuer{Name: name, Kind: r.take(prefix + "issuer-kind"), Group: r.take(prefix + "issuer-group")}
		if tls.Issuer.Kind == "" && tls.Issuer.Group == "" {
			tls.Issuer.Kind = "Issuer"
		}
	}
	if tls.Issuer != nil && tls.SecretName == r.Route.GetName() {
		tls.SecretName = "" // the name of the Secret if the definition names none
	}
}

// gatewayPrefix is the prefix of the annotations that Akash's provider writes on HTTPRoutes.
const gatewayPrefix = "nginx.org/"

// GatewayAnnotations converts the HTTP options in an Ingress's annotations to annotations of an HTTPRoute, as Akash's
// provider does (provider: migrations/ingress_to_httproute.go): it rounds numbers up, copies the size and the failure
// cases unchanged, and uses Akash's defaults for missing and unreadable values.
func GatewayAnnotations(ingress map[string]string) map[string]string {
	from := func(key string) string { return ingress[nginxPrefix+key] }
	number := func(key string, otherwise int64) string {
		return strconv.FormatInt(wholeNumber(from(key), otherwise), 10)
	}
	a := map[string]string{
		gatewayPrefix + "client-max-body-size":      "1m",
		gatewayPrefix + "proxy-read-timeout":        number("proxy-read-timeout", 60),
		gatewayPrefix + "proxy-send-timeout":        number("proxy-send-timeout", 60),
		gatewayPrefix + "proxy-next-upstream-tries": number("proxy-next-upstream-tries", 3),
	}
	if size := from("proxy-body-size"); size != "" {
		a[gatewayPrefix+"client-max-body-size"] = size
	}
	if cases := from("proxy-next-upstream"); cases != "" {
		a[gatewayPrefix+"proxy-next-upstream"] = cases
	}
	if wholeNumber(from("proxy-next-upstream-timeout"), 0) > 0 {
		a[gatewayPrefix+"proxy-next-upstream-timeout"] = number("proxy-next-upstream-timeout", 0) + "s"
	}
	return a
}

// wholeNumber reads a number and rounds it up. It returns otherwise if the text is not a number.
func wholeNumber(text string, otherwise int64) int64 {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(n) || n < 0 || n > math.MaxUint32 {
		return otherwise
	}
	return int64(math.Ceil(n))
}

// readNGINX reads the HTTP options from nginx's annotations with the prefix. body is the key of the body size.
func (r *reader) readNGINX(prefix, body string) {
	o := &r.Expose.HTTP
	option := func(key string, read func(text string) bool) {
		text, given := r.annotations[prefix+key]
		if given && read(text) {
			r.take(prefix + key)
		}
	}
	option(body, func(s string) bool { return readSize(s, &o.MaxBodySize) })
	option("proxy-read-timeout", func(s string) bool { return readSeconds(s, &o.ReadTimeout) })
	option("proxy-send-timeout", func(s string) bool { return readSeconds(s, &o.SendTimeout) })
	option("proxy-next-upstream-timeout", func(s string) bool {
		return s == "0" || readSeconds(s, &o.NextTimeout)
	})
	option("proxy-next-upstream-tries", func(s string) bool {
		n := wholeNumber(s, 0)
		o.NextTries = uint32(n)
		return n > 0
	})
	option("proxy-next-upstream", func(s string) bool { return readCases(s, &o.NextCases) })
}

// readSeconds reads a duration in nginx's format: seconds without a unit, or a number with a unit.
func readSeconds(text string, into *time.Duration) bool {
	if n := wholeNumber(text, 0); n > 0 {
		*into = time.Duration(n) * time.Second
		return true
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 || d%time.Millisecond != 0 {
		return false
	}
	*into = d
	return true
}

// readSize reads a size in nginx's format. A definition cannot express 0, which means unlimited.
func readSize(text string, into *uint32) bool {
	digits, unit := strings.ToLower(text), uint64(1)
	for suffix, factor := range map[string]uint64{"k": 1 << 10, "m": 1 << 20, "g": 1 << 30} {
		if rest, ok := strings.CutSuffix(digits, suffix); ok {
			digits, unit = rest, factor
			break
		}
	}
	n, err := strconv.ParseUint(digits, 10, 32)
	if err != nil || n == 0 || n*unit > math.MaxUint32 {
		return false
	}
	*into = uint32(n * unit)
	return true
}

// readCases reads the failures after which nginx tries another backend. A definition can express only those that Akash
// accepts.
func readCases(text string, into *[]string) bool {
	var cases []string
	for _, c := range strings.Fields(text) {
		c = strings.TrimPrefix(c, "http_")
		if !lease.IsNextCase(c) {
			return false
		}
		cases = append(cases, c)
	}
	*into = cases
	return len(cases) > 0
}

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
