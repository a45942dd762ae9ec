package render

import (
	"maps"
	"strconv"
	"strings"
	"time"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	gwac "sigs.k8s.io/gateway-api/applyconfiguration/apis/v1"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/lazy"
)

// appendHTTPRoute appends the objects that route a path of a host through a Gateway. Without further settings they
// equal those of Akash's provider in gateway mode (provider: cluster/kube/gateway).
func (l *leased) appendHTTPRoute(objects []Object, r route) []Object {
	listeners := l.listeners(r)
	if r.wildcard() {
		l.warn(r, r.at,
			"a Gateway takes %s for every name below, such as a.b%s; an Ingress and an OpenShift Route take it for one label only",
			r.host, r.host[1:])
	}
	if r.passthrough() {
		objects = append(objects, l.tlsRoute(r, listeners))
		return l.appendRedirect(objects, r)
	}
	annotations := l.annotations()
	rule := l.httpRule(r)
	var after []Object
	switch l.cfg.Gateway.Implementation {
	case config.GatewayNGF:
		objects, after = l.nginxFabric(objects, r, rule)
	case config.GatewayStandard:
		l.standardRule(r, rule)
	default:
		akashOptions(l.cfg.Gateway, annotations, r)
	}
	objects = l.appendBackendTLS(objects, r)
	objects = append(objects, l.httpRoute(r, r.name(), l.routeLabels(r, r.known()), annotations, listeners, rule))
	return append(l.appendRedirect(objects, r), after...)
}

// listeners returns the Gateway's listeners that the route attaches to by name. nil attaches it to all listeners that
// accept the host, as in Akash.
func (l *leased) listeners(r route) []string {
	tls := r.tls()
	if tls == nil {
		return nil
	}
	const belongs = "on a Gateway the certificate belongs to the listener, " +
		"which the provider's administrator configures: leave it out"
	if tls.SecretName != "" {
		l.refuse(r, r.routing.At.TLS, "%s (secretName %q)", belongs, tls.SecretName)
	}
	if tls.Issuer != nil {
		l.refuse(r, r.routing.At.TLS, "%s (issuer %q)", belongs, tls.Issuer.Name)
	}
	switch {
	case tls.Termination == lease.Passthrough:
		return l.configured(r, l.cfg.Gateway.Listeners.Passthrough, "gateway.listeners.passthrough", "hands TLS on to the backend")
	case tls.Insecure == lease.InsecureNone, tls.Insecure == lease.InsecureRedirect:
		return l.configured(r, l.cfg.Gateway.Listeners.HTTPS, "gateway.listeners.https", "ends TLS")
	}
	return nil
}

// configured returns the listeners for a purpose, and refuses the route if none are configured.
func (l *leased) configured(r route, names []string, key, use string) []string {
	if len(names) == 0 {
		l.refuse(r, r.routing.At.TLS, "the provider's configuration names no listener that %s (%s)", use, key)
	}
	return names
}

// parents returns the references to the Gateway: one per listener, or one without a listener.
func parents(g config.Gateway, listeners []string) []*gwac.ParentReferenceApplyConfiguration {
	parent := func() *gwac.ParentReferenceApplyConfiguration {
		return gwac.ParentReference().
			WithGroup(gwv1.Group(gwv1.GroupVersion.Group)).
			WithKind("Gateway").
			WithName(gwv1.ObjectName(g.Name)).
			WithNamespace(gwv1.Namespace(g.Namespace))
	}
	if len(listeners) == 0 {
		return []*gwac.ParentReferenceApplyConfiguration{parent()}
	}
	refs := make([]*gwac.ParentReferenceApplyConfiguration, len(listeners))
	for i, name := range listeners {
		refs[i] = parent().WithSectionName(gwv1.SectionName(name))
	}
	return refs
}

// httpRule returns the route's only rule, with the fields that all implementations of the Gateway API support.
func (l *leased) httpRule(r route) *gwac.HTTPRouteRuleApplyConfiguration {
	rule := gwac.HTTPRouteRule().WithMatches(pathMatch(r))
	for _, ref := range r.backendRefs() {
		rule.WithBackendRefs(&gwac.HTTPBackendRefApplyConfiguration{BackendRefApplyConfiguration: *ref})
	}
	if r.routing == nil {
		return rule
	}
	l.refuseAnnotations(r)
	if s := r.routing.Sticky; s != nil && !s.Disabled {
		l.refuse(r, r.routing.At.Sticky, "%s", whyNotSticky(l.cfg.Gateway))
	}
	if f := l.headerFilter(r, r.routing.Headers.Request); f != nil {
		rule.WithFilters(gwac.HTTPRouteFilter().WithType(gwv1.HTTPRouteFilterRequestHeaderModifier).WithRequestHeaderModifier(f))
	}
	if f := l.headerFilter(r, r.routing.Headers.Response); f != nil {
		rule.WithFilters(gwac.HTTPRouteFilter().WithType(gwv1.HTTPRouteFilterResponseHeaderModifier).WithResponseHeaderModifier(f))
	}
	return rule
}

// backendRefs returns the services of the route, with the defaults that the API server adds. The list of rules is
// atomic: an apply without these defaults would differ from the stored object, and conflict with every other manager
// that has applied the same bytes.
func (r route) backendRefs() []*gwac.BackendRefApplyConfiguration {
	var refs []*gwac.BackendRefApplyConfiguration
	for _, b := range r.backends() {
		ref := gwac.BackendRef().WithGroup("").WithKind("Service").WithName(gwv1.ObjectName(b.Service)).
			WithPort(gwv1.PortNumber(b.Port)).WithWeight(1)
		if r.weighted() {
			ref.WithWeight(int32(b.Weight))
		}
		refs = append(refs, ref)
	}
	return refs
}

func pathMatch(r route) *gwac.HTTPRouteMatchApplyConfiguration {
	return gwac.HTTPRouteMatch().WithPath(gwac.HTTPPathMatch().
		WithType(gwv1.PathMatchPathPrefix).
		WithValue(r.path))
}

// whyNotSticky returns the reason why the implementation has no sticky sessions.
func whyNotSticky(g config.Gateway) string {
	if g.Implementation == config.GatewayStandard {
		return "sticky sessions (sessionPersistence) are not in the Gateway API's standard channel: use the target ingress or route"
	}
	return "NGINX Gateway Fabric has sticky sessions by cookie only with NGINX Plus: use the target ingress or route"
}

// appendRedirect appends the HTTPRoute that redirects requests without TLS to the same URL with TLS.
func (l *leased) appendRedirect(objects []Object, r route) []Object {
	if r.tls() == nil || r.tls().Insecure != lease.InsecureRedirect {
		return objects
	}
	name := lease.RedirectName(r.name())
	listeners := l.configured(r, l.cfg.Gateway.Listeners.HTTP, "gateway.listeners.http", "takes requests without TLS")
	rule := gwac.HTTPRouteRule().WithMatches(pathMatch(r)).WithFilters(gwac.HTTPRouteFilter().
		WithType(gwv1.HTTPRouteFilterRequestRedirect).
		WithRequestRedirect(gwac.HTTPRequestRedirectFilter().WithScheme("https").WithStatusCode(301)))
	return append(objects, l.httpRoute(r, name, l.routeLabels(r, false), l.annotations(), listeners, rule))
}

// httpRoute renders an HTTPRoute of the route's host with one rule.
func (l *leased) httpRoute(r route, name string, labels, annotations map[string]string, listeners []string,
	rule *gwac.HTTPRouteRuleApplyConfiguration) Object {
	return Object{Kind: kinds.HTTPRoute, Namespace: l.namespace, Name: name, Config: gwac.HTTPRoute(name, l.namespace).
		WithLabels(labels).
		WithAnnotations(annotations).
		WithSpec(gwac.HTTPRouteSpec().
			WithParentRefs(parents(l.cfg.Gateway, listeners)...).
			WithHostnames(gwv1.Hostname(r.host)).
			WithRules(rule))}
}

// tlsRoute renders the TLSRoute that forwards a host's TLS to the backend.
func (l *leased) tlsRoute(r route, listeners []string) Object {
	l.refuseAnnotations(r)
	rule := gwac.TLSRouteRule()
	rule.WithBackendRefs(r.backendRefs()...)
	if r.weighted() && l.cfg.Gateway.Implementation != config.GatewayStandard {
		l.refuse(r, r.routing.At.AlternateBackends, "NGINX Gateway Fabric passes TLS on to one service, without a weight")
	}
	name := r.name()
	return Object{Kind: kinds.TLSRoute, Namespace: l.namespace, Name: name, Config: gwac.TLSRoute(name, l.namespace).
		WithLabels(l.routeLabels(r, false)).
		WithAnnotations(l.annotations()).
		WithSpec(gwac.TLSRouteSpec().
			WithParentRefs(parents(l.cfg.Gateway, listeners)...).
			WithHostnames(gwv1.Hostname(r.host)).
			WithRules(rule))}
}

// gatewayPrefix is the prefix of the annotations that Akash's provider writes on HTTPRoutes.
const gatewayPrefix = "nginx.org/"

// akashOptions writes the HTTP options as Akash's gateway provider does. NGINX Gateway Fabric ignores them.
func akashOptions(g config.Gateway, a map[string]string, r route) {
	const prefix = gatewayPrefix
	if size := g.ProxyBufferSize; size != "" {
		a[prefix+"proxy-buffer-size"] = size
	}
	maps.Copy(a, OptionsOf(kinds.HTTPRoute, r.http))
}

// The specs of NGINX Gateway Fabric's kinds (gateway.nginx.org/v1alpha1), with the fields that are rendered.
type (
	policyTarget struct {
		Group string `json:"group"`
		Kind  string `json:"kind"`
		Name  string `json:"name"`
	}
	clientSettingsSpec struct {
		Body      clientBody   `json:"body"`
		TargetRef policyTarget `json:"targetRef"`
	}
	clientBody struct {
		MaxSize string `json:"maxSize"`
	}
	proxySettingsSpec struct {
		Buffering  proxyBuffering `json:"buffering"`
		TargetRefs []policyTarget `json:"targetRefs"`
	}
	proxyBuffering struct {
		BufferSize string       `json:"bufferSize"`
		Buffers    proxyBuffers `json:"buffers"`
	}
	proxyBuffers struct {
		Number int    `json:"number"`
		Size   string `json:"size"`
	}
	snippetsFilterSpec struct {
		Snippets []snippet `json:"snippets"`
	}
	snippet struct {
		Context string `json:"context"`
		Value   string `json:"value"`
	}
)

// nginxSize matches sizes that the policies accept.
var nginxSize = lazy.Pattern(`^\d{1,4}(k|m|g)?$`)

// nginxFabric renders the HTTP options as policies and a filter of the route. The filter goes before the route, which
// is invalid without it; the returned policies go after it. Akash's defaults, except for the number of tries, equal
// nginx's. Defaults are not written, so the administrator's settings for the whole Gateway remain effective.
func (l *leased) nginxFabric(objects []Object, r route, rule *gwac.HTTPRouteRuleApplyConfiguration) (before, after []Object) {
	m := Meta{Annotations: l.annotations(), Labels: l.ownLabels(), Name: r.name(), Namespace: l.namespace}
	if directives := nginxDirectives(r.expose.HTTP); len(directives) > 0 {
		objects = append(objects, NewCustom(kinds.SnippetsFilter, m, snippetsFilterSpec{Snippets: []snippet{
			{Context: "http.server.location", Value: strings.Join(directives, "\n")},
		}}))
		rule.WithFilters(gwac.HTTPRouteFilter().
			WithType(gwv1.HTTPRouteFilterExtensionRef).
			WithExtensionRef(gwac.LocalObjectReference().
				WithGroup(gwv1.Group(kinds.SnippetsFilter.Group)).
				WithKind(gwv1.Kind(kinds.SnippetsFilter.Kind)).
				WithName(gwv1.ObjectName(m.Name))))
	}
	target := policyTarget{Group: kinds.HTTPRoute.Group, Kind: kinds.HTTPRoute.Kind, Name: m.Name}
	if size := r.expose.HTTP.MaxBodySize; size != 0 {
		after = append(after, NewCustom(kinds.ClientSettingsPolicy, m, clientSettingsSpec{
			Body: clientBody{MaxSize: roundedSize(size)}, TargetRef: target,
		}))
	}
	if size := strings.ToLower(l.cfg.Gateway.ProxyBufferSize); size != "" {
		if !nginxSize().MatchString(size) {
			l.refuse(r, lease.Place{}, "NGINX Gateway Fabric does not take gateway.proxyBufferSize %q of the provider's configuration: "+
				"write up to four digits and k, m or g", size)
		}
		// The size of all buffers together must leave room for two of these (nginx:
		// proxy_busy_buffers_size), which nginx's default number of smaller ones does not.
		after = append(after, NewCustom(kinds.ProxySettingsPolicy, m, proxySettingsSpec{
			Buffering:  proxyBuffering{BufferSize: size, Buffers: proxyBuffers{Number: 8, Size: size}},
			TargetRefs: []policyTarget{target},
		}))
	}
	return objects, after
}

// nginxDirectives returns the options for which there is no policy, as directives of nginx.
func nginxDirectives(o lease.HTTPOptions) []string {
	var all []string
	add := func(directive, value string) { all = append(all, directive+" "+value+";") }
	if o.ReadTimeout != 0 {
		add("proxy_read_timeout", duration(o.ReadTimeout))
	}
	if o.SendTimeout != 0 {
		add("proxy_send_timeout", duration(o.SendTimeout))
	}
	if len(o.NextCases) > 0 {
		add("proxy_next_upstream", nextCases(o.NextCases))
	}
	if o.NextTries != 0 {
		add("proxy_next_upstream_tries", strconv.FormatUint(uint64(o.NextTries), 10))
	}
	if o.NextTimeout != 0 {
		add("proxy_next_upstream_timeout", duration(o.NextTimeout))
	}
	return all
}

// roundedSize formats a number of bytes with at most four digits, as a policy requires, and rounds up if necessary.
func roundedSize(bytes uint32) string {
	size, unit := uint64(bytes), 0
	for size > 9999 {
		size = (size + 1023) / 1024
		unit++
	}
	return strconv.FormatUint(size, 10) + []string{"", "k", "m"}[unit]
}

// standardRule writes the HTTP options that the Gateway API's standard channel supports, and refuses the others.
func (l *leased) standardRule(r route, rule *gwac.HTTPRouteRuleApplyConfiguration) {
	for _, option := range r.given() {
		switch option.name {
		case "readTimeout":
			l.warn(r, option.at,
				"the Gateway API limits the whole answer of a backend, not one read of it: longer downloads end after %s", r.http.ReadTimeout)
			rule.WithTimeouts(gwac.HTTPRouteTimeouts().WithBackendRequest(gwv1.Duration(duration(r.http.ReadTimeout))))
		case "nextTries", "nextTimeout", "nextCases":
			l.refuse(r, option.at, "retries are not in the Gateway API's standard channel: no %s", option.name)
		default:
			l.refuse(r, option.at, "the Gateway API has no field for %s", option.name)
		}
	}
}

// duration formats a duration in a unit that nginx and the Gateway API share: whole seconds or milliseconds.
func duration(d time.Duration) string {
	if d%time.Second == 0 {
		return strconv.FormatInt(int64(d/time.Second), 10) + "s"
	}
	return strconv.FormatInt(d.Milliseconds(), 10) + "ms"
}
