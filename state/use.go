package state

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/managed"
)

// Use is what an object that is not a claim says of a host or of an address: a route that serves
// it, a ProviderHost that stands for it, a Service that was given it.
type Use struct {
	Kind, Namespace, Name string
	// Host is the host that is used; empty where an address is.
	Host string
	// Address is the address that is used, SharingKey the endpoint it is used for.
	Address    netip.Addr
	SharingKey string
	// Lease is the lease that the object's labels name, or where they name none (Labelled is
	// false) the labels of its namespace; HasLease is false where neither does.
	Lease    lease.ID
	HasLease bool
	Labelled bool
	// Service and Port are the backend, where the object names one. The port of a Route is that of
	// the containers.
	Service string
	Port    uint16
	// Path is the path that a route serves; "/" where it says none.
	Path string
	// Redirect is true for a route that has no backend.
	Redirect bool
	Since    time.Time
	UID      types.UID
	// Granted is true for an address that stands in the Service's status.
	Granted bool
	// External is true for an address among the Service's spec.externalIPs.
	External bool
}

// String is kind namespace/name, for messages.
func (u Use) String() string {
	if u.Namespace == "" {
		return u.Kind + " " + u.Name
	}
	return u.Kind + " " + u.Namespace + "/" + u.Name
}

// Of is true when the object's labels say that it belongs to the deployment group.
func (u Use) Of(g lease.Group) bool { return u.HasLease && u.Lease.Group() == g }

func newUse(kind string, meta metav1.Object) Use {
	u := Use{Kind: kind, Namespace: meta.GetNamespace(), Name: meta.GetName(), Since: meta.GetCreationTimestamp().Time, UID: meta.GetUID()}
	u.Lease, u.Labelled = lease.IDFromLabels(meta.GetLabels())
	u.HasLease = u.Labelled
	return u
}

// cert-manager answers an ACME HTTP-01 challenge by an Ingress or an HTTPRoute of its own, which serves a
// host for a minute on behalf of whoever holds it. It has this label, belongs to a Challenge, and serves
// nothing but paths below the challenges' (cert-manager: pkg/issuer/acme/http; RFC 8555, section 8.3).
const (
	solverLabel  = "acme.cert-manager.io/http01-solver"
	solverGroup  = "acme.cert-manager.io/"
	solverOwner  = "Challenge"
	solverPrefix = "/.well-known/acme-challenge/"
)

// IsSolver is true for a route that shows itself to be one of cert-manager's solvers. The label alone could be
// anybody's, and what has marks of a lease or of this program is a lease's, whatever its labels say.
func IsSolver(o *unstructured.Unstructured) bool {
	labels := o.GetLabels()
	_, ofLease := labels[lease.LabelOwner]
	if labels[solverLabel] != "true" || ofLease || labels[lease.LabelManaged] != "" || labels[lease.LabelOurs] != "" ||
		o.GetAnnotations()[lease.AnnotationDefinition] != "" || managed.Names(o, lease.FieldManager) {
		return false
	}
	if !slices.ContainsFunc(o.GetOwnerReferences(), func(r metav1.OwnerReference) bool {
		return r.Kind == solverOwner && strings.HasPrefix(r.APIVersion, solverGroup)
	}) {
		return false
	}
	paths := routedPaths(o)
	return len(paths) > 0 && !slices.ContainsFunc(paths, func(p string) bool { return !strings.HasPrefix(p, solverPrefix) })
}

// routedPaths are all paths of an Ingress or an HTTPRoute. One that is missing is "".
func routedPaths(o *unstructured.Unstructured) (paths []string) {
	rules, _ := Field(o.Object, "spec", "rules").([]any)
	for _, rule := range rules {
		at, below := Field(rule, "http", "paths"), []string{"path"}
		if o.GetKind() == "HTTPRoute" {
			at, below = Field(rule, "matches"), []string{"path", "value"}
		}
		list, _ := at.([]any)
		if len(list) == 0 {
			paths = append(paths, "")
		}
		for _, one := range list {
			path, _ := Field(one, below...).(string)
			paths = append(paths, path)
		}
	}
	if Field(o.Object, "spec", "defaultBackend") != nil {
		paths = append(paths, "")
	}
	return paths
}

// serverAlias is the annotation by which ingress-nginx serves further hosts for an Ingress, separated by
// commas (its documentation, "Server Alias").
const serverAlias = "nginx.ingress.kubernetes.io/server-alias"

// HostUses are the hosts that a ProviderHost, an Ingress, a route of the Gateway API or a Route uses. A
// TCPRoute uses none: it names no host, and has the whole port of a listener.
func HostUses(o *unstructured.Unstructured) []Use {
	if IsSolver(o) {
		return nil
	}
	use := newUse(strings.ToLower(o.GetKind()), o)
	var hosts []string
	switch o.GetKind() {
	case "ProviderHost":
		hosts = []string{o.GetName()}
		use.Service, _, _ = unstructured.NestedString(o.Object, "spec", "service_name")
		port, _, _ := unstructured.NestedInt64(o.Object, "spec", "external_port")
		use.Port = uint16(port)
	case "Ingress":
		hosts = ingressHosts(o, &use)
	case "HTTPRoute", "TLSRoute", "GRPCRoute":
		hosts, _, _ = unstructured.NestedStringSlice(o.Object, "spec", "hostnames")
		rule := first(Field(o.Object, "spec", "rules"))
		use.Path, _ = Field(first(rule, "matches"), "path", "value").(string)
		backend := first(rule, "backendRefs")
		use.Redirect = backend == nil
		use.Service, _ = Field(backend, "name").(string)
		use.Port = portNumber(Field(backend, "port"))
	case "Route":
		hosts = routeHosts(o)
		use.Service, _, _ = unstructured.NestedString(o.Object, "spec", "to", "name")
		use.Port = portNumber(Field(o.Object, "spec", "port", "targetPort"))
		use.Path, _, _ = unstructured.NestedString(o.Object, "spec", "path")
	}
	use.Path = cmp.Or(use.Path, "/")
	uses := make([]Use, 0, len(hosts))
	for _, h := range hosts {
		use.Host = strings.ToLower(h)
		uses = append(uses, use)
	}
	return uses
}

// Backends are the Services to which an HTTPRoute or a TLSRoute leads.
func Backends(o *unstructured.Unstructured) []string {
	var names []string
	rules, _ := Field(o.Object, "spec", "rules").([]any)
	for _, rule := range rules {
		refs, _ := Field(rule, "backendRefs").([]any)
		for _, ref := range refs {
			if name, ok := Field(ref, "name").(string); ok {
				names = append(names, name)
			}
		}
	}
	return names
}

// routeHosts is the host of an OpenShift Route. With the wildcard policy Subdomain it stands for all
// hosts one label below its domain.
func routeHosts(o *unstructured.Unstructured) []string {
	host, _, _ := unstructured.NestedString(o.Object, "spec", "host")
	policy, _, _ := unstructured.NestedString(o.Object, "spec", "wildcardPolicy")
	_, domain, _ := strings.Cut(host, ".")
	switch {
	case host == "":
		return nil
	case policy == "Subdomain":
		return []string{"*." + domain}
	}
	return []string{host}
}

func ingressHosts(o *unstructured.Unstructured, use *Use) []string {
	var hosts []string
	rules, _, _ := unstructured.NestedSlice(o.Object, "spec", "rules")
	for _, r := range rules {
		if h, ok := Field(r, "host").(string); ok && h != "" {
			hosts = append(hosts, h)
		}
		path := first(Field(r, "http", "paths"))
		use.Path, _ = Field(path, "path").(string)
		service := Field(path, "backend", "service")
		use.Service, _ = Field(service, "name").(string)
		use.Port = portNumber(Field(service, "port", "number"))
	}
	for alias := range strings.SplitSeq(o.GetAnnotations()[serverAlias], ",") {
		if alias = strings.TrimSpace(alias); alias != "" && !slices.Contains(hosts, alias) {
			hosts = append(hosts, alias)
		}
	}
	return hosts
}

// UsesOf are the uses of a host: its own, and those of a wildcard one label above it by others than the
// owner, while nobody has claimed the wildcard. claimed tells which claims there are, by their names; a claim
// on the wildcard decides by itself.
func UsesOf(host string, uses map[string][]Use, owner string, claimed func(name string) bool) []Use {
	over := WildcardOver(host)
	if over == "" || claimed(HostName(over)) {
		return uses[host]
	}
	all := slices.Clone(uses[host])
	for _, u := range uses[over] {
		if !u.HasLease || u.Lease.Owner != owner {
			all = append(all, u)
		}
	}
	return all
}

// Field walks into nested maps; it is nil where the path ends early.
func Field(v any, path ...string) any {
	for _, name := range path {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[name]
	}
	return v
}

// first is the first element of a list, or of the list at a field.
func first(v any, path ...string) any {
	if list, ok := Field(v, path...).([]any); ok && len(list) > 0 {
		return list[0]
	}
	return nil
}

func portNumber(v any) uint16 {
	n, _ := v.(int64)
	return uint16(n)
}
