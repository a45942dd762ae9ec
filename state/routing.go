package state

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/managed"
	"github.com/akash-net/kubectl-akash-net/state/admission"
)

// Routing is which requests a route takes now, from which router, and where they go.
type Routing struct {
	// kind is the route's kind in lower case. rendered is true for one that was rendered from a definition.
	kind     string
	rendered bool
	// RouterIsOurs is true if this program has written from which router, and nobody since.
	RouterIsOurs bool
	// class is the class of an Ingress, attached is to what a route of the Gateway API refers. judged is true if its controllers may have
	// written its status.
	class    string
	attached admission.Attached
	judged   bool
	rules    []routingRule
}

// routingRule is a host and a path of a route, with its first backend. takes are the only requests for the path that it takes; empty
// for all.
type routingRule struct {
	host, path, service string
	port                uint16
	takes               []string
}

// ingressClass is the annotation by which an Ingress had its class before the field.
const ingressClass = "kubernetes.io/ingress.class"

// RoutingOf reads the routing of an Ingress, an HTTPRoute, a TLSRoute or a Route. It returns nil for any other object.
func RoutingOf(o *unstructured.Unstructured) *Routing {
	r := &Routing{
		kind: intern(strings.ToLower(o.GetKind())), rendered: o.GetAnnotations()[lease.AnnotationDefinition] != "",
		attached: admission.AttachedOf(o), judged: o.GetUID() != "",
	}
	switch {
	case o.GetKind() == kinds.Ingress.Kind:
		class, _ := Field(o.Object, "spec", "ingressClassName").(string)
		r.class, r.RouterIsOurs = intern(cmp.Or(class, o.GetAnnotations()[ingressClass])), isOurs(o, "spec", "ingressClassName")
	case isGatewayRoute(o):
		r.RouterIsOurs = isOurs(o, "spec", "parentRefs")
	}
	for _, at := range admission.RoutesOf(o) {
		r.rules = append(r.rules, routingRule{intern(servedHost(at)), intern(cmp.Or(at.Path, "/")), intern(at.Service), at.Port, at.Matches})
	}
	if len(r.rules) == 0 {
		return nil
	}
	return r
}

// isOurs reports whether a field manager of this program owns a field.
func isOurs(o *unstructured.Unstructured, path ...string) bool {
	for e := range managed.Of(o) {
		if e.Ours() && e.Owns(path...) {
			return true
		}
	}
	return false
}

// HasNoClass reports whether the route is an Ingress without a class: of a configuration without one, or since somebody has removed it.
func (r *Routing) HasNoClass() bool {
	return r != nil && r.kind == kinds.Ingress.Singular && r.class == ""
}

// Takes reports whether the route takes the requests for a path of a host, from whatever router.
func (r *Routing) Takes(host, path string) bool { return r.rule(host, path) != nil }

// Differs returns how the route differs from one that takes the requests for a path of a host from the configured router, or "". It
// is "" for a nil Routing, which was not read.
func (r *Routing) Differs(cfg *config.ProviderConfig, host, path string) string {
	if r == nil {
		return ""
	}
	if r.rule(host, path) == nil {
		var takes []string
		for _, rule := range r.rules {
			takes = append(takes, rule.String())
		}
		return fmt.Sprintf("takes %s, not %s", strings.Join(takes, ", "), lease.HostPath(host, path))
	}
	switch {
	case r.kind == kinds.Ingress.Singular:
		others := !r.rendered && (r.class == "" || r.class == config.AkashIngressClass) // the cluster's default class, and that of Akash's provider
		if r.class != cfg.Ingress.ClassName && !others {
			return fmt.Sprintf("has %s, and the configured class is %s", cmp.Or(prefixed("the class ", r.class), "no class"), cfg.Ingress.ClassName)
		}
	case r.kind != kindRoute && r.rendered && !slices.ContainsFunc(r.attached.Parents, func(p admission.Parent) bool { return isListener(cfg, p) }):
		var names []string
		for _, p := range r.attached.Parents {
			names = append(names, p.String())
		}
		return fmt.Sprintf("belongs to %s, which is not the configured Gateway %s/%s or one of its configured listeners",
			cmp.Or(strings.Join(names, ", "), "no Gateway"), cfg.Gateway.Namespace, cfg.Gateway.Name)
	}
	return ""
}

// Unattached returns why no listener of the Gateways serves the route at a host, or "". of are the labels of its namespace. Where its
// controllers may have judged it, their word counts.
func (r *Routing) Unattached(gateways admission.Gateways, of map[string]string, host string) string {
	if r == nil || r.judged {
		return ""
	}
	_, refused := gateways.Hosts(r.attached, host, of)
	return refused.Message
}

// Path returns the path of the route that has the hash, or "/".
func (r *Routing) Path(hash string) string {
	if r != nil {
		for _, rule := range r.rules {
			if lease.PathHash(rule.path) == hash {
				return rule.path
			}
		}
	}
	return "/"
}

// rule returns the rule that takes all requests for a path of a host, or nil.
func (r *Routing) rule(host, path string) *routingRule {
	for i, rule := range r.rules {
		if rule.host == host && rule.path == cmp.Or(path, "/") && (len(rule.takes) == 0 || slices.Contains(rule.takes, "")) {
			return &r.rules[i]
		}
	}
	return nil
}

func (r routingRule) String() string {
	text := lease.HostPath(cmp.Or(r.host, "every host"), r.path)
	if len(r.takes) > 0 && !slices.Contains(r.takes, "") {
		text += " (" + strings.Join(r.takes, ", ") + ")"
	}
	return text
}

// isListener reports whether a parent is the configured Gateway, or one of its listeners that the configuration names.
func isListener(cfg *config.ProviderConfig, p admission.Parent) bool {
	l := cfg.Gateway.Listeners
	return p.IsGateway() && p.Namespace == cfg.Gateway.Namespace && p.Name == cfg.Gateway.Name &&
		(p.Section == "" || slices.Contains(slices.Concat(l.HTTP, l.HTTPS, l.Passthrough), p.Section))
}

func prefixed(prefix, text string) string {
	if text == "" {
		return ""
	}
	return prefix + text
}

// SetBackend sets the backend of a route with one rule.
func SetBackend(o *unstructured.Unstructured, service string, port uint16) error {
	set := func(at any, path ...any) error { // a number in the path is a list of one item
		for i, step := range path {
			switch v := at.(type) {
			case map[string]any:
				at = v[step.(string)]
			case []any:
				if len(v) != 1 {
					return fmt.Errorf("it has %d rules, paths or backends where one is expected; delete it (kubectl -n %s delete %s %s), and repair with -f",
						len(v), o.GetNamespace(), strings.ToLower(o.GetKind()), o.GetName())
				}
				at = v[0]
			}
			if at == nil {
				return fmt.Errorf("it has no backend (%v is missing)", path[:i+1])
			}
		}
		backend, ok := at.(map[string]any)
		if !ok {
			return fmt.Errorf("its backend cannot be read")
		}
		backend["name"] = service
		if number, nested := backend["port"].(map[string]any); nested {
			delete(number, "name")
			number["number"] = int64(port)
			return nil
		}
		backend["port"] = int64(port)
		return nil
	}
	spec := o.Object["spec"]
	switch o.GetKind() {
	case "Ingress":
		return set(spec, "rules", 0, "http", "paths", 0, "backend", "service")
	case "HTTPRoute", "TLSRoute":
		return set(spec, "rules", 0, "backendRefs", 0)
	}
	// A Route names the container port, which the claim does not have.
	return unstructured.SetNestedField(o.Object, service, "spec", "to", "name")
}
