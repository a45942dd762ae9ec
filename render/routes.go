package render

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	gwac "sigs.k8s.io/gateway-api/applyconfiguration/apis/v1"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
)

// route is one path of a host, with its settings.
type route struct {
	host, path string
	service    string
	port       uint16 // of the Kubernetes Service
	http       lease.HTTPOptions
	// target is the kind of route.
	target string
	expose *lease.Expose
	// routing has the settings beyond Akash's options; nil if there are none.
	routing *lease.Routing
	at      lease.Place
}

// routes returns all routes, sorted by host and path: for the hosts of the definition and for the provider's own.
func routes(def *lease.Definition, cfg *config.ProviderConfig) []route {
	var all []route
	for i := range def.Services {
		s := &def.Services[i]
		add := func(host, path string, e *lease.Expose, routing *lease.Routing, at lease.Place) {
			all = append(all, route{
				host: host, path: path, service: s.Name, port: e.ExternalPort(), http: e.HTTP.WithDefaults(),
				target: cmp.Or(s.Target, cfg.Target), expose: e, routing: routing, at: at,
			})
		}
		for j := range s.Expose {
			if e := &s.Expose[j]; e.IsIngress() {
				for _, h := range e.Hosts {
					add(h.Name, e.RoutePath(), e, e.Routing, h.At)
				}
			}
		}
		for _, own := range cfg.OwnHosts(def.Lease, s) {
			add(own.Host, own.Path, own.Expose, withoutCertificate(own.Expose.Routing), own.Expose.At)
		}
	}
	slices.SortFunc(all, func(a, b route) int {
		return cmp.Or(strings.Compare(a.host, b.host), strings.Compare(a.path, b.path))
	})
	return all
}

// withoutCertificate returns the routing of a host below the provider's own domain. The router has a certificate for
// it; the tenant's certificate is for other hosts.
func withoutCertificate(r *lease.Routing) *lease.Routing {
	if r == nil || r.TLS == nil || r.TLS.SecretName == "" && r.TLS.Issuer == nil {
		return r
	}
	routing, tls := *r, *r.TLS
	tls.SecretName, tls.Issuer = "", nil
	routing.TLS = &tls
	return &routing
}

// name returns the name of the route object.
func (r route) name() string { return lease.RouteName(r.host, r.path) }

// known reports whether Akash's operators know the route. They deploy only to the root path of a host, and do not
// support wildcards.
func (r route) known() bool { return r.path == "/" && !r.wildcard() }

func (r route) wildcard() bool { return strings.HasPrefix(r.host, "*.") }

// tls returns the TLS settings, or nil.
func (r route) tls() *lease.TLS {
	if r.routing == nil {
		return nil
	}
	return r.routing.TLS
}

func (r route) passthrough() bool {
	return r.tls() != nil && r.tls().Termination == lease.Passthrough
}

// weight returns the share of the service itself.
func (r route) weight() uint16 {
	if r.routing == nil || r.routing.Weight == nil {
		return lease.DefaultWeight
	}
	return *r.routing.Weight
}

// routeObjects renders the routes, with the ProviderHosts and the other objects that they need.
func (l *leased) routeObjects() []Object {
	all := routes(l.def, l.cfg)
	l.findBackends(all)
	objects := make([]Object, 0, 2*len(all))
	for _, r := range all {
		if r.known() {
			objects = append(objects, l.providerHost(r))
		}
		objects = l.appendRoute(objects, r)
	}
	return objects
}

// appendRoute appends the objects of one route, in the order of writing.
func (l *leased) appendRoute(objects []Object, r route) []Object {
	switch r.target {
	case config.TargetHTTPRoute:
		return l.appendHTTPRoute(objects, r)
	case config.TargetRoute:
		return append(objects, l.openShiftRoute(r))
	}
	return append(objects, l.ingress(r))
}

// routeLabels returns the labels of a route object: Akash's if its operators know the route, otherwise this program's,
// because the operators would stop at the route. They take precedence over the labels of the definition.
func (l *leased) routeLabels(r route, known bool) map[string]string {
	labels := l.labels
	if !known {
		labels = l.ownLabels()
	}
	if r.routing == nil || len(r.routing.Labels) == 0 {
		return labels
	}
	all := maps.Clone(r.routing.Labels)
	maps.Copy(all, labels)
	return all
}

// ownLabels returns the labels of objects that Akash's operators do not know.
func (l *leased) ownLabels() map[string]string {
	if l.internalLabels == nil {
		l.internalLabels = l.labelsAnd(lease.LabelOurs, "true")
		delete(l.internalLabels, lease.LabelManaged)
	}
	return l.internalLabels
}

// refuse adds an error: the route's target does not support a setting. The position defaults to that of the expose.
func (l *leased) refuse(r route, at lease.Place, format string, args ...any) {
	l.problems.Add(cmp.Or(at, r.expose.At), format, args...)
}

// warn is refuse for a warning.
func (l *leased) warn(r route, at lease.Place, format string, args ...any) {
	l.problems.Warn(cmp.Or(at, r.expose.At), format, args...)
}

// given is an HTTP option that differs from Akash's default.
type given struct {
	name string
	at   lease.Place
}

// given returns the HTTP options of the definition under their names there. Akash's defaults are omitted: a target
// without a field for an option uses its router's default.
func (r route) given() []given {
	o, at := r.expose.HTTP, r.expose.HTTPAt
	if at == nil {
		at = &lease.HTTPPlaces{}
	}
	var all []given
	for _, option := range []struct {
		given
		set bool
	}{
		{given{"maxBodySize", at.MaxBodySize}, o.MaxBodySize != 0},
		{given{"readTimeout", at.ReadTimeout}, o.ReadTimeout != 0},
		{given{"sendTimeout", at.SendTimeout}, o.SendTimeout != 0},
		{given{"nextTries", at.NextTries}, o.NextTries != 0},
		{given{"nextTimeout", at.NextTimeout}, o.NextTimeout != 0},
		{given{"nextCases", at.NextCases}, len(o.NextCases) > 0},
	} {
		if option.set {
			all = append(all, option.given)
		}
	}
	return all
}

// refuseAnnotations refuses settings of OpenShift's router for other targets.
func (l *leased) refuseAnnotations(r route) {
	for _, a := range r.routing.Annotations {
		l.refuse(r, a.At, "%s is a setting of OpenShift's router: only the target route has it", a.Key)
	}
}

// CheckNames returns an error if two objects have the same kind and name, which the names of services can cause. The
// error is of type lease.Problems.
func CheckNames(objects []Object, at lease.Place) error {
	var problems lease.Problems
	type key struct{ kind, namespace, name string }
	seen := make(map[key]bool, len(objects))
	for _, o := range objects {
		k := key{o.Kind.Kind, o.Namespace, o.Name}
		if seen[k] {
			problems.Add(at, "two objects of the lease would be %s: rename the service that one of them is for", o)
		}
		seen[k] = true
	}
	if len(problems) > 0 {
		return problems
	}
	return nil
}

// backends returns the services of the route with the ports of their Kubernetes Services, its own service first.
func (r route) backends() []lease.Backend {
	own := lease.Backend{Service: r.service, Port: r.port, Weight: r.weight()}
	if r.routing == nil || len(r.routing.Backends) == 0 {
		return []lease.Backend{own}
	}
	all := append(make([]lease.Backend, 0, 4), own)
	for _, b := range r.routing.Backends {
		if b.Port == 0 {
			b.Port = r.port
		}
		all = append(all, b)
	}
	return all
}

// weighted reports whether several services share the traffic.
func (r route) weighted() bool { return r.routing != nil && len(r.routing.Backends) > 0 }

// backendTLS is how a Gateway connects to a Service; the zero value is without TLS. The Gateway API has one
// BackendTLSPolicy per Service.
type backendTLS struct {
	// hostname is the name that the backend's certificate must have.
	hostname string
	// ca is the Secret with the CA; empty trusts the system's CAs.
	ca string
	// written is true once the policy has been rendered.
	written bool
}

// backendTLS returns how the route requires a service to be reached. A tenant's CA signs the name of the Service; a CA
// that the system trusts can sign only the host.
func (r route) backendTLS(namespace, service string) backendTLS {
	tls := r.tls()
	switch {
	case tls == nil || tls.Termination != lease.Reencrypt:
		return backendTLS{}
	case tls.DestinationCASecretName != "":
		return backendTLS{hostname: backendName(namespace, service), ca: tls.DestinationCASecretName}
	}
	return backendTLS{hostname: r.host}
}

// findBackends collects how the Gateway connects to each Service, and refuses routes that require different ways for
// the same Service. It does nothing if no route re-encrypts.
func (l *leased) findBackends(all []route) {
	for _, r := range all {
		if t := r.tls(); t != nil && t.Termination == lease.Reencrypt && r.target == config.TargetHTTPRoute {
			l.backends = map[string]backendTLS{}
		}
	}
	if l.backends == nil {
		return
	}
	for _, r := range all {
		if r.target != config.TargetHTTPRoute || r.passthrough() {
			continue
		}
		for _, b := range r.backends() {
			want := r.backendTLS(l.namespace, b.Service)
			known, ok := l.backends[b.Service]
			if ok && known != want {
				l.refuse(r, r.tlsPlace(), "a Gateway reaches a service in one way for all its hosts and ports (BackendTLSPolicy), "+
					"but service %q is asked for with TLS and without, or for certificates of two names or CAs", b.Service)
			}
			l.backends[b.Service] = want
		}
	}
}

func (r route) tlsPlace() (at lease.Place) {
	if r.routing != nil {
		at = r.routing.At.TLS
	}
	return at
}

// appendBackendTLS appends the policies for the route's services, except those that an earlier route has appended.
func (l *leased) appendBackendTLS(objects []Object, r route) []Object {
	tls := r.tls()
	if tls == nil || tls.Termination != lease.Reencrypt {
		return objects
	}
	switch {
	case tls.DestinationCASecretName == "" && r.wildcard():
		l.refuse(r, r.routing.At.TLS,
			"the backend of a wildcard host has no one name for its certificate: name the CA (destinationCASecretName)")
	case tls.DestinationCASecretName != "" && l.cfg.Gateway.Implementation == config.GatewayStandard:
		l.warn(r, r.routing.At.TLS,
			"not every implementation of the Gateway API takes a backend's CA from a Secret; all take it from a ConfigMap only")
	case tls.DestinationCASecretName != "" && len(r.routing.Backends) > 0:
		l.refuse(r, r.routing.At.AlternateBackends, "NGINX Gateway Fabric wants certificates of one name from all services of a route, "+
			"but with a CA of the lease's each is to have its Service's: give each service a host of its own")
	}
	for _, b := range r.backends() {
		policy := l.backends[b.Service]
		if policy.written {
			continue
		}
		policy.written = true
		l.backends[b.Service] = policy
		objects = append(objects, l.backendTLSPolicy(b.Service, policy))
	}
	return objects
}

func (l *leased) backendTLSPolicy(service string, p backendTLS) Object {
	validation := gwac.BackendTLSPolicyValidation().WithHostname(gwv1.PreciseHostname(p.hostname))
	if p.ca == "" {
		validation.WithWellKnownCACertificates(gwv1.WellKnownCACertificatesSystem)
	} else {
		validation.WithCACertificateRefs(gwac.LocalObjectReference().WithGroup("").WithKind("Secret").WithName(gwv1.ObjectName(p.ca)))
	}
	return Object{Kind: kinds.BackendTLSPolicy, Namespace: l.namespace, Name: service,
		Config: gwac.BackendTLSPolicy(service, l.namespace).
			WithLabels(l.ownLabels()).
			WithAnnotations(l.annotations()).
			WithSpec(gwac.BackendTLSPolicySpec().
				WithTargetRefs(gwac.LocalPolicyTargetReferenceWithSectionName().
					WithGroup("").WithKind("Service").WithName(gwv1.ObjectName(service))).
				WithValidation(validation))}
}

// backendName returns the name that a backend's certificate must have if a CA of the lease verifies it: the name of the
// Service, which the tenant's CA can sign whatever the hosts are.
func backendName(namespace, service string) string { return service + "." + namespace + ".svc" }
