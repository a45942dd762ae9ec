package admission

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/akash-net/kubectl-akash-net/lease/kinds"
)

// gatewayGroup is the group of the Gateway API.
const gatewayGroup = "gateway.networking.k8s.io"

// Parent is what a route of the Gateway API refers to: a Gateway, or one of its listeners if it names a section or a port. The listeners
// of any other kind, such as a ListenerSet, are not known.
type Parent struct {
	Of                       schema.GroupKind
	Namespace, Name, Section string
	Port                     int64
}

// IsGateway reports whether the parent is a Gateway.
func (p Parent) IsGateway() bool { return p.Of == kinds.Gateway.GroupKind() }

// String returns namespace/name, or namespace/name/listener, after the kind of any other parent than a Gateway.
func (p Parent) String() string {
	text := p.Namespace + "/" + p.Name
	if p.Section != "" {
		text += "/" + p.Section
	}
	if !p.IsGateway() {
		text = p.Of.Kind + " " + text
	}
	return text
}

// ParentOf reads a reference (ParentReference of the Gateway API) of a route in a namespace.
func ParentOf(ref any, namespace string) Parent {
	port, _ := value(ref, "port").(int64)
	return Parent{
		schema.GroupKind{Group: cmp.Or(text(ref, "group"), gatewayGroup), Kind: cmp.Or(text(ref, "kind"), kinds.Gateway.Kind)},
		cmp.Or(text(ref, "namespace"), namespace), text(ref, "name"), text(ref, "sectionName"), port,
	}
}

// Attached is a route of the Gateway API, and what it refers to.
type Attached struct {
	Kind, Namespace string
	Parents         []Parent
}

// AttachedOf reads what a route refers to.
func AttachedOf(o *unstructured.Unstructured) Attached {
	at := Attached{Kind: o.GetKind(), Namespace: o.GetNamespace()}
	for _, ref := range list(value(o.Object, "spec"), "parentRefs") {
		at.Parents = append(at.Parents, ParentOf(ref, at.Namespace))
	}
	return at
}

// ToGateway reports whether the route refers to a Gateway.
func (a Attached) ToGateway() bool { return slices.ContainsFunc(a.Parents, Parent.IsGateway) }

// Listener is a listener of a Gateway; one without a host serves all hosts.
type Listener struct {
	Name, Host string
	Port       int64
	// kinds are the kinds of routes that it allows, all if there are none.
	kinds []string
	// from says of which namespaces it allows routes (FromNamespaces of the Gateway API), selector selects them by their labels. The API
	// server writes the default, Same. Only a file lacks it, and then nothing is known.
	from     string
	selector labels.Selector
}

// protocolKinds are the kinds of routes of each protocol.
var protocolKinds = map[string][]string{
	"HTTP": {"HTTPRoute", "GRPCRoute"}, "HTTPS": {"HTTPRoute", "GRPCRoute"}, "TLS": {"TLSRoute", "TCPRoute"}, "TCP": {"TCPRoute"}, "UDP": {"UDPRoute"},
}

func listenerOf(l any) Listener {
	port, _ := value(l, "port").(int64)
	out := Listener{Name: text(l, "name"), Host: strings.ToLower(text(l, "hostname")), Port: port}
	allowed := value(l, "allowedRoutes")
	for _, of := range list(allowed, "kinds") {
		kind := text(of, "kind")
		if group := cmp.Or(text(of, "group"), gatewayGroup); group != gatewayGroup {
			kind += "." + group
		}
		out.kinds = append(out.kinds, kind)
	}
	if out.kinds == nil {
		out.kinds = protocolKinds[text(l, "protocol")]
	}
	if allowed == nil {
		return out
	}
	if out.from = cmp.Or(text(value(allowed, "namespaces"), "from"), "Same"); out.from == "Selector" {
		fields, there := value(value(allowed, "namespaces"), "selector").(map[string]any)
		var by metav1.LabelSelector
		err := runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &by)
		if err == nil && there {
			out.selector, err = metav1.LabelSelectorAsSelector(&by)
		}
		if err != nil || !there {
			out.selector = labels.Nothing()
		}
	}
	return out
}

// refuses returns by which rule a listener of a Gateway in a namespace does not allow a route, or "". of are the labels of the route's
// namespace. Without any they are not known, since the API server gives one to each namespace, and do not refuse it.
func (l *Listener) refuses(r Attached, namespace string, of map[string]string) string {
	if len(l.kinds) > 0 && !slices.Contains(l.kinds, r.Kind) {
		return "allows only routes of kind " + strings.Join(l.kinds, ", ")
	}
	switch {
	case l.from == "Same" && r.Namespace != namespace:
		return "allows only routes of its own namespace"
	case l.from == "None":
		return "allows no routes"
	case l.from == "Selector" && len(of) > 0 && !l.selector.Matches(labels.Merge(of, labels.Set{corev1.LabelMetadataName: r.Namespace})):
		return "allows only routes of namespaces with " + l.selector.String()
	}
	return ""
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
		listeners = append(listeners, listenerOf(l))
	}
	g[o.GetNamespace()+"/"+o.GetName()] = listeners
}

// Hosts returns the hosts that a route serves by one of its host names, or by none (""): those that it shares with the listeners of its
// Gateways that allow it. What is not known of a parent does not limit it. of are the labels of the route's namespace. If there are none,
// refused says why.
func (g Gateways) Hosts(r Attached, host string, of map[string]string) (hosts []string, refused Verdict) {
	if len(r.Parents) == 0 {
		return []string{host}, Verdict{}
	}
	var rules []string
	for _, p := range r.Parents {
		listeners, known := g[p.Namespace+"/"+p.Name]
		if !known || !p.IsGateway() {
			listeners = []Listener{{Name: p.Section, Port: p.Port}}
		}
		for i := range listeners {
			l := &listeners[i]
			shared, ok := intersect(l.Host, strings.ToLower(host))
			if !ok || p.Section != "" && p.Section != l.Name || p.Port != 0 && p.Port != l.Port || slices.Contains(hosts, shared) {
				continue
			}
			if rule := l.refuses(r, p.Namespace, of); rule != "" {
				rules = append(rules, fmt.Sprintf("listener %s of Gateway %s/%s %s", l.Name, p.Namespace, p.Name, rule))
				continue
			}
			hosts = append(hosts, shared)
		}
	}
	switch {
	case len(hosts) > 0:
		return hosts, Verdict{}
	case len(rules) > 0:
		return nil, Verdict{Reason: ReasonNotAllowed, Message: strings.Join(rules, "; ")}
	}
	return nil, Verdict{Reason: ReasonNoListener, Message: "no listener of its Gateways serves this host"}
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
// shares with them. One that no listener serves stays as it is, and is not admitted. namespaces are the labels of namespaces by name.
func (g Gateways) Attach(routes []Route, namespaces map[string]map[string]string) []Route {
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
		hosts, refused := g.Hosts(Attached{r.Kind, r.Namespace, r.Parents}, r.Host, namespaces[r.Namespace])
		if len(hosts) == 0 {
			r.Unserved = &refused
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
