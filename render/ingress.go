package render

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	netv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	netac "k8s.io/client-go/applyconfigurations/networking/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	gwac "sigs.k8s.io/gateway-api/applyconfiguration/apis/v1"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
)

// nginxPrefix is the prefix of ingress-nginx's annotations.
const nginxPrefix = "nginx.ingress.kubernetes.io/"

// ingress routes a path of a host as Akash's provider does in ingress mode (provider: cluster/kube/client_ingress.go).
// Akash's hostname operator stops at an Ingress with more than one rule or path.
func (l *leased) ingress(r route) Object {
	backend := netac.IngressBackend().WithService(netac.IngressServiceBackend().
		WithName(r.service).
		WithPort(netac.ServiceBackendPort().WithNumber(int32(r.port))))
	path := netac.HTTPIngressPath().
		WithPath(r.path).
		WithPathType(netv1.PathTypePrefix).
		WithBackend(backend)
	annotations := l.ingressAnnotations(r.http)
	spec := netac.IngressSpec().
		WithIngressClassName(l.cfg.Ingress.ClassName).
		WithRules(netac.IngressRule().
			WithHost(r.host).
			WithHTTP(netac.HTTPIngressRuleValue().WithPaths(path)))
	if r.routing != nil {
		l.ingressRouting(r, annotations, spec)
	}
	name := r.name()
	config := netac.Ingress(name, l.namespace).
		WithLabels(l.routeLabels(r, r.known())).
		WithAnnotations(annotations).
		WithSpec(spec)
	return Object{Kind: kinds.Ingress, Namespace: l.namespace, Name: name, Config: config}
}

// ingressAnnotations returns the HTTP options for ingress-nginx. It always includes all of them.
func (l *leased) ingressAnnotations(o lease.HTTPOptions) map[string]string {
	a := l.annotations()
	maps.Copy(a, OptionsOf(kinds.Ingress, o))
	return a
}

// ingressRouting writes the settings that ingress-nginx and cert-manager read from annotations, and refuses the others.
func (l *leased) ingressRouting(r route, a map[string]string, spec *netac.IngressSpecApplyConfiguration) {
	at := r.routing.At
	if len(r.routing.Backends) > 0 {
		l.refuse(r, at.AlternateBackends, "an Ingress leads to one service: use the target httproute or route")
	}
	if len(r.routing.Headers.Request)+len(r.routing.Headers.Response) > 0 {
		l.refuse(r, at.Headers, "an Ingress has no header rules: use the target httproute or route")
	}
	l.refuseAnnotations(r)
	if s := r.routing.Sticky; s != nil && !s.Disabled {
		a[nginxPrefix+"affinity"] = "cookie"
		if s.Cookie != "" {
			a[nginxPrefix+"session-cookie-name"] = s.Cookie
		}
		if s.SameSite != "" {
			a[nginxPrefix+"session-cookie-samesite"] = s.SameSite
		}
	}
	if r.routing.TLS != nil {
		l.ingressTLS(r, a, spec)
	}
}

// ingressTLS writes the TLS settings. With passthrough, nginx selects the backend by the host alone, and the rule
// applies only to requests without TLS.
func (l *leased) ingressTLS(r route, a map[string]string, spec *netac.IngressSpecApplyConfiguration) {
	switch r.routing.TLS.Insecure {
	case lease.InsecureNone:
		l.refuse(r, r.routing.At.TLS, "ingress-nginx answers requests without TLS for every host: "+
			"write Redirect or Allow as the insecure policy, or use the target httproute or route")
	case lease.InsecureAllow:
		a[nginxPrefix+"ssl-redirect"] = "false"
	case lease.InsecureRedirect:
		a[nginxPrefix+"force-ssl-redirect"] = "true"
	}
	switch r.routing.TLS.Termination {
	case lease.Passthrough:
		a[nginxPrefix+"ssl-passthrough"] = "true"
		return
	case lease.Reencrypt:
		a[nginxPrefix+"backend-protocol"] = "HTTPS"
		if ca := r.routing.TLS.DestinationCASecretName; ca != "" {
			a[nginxPrefix+"proxy-ssl-secret"] = l.namespace + "/" + ca
			a[nginxPrefix+"proxy-ssl-verify"] = "on"
			a[nginxPrefix+"proxy-ssl-name"] = backendName(l.namespace, r.service)
			a[nginxPrefix+"proxy-ssl-server-name"] = "on"
		}
	}
	tls := netac.IngressTLS().WithHosts(r.host)
	if secret := l.ingressSecret(r, a); secret != "" {
		tls.WithSecretName(secret)
	}
	spec.WithTLS(tls)
}

// ingressSecret returns the Secret with the host's certificate, or "" for nginx's default certificate. If an issuer is
// set, cert-manager creates the Secret; it finds external issuers only by kind and group (cert-manager:
// pkg/controller/certificate-shim).
func (l *leased) ingressSecret(r route, a map[string]string) string {
	const prefix = "cert-manager.io/"
	tls := r.routing.TLS
	if tls.Issuer == nil {
		return tls.SecretName
	}
	issuer := tls.Issuer
	switch {
	case issuer.Group == "" && issuer.Kind == "ClusterIssuer":
		a[prefix+"cluster-issuer"] = issuer.Name
	default:
		a[prefix+"issuer"] = issuer.Name
		if issuer.Group != "" || issuer.Kind != "" && issuer.Kind != "Issuer" {
			a[prefix+"issuer-kind"] = issuer.Kind
		}
		if issuer.Group != "" {
			a[prefix+"issuer-group"] = issuer.Group
		}
	}
	if tls.SecretName == "" {
		return r.name()
	}
	if l.issued[tls.SecretName] {
		l.refuse(r, r.routing.At.TLS,
			"cert-manager writes one certificate for each Ingress, but several hosts or paths share the Secret %q: "+
				"leave its name out, and each gets a Secret of its own", tls.SecretName)
	}
	l.issued[tls.SecretName] = true
	return tls.SecretName
}

// seconds returns whole seconds, rounded up: nginx has no smaller unit here, and 0 has another meaning.
func seconds(d time.Duration) string {
	return strconv.FormatInt(int64((d+time.Second-1)/time.Second), 10)
}

// nextCases returns the list in nginx's spelling, in which an HTTP status has the prefix http_.
func nextCases(cases []string) string {
	texts := make([]string, len(cases))
	for i, c := range cases {
		if c != "" && c[0] >= '1' && c[0] <= '5' {
			c = "http_" + c
		}
		texts[i] = c
	}
	return strings.Join(texts, " ")
}

// The limits of the Gateway API's HTTPHeaderFilter, which are lower than OpenShift's.
const (
	maxHeaderRules = 16
	maxHeaderValue = 4096
)

// nginxHeaders are the headers that NGINX Gateway Fabric sets itself. It does not accept a route that changes one of
// them.
var nginxHeaders = []string{"host", "connection", "upgrade"}

// headerFilter converts header rules to the Gateway API; nil if there are none.
func (l *leased) headerFilter(r route, rules []lease.HeaderRule) *gwac.HTTPHeaderFilterApplyConfiguration {
	if len(rules) == 0 {
		return nil
	}
	filter := gwac.HTTPHeaderFilter()
	for _, rule := range rules {
		unsupported := len(validation.IsHTTPHeaderName(rule.Name)) > 0 || slices.Contains(nginxHeaders, strings.ToLower(rule.Name))
		if l.cfg.Gateway.Implementation != config.GatewayStandard && unsupported {
			l.refuse(r, rule.At, "the header %q cannot be changed by NGINX Gateway Fabric: it takes names of letters, digits and "+
				"\"-\", and not %s", rule.Name, strings.Join(nginxHeaders, ", "))
		}
		if rule.Delete {
			filter.WithRemove(rule.Name)
			continue
		}
		filter.WithSet(gwac.HTTPHeader().WithName(gwv1.HTTPHeaderName(rule.Name)).WithValue(l.headerValue(r, rule)))
	}
	if len(filter.Set) > maxHeaderRules || len(filter.Remove) > maxHeaderRules {
		l.refuse(r, r.routing.At.Headers, "an HTTPRoute sets, and removes, at most %d headers each", maxHeaderRules)
	}
	return filter
}

// headerValue converts a value from HAProxy's log format, in which a percent sign starts an expression and two are a
// literal one.
func (l *leased) headerValue(r route, rule lease.HeaderRule) string {
	value := strings.ReplaceAll(rule.Value, "%%", "")
	if strings.ContainsRune(value, '%') {
		l.refuse(r, rule.At, "the value of header %q is an expression of HAProxy's: only the target route has it", rule.Name)
	}
	value = strings.ReplaceAll(rule.Value, "%%", "%")
	if len(value) > maxHeaderValue {
		l.refuse(r, rule.At, "the value of header %q has %d characters; in an HTTPRoute at most %d are allowed", rule.Name, len(value),
			maxHeaderValue)
	}
	if l.cfg.Gateway.Implementation != config.GatewayStandard && strings.ContainsAny(value, `"$\`) {
		l.refuse(r, rule.At, "the value of header %q has one of \" $ \\, which NGINX Gateway Fabric does not take", rule.Name)
	}
	return value
}
