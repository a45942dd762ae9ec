package render

import (
	routev1 "github.com/openshift/api/route/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/grammar"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
)

// routeSpec is OpenShift's RouteSpec, but omits empty lists of header rules.
type routeSpec struct {
	routev1.RouteSpec
	HTTPHeaders *routeHeaders `json:"httpHeaders,omitempty"`
}

type routeHeaders struct {
	Actions routeHeaderActions `json:"actions"`
}

type routeHeaderActions struct {
	Request  []routev1.RouteHTTPHeader `json:"request,omitempty"`
	Response []routev1.RouteHTTPHeader `json:"response,omitempty"`
}

// routeTimeout is the annotation with the read timeout.
const routeTimeout = "haproxy.router.openshift.io/timeout"

// openShiftRoute routes a path of a host through OpenShift's router. Akash's operators do not know the kind.
func (l *leased) openShiftRoute(r route) Object {
	spec := routeSpec{RouteSpec: routev1.RouteSpec{
		Host: r.host,
		// The router looks for this port among those of the Pods, not of the Service.
		Port: &routev1.RoutePort{TargetPort: intstr.FromInt32(int32(r.expose.Port))},
		To:   routeTarget(r.service, r.weight()),
	}}
	if r.path != "/" {
		spec.Path = r.path
	}
	if r.wildcard() {
		// OpenShift accepts any host of the domain here and routes the whole domain.
		spec.Host = "wildcard" + r.host[1:]
		spec.WildcardPolicy = routev1.WildcardPolicySubdomain
	}
	annotations := l.routeAnnotations(r)
	if r.routing != nil {
		l.routeBackends(r, &spec)
		l.routeTLS(r, &spec, annotations)
		if len(r.routing.Headers.Request)+len(r.routing.Headers.Response) > 0 {
			spec.HTTPHeaders = &routeHeaders{Actions: routeHeaderActions{
				Request: headerActions(r.routing.Headers.Request), Response: headerActions(r.routing.Headers.Response),
			}}
		}
	}
	return NewCustom(kinds.Route, Meta{
		Annotations: annotations,
		Labels:      l.routeLabels(r, false),
		Name:        r.name(),
		Namespace:   l.namespace,
	}, spec)
}

func routeTarget(service string, weight uint16) routev1.RouteTargetReference {
	return routev1.RouteTargetReference{Kind: "Service", Name: service, Weight: new(int32(weight))}
}

// routeAnnotations returns the options and settings that the router reads from annotations. The read timeout is always
// written, because the router's default is half of Akash's.
func (l *leased) routeAnnotations(r route) map[string]string {
	a := l.annotations()
	if !r.passthrough() {
		a[routeTimeout] = duration(r.http.ReadTimeout)
		for _, option := range r.given() {
			if option.name != "readTimeout" {
				l.refuse(r, option.at, "OpenShift's router has no setting for %s", option.name)
			}
		}
	}
	if r.routing == nil {
		return a
	}
	l.routeSticky(r, a)
	for _, setting := range r.routing.Annotations {
		if was, ok := a[setting.Key]; ok && (setting.Key != routeTimeout || r.expose.HTTP.ReadTimeout != 0) {
			l.refuse(r, setting.At, "%s conflicts with another field of the definition, which sets it to %q", setting.Key, was)
		}
		a[setting.Key] = setting.Value
	}
	return a
}

func (l *leased) routeSticky(r route, a map[string]string) {
	s := r.routing.Sticky
	switch {
	case s == nil:
		return
	case s.Disabled:
		a[grammar.DisableCookie] = "true"
		return
	}
	if s.Cookie != "" {
		a[grammar.CookieName] = s.Cookie
	}
	if s.SameSite != "" {
		if r.tls() == nil || r.tls().Insecure == lease.InsecureAllow {
			l.refuse(r, r.routing.At.Sticky, "OpenShift's router writes SameSite only where no request comes without TLS")
		}
		a[grammar.SameSite] = s.SameSite
	}
}

// routeBackends adds the other services. A Route has one container port for all of them.
func (l *leased) routeBackends(r route, spec *routeSpec) {
	for _, b := range r.routing.Backends {
		port := b.Port
		if port == 0 {
			port = r.port
		}
		if c := containerPort(l.def, b.Service, port); c != r.expose.Port {
			l.refuse(r, b.At, "an OpenShift Route has one container port for all services, here %d, but service %q is reached at %d",
				r.expose.Port, b.Service, c)
		}
		spec.AlternateBackends = append(spec.AlternateBackends, routeTarget(b.Service, b.Weight))
	}
}

// containerPort returns the container port behind a port of a service, or the port itself if the definition does not
// declare it.
func containerPort(def *lease.Definition, service string, port uint16) uint16 {
	for _, s := range def.Services {
		for _, e := range s.Expose {
			if s.Name == service && e.Protocol == lease.TCP && e.ExternalPort() == port {
				return e.Port
			}
		}
	}
	return port
}

// routeTLS writes the TLS settings. Without a certificate the router uses its own. If an issuer is set, cert-manager's
// add-on for Routes writes the certificate into the Route, not into a Secret.
func (l *leased) routeTLS(r route, spec *routeSpec, a map[string]string) {
	tls := r.routing.TLS
	if tls == nil {
		return
	}
	spec.TLS = &routev1.TLSConfig{
		Termination:                   routev1.TLSTerminationType(tls.Termination),
		InsecureEdgeTerminationPolicy: routev1.InsecureEdgeTerminationPolicyType(tls.Insecure),
	}
	if tls.DestinationCASecretName != "" {
		l.refuse(r, r.routing.At.TLS,
			"an OpenShift Route holds the backend's CA itself, and certificates never stand in a lease definition: "+
				"leave destinationCASecretName out, and the cluster's service CA is trusted")
	}
	if tls.Issuer == nil {
		if tls.SecretName != "" {
			spec.TLS.ExternalCertificate = &routev1.LocalObjectReference{Name: tls.SecretName}
			l.warn(r, r.routing.At.TLS, "OpenShift refuses the Route until its router may read the Secret: in namespace %s, a Role that "+
				"lets system:serviceaccount:openshift-ingress:router get, list and watch secrets/%s, and a RoleBinding to it",
				l.namespace, tls.SecretName)
		}
		return
	}
	if tls.SecretName != "" {
		l.warn(r, r.routing.At.TLS, "cert-manager writes the certificate into the Route itself; the Secret %q is not used",
			tls.SecretName)
	}
	const prefix = "cert-manager.io/"
	a[prefix+"issuer-name"] = tls.Issuer.Name
	if tls.Issuer.Kind != "" {
		a[prefix+"issuer-kind"] = tls.Issuer.Kind
	}
	if tls.Issuer.Group != "" {
		a[prefix+"issuer-group"] = tls.Issuer.Group
	}
}

func headerActions(rules []lease.HeaderRule) []routev1.RouteHTTPHeader {
	var all []routev1.RouteHTTPHeader
	for _, rule := range rules {
		action := routev1.RouteHTTPHeaderActionUnion{Type: routev1.Delete}
		if !rule.Delete {
			action = routev1.RouteHTTPHeaderActionUnion{Type: routev1.Set, Set: &routev1.RouteSetHTTPHeader{Value: rule.Value}}
		}
		all = append(all, routev1.RouteHTTPHeader{Name: rule.Name, Action: action})
	}
	return all
}
