package admission

import (
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
	KindRoute     = "Route"
)

// RoutesOf are the hosts and paths that an Ingress, an HTTPRoute, a TLSRoute or a Route stands for, each
// once; of an object of another kind none. The root of an Ingress or HTTPRoute is "/", however it is
// written. A part that names no host, and so stands for every one, has none.
func RoutesOf(o *unstructured.Unstructured) []Route {
	r := Route{
		Kind: o.GetKind(), Namespace: o.GetNamespace(), Name: o.GetName(), UID: o.GetUID(),
		Created: o.GetCreationTimestamp().Time, Labels: o.GetLabels(),
	}
	r.Lease, r.HasLease = lease.IDFromLabels(r.Labels)
	spec := value(o.Object, "spec")
	switch group := o.GroupVersionKind().Group; {
	case r.Kind == KindRoute && group == "route.openshift.io":
		return []Route{r.openShift(spec)}
	case r.Kind == KindIngress && (group == "networking.k8s.io" || group == "extensions"):
		return r.ingress(spec)
	case r.Kind == KindHTTPRoute && group == "gateway.networking.k8s.io":
		return r.httpRoute(spec)
	case r.Kind == KindTLSRoute && group == "gateway.networking.k8s.io":
		return r.tlsRoute(spec)
	}
	return nil
}

func (r Route) openShift(spec any) Route {
	r.Host, r.Path = text(spec, "host"), text(spec, "path")
	switch policy := text(spec, "wildcardPolicy"); policy {
	case "None": // the API server's default
	case string(WildcardBelow): // what other kinds have is no policy of a Route
		r.Wildcard = Wildcard(strconv.Quote(policy))
	default:
		r.Wildcard = Wildcard(policy)
	}
	if tls, ok := value(spec, "tls").(map[string]any); ok {
		r.TLS, r.Passthrough = true, strings.EqualFold(text(tls, "termination"), "passthrough")
	}
	return r
}

// at is the route of a host and a path; reach is what the kind's wildcards stand for.
func (r Route) at(host, path string, reach Wildcard) Route {
	r.Host, r.Path = host, path
	if path == "" {
		r.Path = "/"
	}
	if strings.HasPrefix(host, "*.") {
		r.Wildcard = reach
	}
	return r
}

func (r Route) ingress(spec any) []Route {
	var secure []string
	for _, tls := range list(spec, "tls") {
		secure = append(secure, texts(tls, "hosts")...)
	}
	var parts parts
	for _, rule := range list(spec, "rules") {
		host := text(rule, "host")
		r.TLS = slices.Contains(secure, host)
		paths := list(value(rule, "http"), "paths")
		if len(paths) == 0 {
			parts.add(r.at(host, "", WildcardSubdomain))
		}
		for _, path := range paths {
			parts.add(r.at(host, text(path, "path"), WildcardSubdomain))
		}
	}
	if len(parts.routes) == 0 { // a default backend alone
		parts.add(r.at("", "", WildcardNone))
	}
	return parts.routes
}

func (r Route) httpRoute(spec any) []Route {
	hosts := texts(spec, "hostnames")
	if len(hosts) == 0 {
		hosts = []string{""}
	}
	rules := list(spec, "rules")
	if len(rules) == 0 {
		rules = []any{nil}
	}
	var parts parts
	for _, host := range hosts {
		for _, rule := range rules {
			r.Redirect = isRedirect(rule)
			matches := list(rule, "matches")
			if len(matches) == 0 {
				parts.add(r.at(host, "", WildcardBelow))
			}
			for _, match := range matches {
				parts.add(r.at(host, text(value(match, "path"), "value"), WildcardBelow))
			}
		}
	}
	return parts.routes
}

// tlsRoute is like a passthrough Route: it has no path, and beside it there is room for plain HTTP.
func (r Route) tlsRoute(spec any) []Route {
	hosts := texts(spec, "hostnames")
	if len(hosts) == 0 {
		hosts = []string{""}
	}
	r.TLS, r.Passthrough = true, true
	var parts parts
	for _, host := range hosts {
		part := r.at(host, "", WildcardBelow)
		part.Path = ""
		parts.add(part)
	}
	return parts.routes
}

// isRedirect is true for an HTTPRoute's rule that has no backend and sends the client elsewhere.
func isRedirect(rule any) bool {
	return len(list(rule, "backendRefs")) == 0 && slices.ContainsFunc(list(rule, "filters"), func(filter any) bool {
		return text(filter, "type") == "RequestRedirect"
	})
}

// parts are the routes of one object. One that matches a path in several ways, exactly and as a
// prefix or by headers, is no rival of itself.
type parts struct {
	routes []Route
	seen   map[place]bool
}

func (p *parts) add(r Route) {
	at := r.place()
	if p.seen[at] {
		return
	}
	if p.seen == nil {
		p.seen = map[place]bool{}
	}
	p.seen[at] = true
	p.routes = append(p.routes, r)
}

// value is the value of a key of a mapping; nil where there is no such thing.
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
