package admission

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// gatewayGroup is the group of the Gateway API.
const gatewayGroup = "gateway.networking.k8s.io"

// Parent is a reference of a route of the Gateway API to a Gateway: to one of its listeners, if it names a section or a port.
type Parent struct {
	Namespace, Name, Section string
	Port                     int64
}

// Listener is a listener of a Gateway; one without a host serves all hosts.
type Listener struct {
	Name, Host string
	Port       int64
}

// Gateways are the listeners of Gateways by namespace and name.
type Gateways map[string][]Listener

// Add adds a Gateway; any other object is ignored.
func (g Gateways) Add(o *unstructured.Unstructured) {
	if o.GetKind() != "Gateway" || o.GroupVersionKind().Group != gatewayGroup {
		return
	}
	listeners := []Listener{}
	for _, l := range list(value(o.Object, "spec"), "listeners") {
		port, _ := value(l, "port").(int64)
		listeners = append(listeners, Listener{text(l, "name"), strings.ToLower(text(l, "hostname")), port})
	}
	g[o.GetNamespace()+"/"+o.GetName()] = listeners
}

// ParentsOf returns the Gateways of a route of the Gateway API.
func ParentsOf(o *unstructured.Unstructured) (parents []Parent) {
	if o.GroupVersionKind().Group != gatewayGroup {
		return nil
	}
	for _, ref := range list(value(o.Object, "spec"), "parentRefs") {
		if cmp.Or(text(ref, "kind"), "Gateway") != "Gateway" || cmp.Or(text(ref, "group"), gatewayGroup) != gatewayGroup {
			continue
		}
		port, _ := value(ref, "port").(int64)
		parents = append(parents, Parent{cmp.Or(text(ref, "namespace"), o.GetNamespace()), text(ref, "name"), text(ref, "sectionName"), port})
	}
	return parents
}

// Hosts returns the hosts that a route serves by one of its host names, or by none (""): those that it shares with the listeners of its
// Gateways. What is not known of a Gateway does not limit it.
func (g Gateways) Hosts(parents []Parent, host string) (hosts []string) {
	if len(parents) == 0 {
		return []string{host}
	}
	for _, p := range parents {
		listeners, known := g[p.Namespace+"/"+p.Name]
		if !known {
			listeners = []Listener{{Name: p.Section, Port: p.Port}}
		}
		for _, l := range listeners {
			if p.Section != "" && p.Section != l.Name || p.Port != 0 && p.Port != l.Port {
				continue
			}
			if shared, ok := intersect(l.Host, strings.ToLower(host)); ok && !slices.Contains(hosts, shared) {
				hosts = append(hosts, shared)
			}
		}
	}
	return hosts
}

// intersect returns the hosts that both of two names stand for: "" for all hosts, a wildcard for those below it at any depth.
func intersect(a, b string) (host string, ok bool) {
	covers := func(wide, narrow string) bool {
		domain, isWildcard := strings.CutPrefix(wide, "*")
		return wide == "" || wide == narrow || isWildcard && strings.HasSuffix(strings.TrimPrefix(narrow, "*"), domain) && narrow != ""
	}
	switch {
	case covers(a, b):
		return b, true
	case covers(b, a):
		return a, true
	}
	return "", false
}

// Attach returns the routes as their Gateways serve them: one without a host has those of its listeners, one with a host those that it
// shares with them. One that no listener serves stays as it is, and is not admitted.
func (g Gateways) Attach(routes []Route) []Route {
	type part struct {
		kind, namespace, name string
		place
		matches string
	}
	var out []Route
	seen := map[part]bool{}
	for _, r := range routes {
		if len(r.Parents) == 0 {
			out = append(out, r)
			continue
		}
		hosts := g.Hosts(r.Parents, r.Host)
		if len(hosts) == 0 {
			r.Unserved = true
			out = append(out, r)
			continue
		}
		for _, host := range hosts {
			at := r
			if host != strings.ToLower(r.Host) {
				at.Wildcard = WildcardNone
				at = at.at(host, r.Path, WildcardBelow)
				at.Path = r.Path
			}
			key := part{at.Kind, at.Namespace, at.Name, at.place(), strings.Join(at.Matches, "\n")}
			if !seen[key] {
				seen[key] = true
				out = append(out, at)
			}
		}
	}
	return out
}
