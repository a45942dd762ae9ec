package admission

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/lease"
)

// The kinds that compete for hosts.
const (
	KindIngress   = "Ingress"
	KindHTTPRoute = "HTTPRoute"
	KindTLSRoute  = "TLSRoute"
	KindGRPCRoute = "GRPCRoute"
	KindRoute     = "Route"
)

// RoutesOf returns the hosts and paths of an Ingress, an HTTPRoute, a GRPCRoute, a TLSRoute or a Route, each once, and nothing for
// other kinds. The root path is "/", except that of a Route or a TLSRoute. A rule for all hosts has an empty host.
func RoutesOf(o *unstructured.Unstructured) []Route {
	kind, group := o.GetKind(), o.GroupVersionKind().Group
	switch {
	case kind == KindRoute && group == "route.openshift.io":
		return []Route{routeOf(o).openShift(value(o.Object, "spec"))}
	case kind == KindIngress && (group == "networking.k8s.io" || group == "extensions"):
		return routeOf(o).ingress(value(o.Object, "spec"), o.GetAnnotations())
	case (kind == KindHTTPRoute || kind == KindGRPCRoute) && group == gatewayGroup:
		return routeOf(o).httpRoute(value(o.Object, "spec"))
	case kind == KindTLSRoute && group == gatewayGroup:
		return routeOf(o).tlsRoute(value(o.Object, "spec"))
	}
	return nil
}

// routeOf returns what all parts of a route have.
func routeOf(o *unstructured.Unstructured) Route {
	r := Route{
		Kind: o.GetKind(), Namespace: o.GetNamespace(), Name: o.GetName(), UID: o.GetUID(),
		Created: o.GetCreationTimestamp().Time, Labels: o.GetLabels(), Parents: AttachedOf(o).Parents,
	}
	r.Lease, r.HasLease = lease.IDOfObject(r.Namespace, r.Labels)
	return r
}

func (r Route) openShift(spec any) Route {
	r.Host, r.Path = text(spec, "host"), text(spec, "path")
	r.Service, r.Port = text(value(spec, "to"), "name"), port(value(value(spec, "port"), "targetPort"))
	switch policy := text(spec, "wildcardPolicy"); policy {
	case "None": // the API server's default
	case string(WildcardBelow): // what other kinds have is no policy of a Route
		r.Wildcard = Wildcard(strconv.Quote(policy))
	default:
		r.Wildcard = Wildcard(policy)
	}
	if tls := tlsOf(spec); tls != nil {
		r.TLS, r.Passthrough, r.Invalid = true, tls.termination == passthrough, tls.validate()
	}
	return r
}

// at returns the route of a host and a path. reach is what a wildcard of the kind covers.
func (r Route) at(host, path string, reach Wildcard) Route {
	r.Host, r.Path = host, cmp.Or(path, "/")
	if strings.HasPrefix(host, "*.") {
		r.Wildcard = reach
	}
	return r
}

func (r Route) ingress(spec any, annotations map[string]string) []Route {
	var secure []string
	for _, tls := range list(spec, "tls") {
		secure = append(secure, texts(tls, "hosts")...)
	}
	var parts parts
	further := aliases(annotations)
	for _, rule := range list(spec, "rules") {
		host := text(rule, "host")
		r.TLS = slices.Contains(secure, host)
		paths := list(value(rule, "http"), "paths")
		if len(paths) == 0 {
			paths = []any{nil}
		}
		for _, path := range paths {
			match, service := IngressMatch(annotations, path), value(value(path, "backend"), "service")
			r.Service, r.Port = text(service, "name"), port(value(value(service, "port"), "number"))
			parts.add(r.at(host, text(path, "path"), WildcardSubdomain), match)
			for _, alias := range further {
				if len(parts.routes) >= maxParts {
					break
				}
				part := r.at(alias, text(path, "path"), WildcardBelow)
				part.Alias = true
				parts.add(part, match)
			}
		}
	}
	if len(parts.routes) == 0 { // the Ingress has only a default backend
		parts.add(r.at("", "", WildcardNone), "")
	}
	return parts.routes
}

// maxParts is the number of hosts and paths of an Ingress from which on its aliases are left out: each path has each.
const maxParts = 10_000

// aliases returns the further hosts of an Ingress of ingress-nginx, without regular expressions.
func aliases(annotations map[string]string) []string {
	var hosts []string
	for alias := range strings.SplitSeq(annotations["nginx.ingress.kubernetes.io/server-alias"], ",") {
		if alias = strings.TrimSpace(alias); alias != "" && alias[0] != '~' {
			hosts = append(hosts, strings.ToLower(alias))
		}
	}
	return hosts
}

// httpRoute reads an HTTPRoute, or a GRPCRoute, whose matches name no path.
func (r Route) httpRoute(spec any) []Route {
	rules := list(spec, "rules")
	if len(rules) == 0 {
		rules = []any{nil}
	}
	var parts parts
	for _, host := range hostnames(spec) {
		for _, rule := range rules {
			r.Redirect = isRedirect(rule)
			r.Service, r.Port = backend(rule)
			matches := list(rule, "matches")
			if len(matches) == 0 {
				matches = []any{nil}
			}
			for _, match := range matches {
				parts.add(r.at(host, text(value(match, "path"), "value"), WildcardBelow), HTTPMatch(match))
			}
		}
	}
	return parts.routes
}

// tlsRoute treats a TLSRoute like a passthrough Route: it has no path, and plain HTTP may share its host.
func (r Route) tlsRoute(spec any) []Route {
	r.TLS, r.Passthrough = true, true
	for _, rule := range list(spec, "rules") {
		if r.Service == "" {
			r.Service, r.Port = backend(rule)
		}
	}
	var parts parts
	for _, host := range hostnames(spec) {
		part := r.at(host, "", WildcardBelow)
		part.Path = ""
		parts.add(part, "")
	}
	return parts.routes
}

// hostnames returns the host names of an HTTPRoute or a TLSRoute, or "" for a route for all hosts.
func hostnames(spec any) []string {
	if hosts := texts(spec, "hostnames"); len(hosts) > 0 {
		return hosts
	}
	return []string{""}
}

// backend returns the first backend of a rule of a route of the Gateway API.
func backend(rule any) (service string, number uint16) {
	for _, ref := range list(rule, "backendRefs") {
		return text(ref, "name"), port(value(ref, "port"))
	}
	return "", 0
}

func port(v any) uint16 {
	n, _ := v.(int64)
	return uint16(n)
}

// isRedirect reports whether a rule of an HTTPRoute has no backend and redirects the client.
func isRedirect(rule any) bool {
	return len(list(rule, "backendRefs")) == 0 && slices.ContainsFunc(list(rule, "filters"), func(filter any) bool {
		return text(filter, "type") == "RequestRedirect"
	})
}

// parts collects the routes of one object, each host and path once, with all its matches: an object that matches a path
// in several ways (exact, prefix, headers) does not compete with itself.
type parts struct {
	routes []Route
	// seen are the indexes of the routes.
	seen map[place]int
}

func (p *parts) add(r Route, match string) {
	at := r.place()
	i, known := p.seen[at]
	if !known {
		if p.seen == nil {
			p.seen = map[place]int{}
		}
		i = len(p.routes)
		p.seen[at] = i
		p.routes = append(p.routes, r)
	}
	part := &p.routes[i]
	switch {
	case !known && match == "": // all requests, which needs no list
	case !known:
		part.Matches = []string{match}
	case !slices.Contains(orAll(part.Matches), match):
		part.Matches = append(slices.Clone(orAll(part.Matches)), match)
	}
	part.Alias = part.Alias && r.Alias
	if part.Service == "" {
		part.Service, part.Port = r.Service, r.Port
	}
}

// value returns the value of a key of a map, or nil.
func value(v any, key string) any {
	m, _ := v.(map[string]any)
	return m[key]
}

func text(v any, key string) string {
	s, _ := value(v, key).(string)
	return s
}

func list(v any, key string) []any {
	items, _ := value(v, key).([]any)
	return items
}

func texts(v any, key string) []string {
	var out []string
	for _, item := range list(v, key) {
		if s, ok := item.(string); ok {
			out = append(out, s)
		}
	}
	return out
}
