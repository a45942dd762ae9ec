package render

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
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
	// nginx are the annotations of the Ingress that the route is migrated from, or nil.
	nginx map[string]string
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
