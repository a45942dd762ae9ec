package render

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
)

// route is one path of a host and what the router is told about it.
type route struct {
	host, path string
	service    string
	port       uint16 // the Kubernetes Service's
	http       lease.HTTPOptions
	// target is the kind of route.
	target string
	expose *lease.Expose
	// routing is what the definition says beyond Akash's options; nil where it says nothing.
	routing *lease.Routing
	at      lease.Place
	// nginx are the annotations of the Ingress that the route was, if it was one.
	nginx map[string]string
}

// routes lists what is routed, by host and path: the hosts of the definition and the provider's own.
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
			add(own.Host, own.Path, own.Expose, ownCertificate(own.Expose.Routing), own.Expose.At)
		}
	}
	slices.SortFunc(all, func(a, b route) int {
		return cmp.Or(strings.Compare(a.host, b.host), strings.Compare(a.path, b.path))
	})
	return all
}

// ownCertificate is the routing of a host below the provider's own domain, for which the router
// has a certificate: the tenant's is for other hosts.
func ownCertificate(r *lease.Routing) *lease.Routing {
	if r == nil || r.TLS == nil || r.TLS.SecretName == "" && r.TLS.Issuer == nil {
		return r
	}
	routing, tls := *r, *r.TLS
	tls.SecretName, tls.Issuer = "", nil
	routing.TLS = &tls
	return &routing
}

// name is the name of the route object.
func (r route) name() string { return lease.RouteName(r.host, r.path) }

// known is true for the one route of a host that Akash's operators know: they deploy to the root
// of a host and have no wildcards.
func (r route) known() bool { return r.path == "/" && !r.wildcard() }

func (r route) wildcard() bool { return strings.HasPrefix(r.host, "*.") }

// tls is how the host is served over TLS, or nil.
func (r route) tls() *lease.TLS {
	if r.routing == nil {
		return nil
	}
	return r.routing.TLS
}

func (r route) passthrough() bool {
	return r.tls() != nil && r.tls().Termination == lease.Passthrough
}

// weight is the share of the service itself.
func (r route) weight() uint16 {
	if r.routing == nil || r.routing.Weight == nil {
		return lease.DefaultWeight
	}
	return *r.routing.Weight
}

// routeObjects renders the routes with what Akash knows of them and what they need.
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

// appendRoute appends the objects of one route, in the order in which they are to be written.
func (l *leased) appendRoute(objects []Object, r route) []Object {
	switch r.target {
	case config.TargetHTTPRoute:
		return l.appendHTTPRoute(objects, r)
	case config.TargetRoute:
		return append(objects, l.openShiftRoute(r))
	}
	return append(objects, l.ingress(r))
}

// routeLabels are the labels of a route object: Akash's where its operators know the route, ours
// where they would stop at it, and beside them those of the definition.
func (l *leased) routeLabels(r route, known bool) map[string]string {
	labels := l.labels
	if !known {
		labels = l.labelsBeside()
	}
	if r.routing == nil || len(r.routing.Labels) == 0 {
		return labels
	}
	all := maps.Clone(r.routing.Labels)
	maps.Copy(all, labels)
	return all
}

// labelsBeside are the labels of objects that Akash's operators do not know.
func (l *leased) labelsBeside() map[string]string {
	if l.beside == nil {
		l.beside = l.labelsAnd(lease.LabelOurs, "true")
		delete(l.beside, lease.LabelManaged)
	}
	return l.beside
}

// refuse notes that the route's target cannot express something; the place is the expose's where
// it is not known better.
func (l *leased) refuse(r route, at lease.Place, format string, args ...any) {
	l.problems.Add(cmp.Or(at, r.expose.At), format, args...)
}

func (l *leased) warn(r route, at lease.Place, format string, args ...any) {
	l.problems.Warn(cmp.Or(at, r.expose.At), format, args...)
}

// given is an HTTP option that differs from Akash's default.
type given struct {
	name string
	at   lease.Place
}

// given lists the HTTP options of the definition by the names that they have there. The defaults
// are left to the router where a target has no field for them.
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

// refuseAnnotations refuses the settings of OpenShift's router on other targets.
func (l *leased) refuseAnnotations(r route) {
	for _, a := range r.routing.Annotations {
		l.refuse(r, a.At, "%s is a setting of OpenShift's router: only the target route has it", a.Key)
	}
}
