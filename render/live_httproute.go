package render

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	routev1 "github.com/openshift/api/route/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/grammar"
)

// httpRoute reads an HTTPRoute with one host, one rule and one path, and its other objects: the redirect and those of
// NGINX Gateway Fabric.
func (r *reader) httpRoute() error {
	o, err := as[gwv1.HTTPRoute](r.Route)
	if err != nil {
		return err
	}
	if len(o.Spec.Hostnames) != 1 || len(o.Spec.Rules) != 1 || len(o.Spec.Rules[0].Matches) != 1 {
		return fmt.Errorf("it does not have exactly one host and one rule with one path")
	}
	listeners, err := r.attached(o.Spec.CommonRouteSpec)
	if err != nil {
		return err
	}
	rule, match := o.Spec.Rules[0], o.Spec.Rules[0].Matches[0]
	switch {
	case match.Path == nil || match.Path.Type == nil || *match.Path.Type != gwv1.PathMatchPathPrefix || match.Path.Value == nil:
		return fmt.Errorf("its path is not of type PathPrefix")
	case len(match.Headers)+len(match.QueryParams) > 0 || match.Method != nil:
		return fmt.Errorf("it asks for more than the path of a request (headers, parameters or a method)")
	}
	r.Host, r.Expose.Path = string(o.Spec.Hostnames[0]), *match.Path.Value
	refs := make([]gwv1.BackendRef, len(rule.BackendRefs))
	for i, b := range rule.BackendRefs {
		if len(b.Filters) > 0 {
			return fmt.Errorf("a backend has filters of its own")
		}
		refs[i] = b.BackendRef
	}
	if err := r.backendRefs(refs); err != nil {
		return err
	}
	if err := r.filters(rule.Filters); err != nil {
		return err
	}
	if t := rule.Timeouts; t != nil {
		if t.BackendRequest == nil || !readSeconds(string(*t.BackendRequest), &r.Expose.HTTP.ReadTimeout) {
			r.lose("timeouts.backendRequest", "")
		}
		if t.Request != nil {
			r.lose("timeouts.request", "")
		}
	}
	if rule.Retry != nil {
		r.lose("retry", "")
	}
	if rule.SessionPersistence != nil {
		r.lose("sessionPersistence", "")
	}
	r.readNGINX(gatewayPrefix, "client-max-body-size")
	if r.annotations[gatewayPrefix+"proxy-buffer-size"] == r.cfg.Gateway.ProxyBufferSize {
		r.take(gatewayPrefix + "proxy-buffer-size") // set by the configuration
	}
	r.policies()
	r.plain = lease.InsecureAllow
	if err := r.endsTLS(listeners); err != nil {
		return err
	}
	return r.backendTLS()
}

// tlsRoute reads a TLSRoute with one host and one rule.
func (r *reader) tlsRoute() error {
	o, err := as[gwv1.TLSRoute](r.Route)
	if err != nil {
		return err
	}
	if len(o.Spec.Hostnames) != 1 || len(o.Spec.Rules) != 1 {
		return fmt.Errorf("it does not have exactly one host and one rule")
	}
	listeners, err := r.attached(o.Spec.CommonRouteSpec)
	if err != nil {
		return err
	}
	if err := among(listeners, r.cfg.Gateway.Listeners.Passthrough, "gateway.listeners.passthrough"); err != nil {
		return err
	}
	r.Host = string(o.Spec.Hostnames[0])
	r.tls().Termination = lease.Passthrough
	if r.beside(kinds.HTTPRoute, lease.RedirectName(r.Route.GetName())) != nil {
		r.tls().Insecure = lease.InsecureRedirect
	}
	return r.backendRefs(o.Spec.Rules[0].BackendRefs)
}

func (r *reader) backendRefs(refs []gwv1.BackendRef) error {
	var all []lease.Backend
	for _, b := range refs {
		if b.Kind != nil && *b.Kind != "Service" || b.Group != nil && *b.Group != "" || b.Port == nil ||
			b.Namespace != nil && string(*b.Namespace) != r.Route.GetNamespace() {
			return fmt.Errorf("it leads to something else than a port of a Service of the lease")
		}
		weight, err := readWeight(string(b.Name), b.Weight, 1)
		if err != nil {
			return err
		}
		all = append(all, lease.Backend{Service: string(b.Name), Port: uint16(*b.Port), Weight: weight})
	}
	if len(all) == 0 {
		return fmt.Errorf("it leads to no Service")
	}
	return r.shares(all)
}

// filters reads the header rules, and the filter of NGINX Gateway Fabric that this program writes.
func (r *reader) filters(filters []gwv1.HTTPRouteFilter) (err error) {
	routing := r.Expose.Routing
	for _, f := range filters {
		switch {
		case f.RequestHeaderModifier != nil && routing.RequestHeaders == nil:
			routing.RequestHeaders, err = headerRules(f.RequestHeaderModifier)
		case f.ResponseHeaderModifier != nil && routing.ResponseHeaders == nil:
			routing.ResponseHeaders, err = headerRules(f.ResponseHeaderModifier)
		case f.ExtensionRef != nil && string(f.ExtensionRef.Kind) == kinds.SnippetsFilter.Kind &&
			string(f.ExtensionRef.Name) == r.Route.GetName():
			err = r.snippets()
		default:
			return fmt.Errorf("it has a filter of type %s, which a lease definition cannot express", f.Type)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// headerRules converts header rules to the form of OpenShift's router, in which a literal percent sign is written
// twice.
func headerRules(f *gwv1.HTTPHeaderFilter) ([]lease.HeaderRule, error) {
	if len(f.Add) > 0 {
		return nil, fmt.Errorf("it adds headers; only setting and deleting them is supported")
	}
	rules := []lease.HeaderRule{}
	for _, h := range f.Set {
		rules = append(rules, lease.HeaderRule{Name: string(h.Name), Value: strings.ReplaceAll(h.Value, "%", "%%")})
	}
	for _, name := range f.Remove {
		rules = append(rules, lease.HeaderRule{Name: name, Delete: true})
	}
	return rules, nil
}

// snippets reads the SnippetsFilter in the form that nginxDirectives writes.
func (r *reader) snippets() error {
	o := r.beside(kinds.SnippetsFilter, r.Route.GetName())
	if o == nil {
		return fmt.Errorf("its SnippetsFilter is not there or not of this lease")
	}
	filter, err := as[custom[snippetsFilterSpec]](o)
	if err != nil {
		return err
	}
	for _, s := range filter.Spec.Snippets {
		for _, line := range strings.Split(s.Value, "\n") {
			name, value, _ := strings.Cut(strings.TrimSuffix(line, ";"), " ")
			r.annotations[gatewayPrefix+strings.ReplaceAll(name, "_", "-")] = value
		}
	}
	return nil
}

// policies reads the policies of NGINX Gateway Fabric.
func (r *reader) policies() {
	name := r.Route.GetName()
	if o := r.beside(kinds.ClientSettingsPolicy, name); o != nil {
		policy, err := as[custom[clientSettingsSpec]](o)
		if err != nil || !readSize(policy.Spec.Body.MaxSize, &r.Expose.HTTP.MaxBodySize) {
			r.lose("clientsettingspolicy "+name, "")
		}
	}
	r.beside(kinds.ProxySettingsPolicy, name) // set by the configuration
}

// attached returns the names of the listeners that the route attaches to; none if it attaches to all of the Gateway. It
// returns an error if the route attaches to anything else than the configured Gateway: others may reach that.
func (r *reader) attached(spec gwv1.CommonRouteSpec) (listeners []string, err error) {
	want := r.cfg.Gateway.Namespace + "/" + r.cfg.Gateway.Name
	if len(spec.ParentRefs) == 0 {
		return nil, fmt.Errorf("it is attached to no Gateway (spec.parentRefs)")
	}
	all := false
	for _, p := range spec.ParentRefs {
		group, kind, namespace := gwv1.GroupName, kinds.Gateway.Kind, r.Route.GetNamespace()
		if p.Group != nil {
			group = string(*p.Group)
		}
		if p.Kind != nil {
			kind = string(*p.Kind)
		}
		if p.Namespace != nil {
			namespace = string(*p.Namespace)
		}
		name := namespace + "/" + string(p.Name)
		switch {
		case group != gwv1.GroupName || kind != kinds.Gateway.Kind || name != want:
			return nil, fmt.Errorf("it is attached to the %s %s, not to the Gateway %s of the provider's configuration "+
				"(gateway.name, gateway.namespace)", kind, name, want)
		case p.Port != nil:
			return nil, fmt.Errorf("it is attached only to port %d of the Gateway (spec.parentRefs), which a lease definition "+
				"cannot express", *p.Port)
		case p.SectionName == nil:
			all = true
		default:
			listeners = append(listeners, string(*p.SectionName))
		}
	}
	if all {
		return nil, nil
	}
	return listeners, nil
}

// among returns an error if one of the listeners is not configured under the key.
func among(listeners, configured []string, key string) error {
	for _, name := range listeners {
		if !slices.Contains(configured, name) {
			return fmt.Errorf("it attaches to the listener %q, which is not among %s of the provider's configuration", name, key)
		}
	}
	return nil
}

// endsTLS derives the TLS settings from the listeners that the route attaches to by name.
func (r *reader) endsTLS(listeners []string) error {
	redirect := r.beside(kinds.HTTPRoute, lease.RedirectName(r.Route.GetName())) != nil
	if len(listeners) == 0 {
		return nil
	}
	if err := among(listeners, r.cfg.Gateway.Listeners.HTTPS, "gateway.listeners.https"); err != nil {
		return err
	}
	tls := r.tls()
	tls.Termination, tls.Insecure = lease.Edge, lease.InsecureNone
	if redirect {
		tls.Insecure = lease.InsecureRedirect
	}
	return nil
}

// backendTLS reads the policy for TLS between the Gateway and the route's service.
func (r *reader) backendTLS() error {
	o := r.beside(kinds.BackendTLSPolicy, r.Service)
	if o == nil {
		return nil
	}
	policy, err := as[gwv1.BackendTLSPolicy](o)
	if err != nil {
		return err
	}
	r.tls().Termination = lease.Reencrypt
	if refs := policy.Spec.Validation.CACertificateRefs; len(refs) == 1 && refs[0].Kind == "Secret" {
		r.tls().DestinationCASecretName = string(refs[0].Name)
	} else if len(refs) > 0 {
		return fmt.Errorf("the CA of its backend is not one Secret")
	}
	return nil
}

// openShiftRoute reads an OpenShift Route.
func (r *reader) openShiftRoute() error {
	o, err := as[routev1.Route](r.Route)
	if err != nil {
		return err
	}
	spec := o.Spec
	r.Host, r.Expose.Path = spec.Host, spec.Path
	if spec.WildcardPolicy == routev1.WildcardPolicySubdomain {
		_, domain, _ := strings.Cut(spec.Host, ".")
		r.Host = "*." + domain
	}
	if err := r.routeBackends(spec); err != nil {
		return err
	}
	if err := r.routeTLS(spec.TLS); err != nil {
		return err
	}
	if h := spec.HTTPHeaders; h != nil {
		r.Expose.Routing.RequestHeaders = routeRules(h.Actions.Request)
		r.Expose.Routing.ResponseHeaders = routeRules(h.Actions.Response)
	}
	return r.routeSettings()
}

// routeBackends finds the Service ports for the container port that a Route names.
func (r *reader) routeBackends(spec routev1.RouteSpec) error {
	if spec.Port == nil {
		return fmt.Errorf("it names no port")
	}
	all := []lease.Backend{}
	for _, to := range append([]routev1.RouteTargetReference{spec.To}, spec.AlternateBackends...) {
		if to.Kind != "Service" && to.Kind != "" {
			return fmt.Errorf("its backend is a %s", to.Kind)
		}
		port := r.servicePort(to.Name, spec.Port.TargetPort.IntValue(), spec.Port.TargetPort.StrVal)
		if port == 0 {
			return fmt.Errorf("which port of Service %s has the containers' port %s cannot be seen: the Service is not there, or has "+
				"no such port", to.Name, spec.Port.TargetPort.String())
		}
		weight, err := readWeight(to.Name, to.Weight, lease.DefaultWeight)
		if err != nil {
			return err
		}
		all = append(all, lease.Backend{Service: to.Name, Port: port, Weight: weight})
	}
	if err := r.shares(all); err != nil {
		return err
	}
	if container := spec.Port.TargetPort.IntValue(); container > 0 {
		r.Expose.Port = uint16(container)
	}
	return nil
}

// servicePort returns the port of a Service whose container port has that number or name, or 0.
func (r *reader) servicePort(service string, container int, name string) uint16 {
	for _, p := range r.Ports[service] {
		if name == "" && int(p.Container) == container || name != "" && p.Name == name {
			return p.Port
		}
	}
	return 0
}

func (r *reader) routeTLS(tls *routev1.TLSConfig) error {
	const prefix = "cert-manager.io/"
	name, kind, group := r.take(prefix+"issuer-name"), r.take(prefix+"issuer-kind"), r.take(prefix+"issuer-group")
	if tls == nil {
		return nil
	}
	if tls.DestinationCACertificate != "" {
		return fmt.Errorf("it holds the CA of its backend itself, which a lease definition cannot express")
	}
	r.plain = lease.InsecureNone
	out := r.tls()
	out.Termination, out.Insecure = lease.Termination(tls.Termination), lease.InsecurePolicy(tls.InsecureEdgeTerminationPolicy)
	if tls.ExternalCertificate != nil {
		out.SecretName = tls.ExternalCertificate.Name
	}
	switch {
	case name != "":
		out.Issuer = &lease.Issuer{Name: name, Kind: cmp.Or(kind, "Issuer"), Group: group}
	case tls.Certificate != "" || tls.Key != "":
		r.lose("tls.certificate", "a certificate never stands in a definition: put it into a Secret")
	}
	return nil
}

// routeSettings reads the annotations of OpenShift's router: those with a field in the definition, and those that a
// definition may set directly. It returns an error for one that decides who reaches what, if the definition cannot have
// its value: the router reads more of it, or lets everybody in.
func (r *reader) routeSettings() error {
	if text := r.annotations[routeTimeout]; text != "" && readSeconds(text, &r.Expose.HTTP.ReadTimeout) {
		r.take(routeTimeout)
	}
	sticky := lease.Sticky{Disabled: r.take(grammar.DisableCookie) == "true", Cookie: r.take(grammar.CookieName),
		SameSite: r.take(grammar.SameSite)}
	if sticky != (lease.Sticky{}) {
		r.Expose.Routing.Sticky = &sticky
	}
	for _, key := range slices.Sorted(maps.Keys(r.annotations)) {
		setting, known := grammar.Find(key)
		if !known {
			continue
		}
		if err := setting.Check(r.annotations[key]); err == nil {
			r.Expose.Routing.Annotations = append(r.Expose.Routing.Annotations, lease.RouteAnnotation{Key: key, Value: r.take(key)})
		} else if admits(key) && r.annotations[key] != "" {
			return fmt.Errorf("%s decides who reaches what, and %w", key, err)
		}
	}
	return nil
}

func routeRules(actions []routev1.RouteHTTPHeader) []lease.HeaderRule {
	var rules []lease.HeaderRule
	for _, a := range actions {
		rule := lease.HeaderRule{Name: a.Name, Delete: a.Action.Type == routev1.Delete}
		if a.Action.Set != nil {
			rule.Value = a.Action.Set.Value
		}
		rules = append(rules, rule)
	}
	return rules
}
