package state

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/managed"
	"github.com/akash-net/kubectl-akash-net/state/admission"
)

// Use is one host or address that an object other than a claim uses: a route that serves it, a ProviderHost that
// declares it, or a Service that asks for it or has it.
type Use struct {
	Kind, Namespace, Name string
	// Host is the host that is used. It is empty if an address is used.
	Host string
	// Address is the address that is used, SharingKey the sharing key of the Service.
	Address    netip.Addr
	SharingKey string
	// Lease is the lease that the object's labels name (Labelled is true), or else that the labels of its namespace
	// name. HasLease is false if neither names one. Labels that name the lease of another namespace name none.
	Lease    lease.ID
	HasLease bool
	Labelled bool
	// Service and Port are the backend, if the object names one. The port of a Route is a container port.
	Service string
	Port    uint16
	// Path is the path that a route serves, "/" if the route has none.
	Path string
	// Matches are what a route takes of the requests for its path (admission.Route).
	Matches []string
	// Redirect is true for a route without a backend.
	Redirect bool
	Since    time.Time
	UID      types.UID
	// Granted is true for an address in the status of the Service.
	Granted bool
	// External is true for an address in spec.externalIPs of the Service.
	External bool
}

// String returns kind namespace/name.
func (u Use) String() string {
	if u.Namespace == "" {
		return u.Kind + " " + u.Name
	}
	return u.Kind + " " + u.Namespace + "/" + u.Name
}

// Compare compares objects by kind, namespace and name, as their keys are sorted.
func (u Use) Compare(other Use) int {
	return cmp.Or(cmp.Compare(u.Kind, other.Kind), cmp.Compare(u.Namespace+"/"+u.Name, other.Namespace+"/"+other.Name))
}

// Of reports whether the object belongs to the deployment group.
func (u Use) Of(g lease.Group) bool { return u.HasLease && u.Lease.Group() == g }

func newUse(kind string, meta metav1.Object) Use {
	u := Use{
		Kind: kind, Namespace: meta.GetNamespace(), Name: meta.GetName(), UID: meta.GetUID(),
		Since: meta.GetCreationTimestamp().Time,
	}
	u.Lease, u.Labelled = labelledLease(kind, meta)
	u.HasLease = u.Labelled
	return u
}

// cert-manager answers an ACME HTTP-01 challenge with an Ingress or an HTTPRoute of its own, which serves a host for
// about a minute for whoever holds it. It has this label, is owned by a Challenge, and serves only paths below the
// challenges' (cert-manager: pkg/issuer/acme/http; RFC 8555, section 8.3).
const (
	solverLabel  = "acme.cert-manager.io/http01-solver"
	solverGroup  = "acme.cert-manager.io/"
	solverOwner  = "Challenge"
	solverPrefix = "/.well-known/acme-challenge/"
)

// IsSolver reports whether a route is one of cert-manager's solvers. The label alone proves nothing, because anyone can
// set it. A route with marks of a lease or of this program belongs to a lease, whatever other labels it has.
func IsSolver(o *unstructured.Unstructured) bool {
	if marked(o, "labels", solverLabel) != "true" {
		return false
	}
	labels := o.GetLabels()
	_, ofLease := labels[lease.LabelOwner]
	if ofLease || labels[lease.LabelManaged] != "" || labels[lease.LabelOurs] != "" ||
		o.GetAnnotations()[lease.AnnotationDefinition] != "" || managed.Names(o, lease.FieldManager) {
		return false
	}
	if !slices.ContainsFunc(o.GetOwnerReferences(), func(r metav1.OwnerReference) bool {
		return r.Kind == solverOwner && strings.HasPrefix(r.APIVersion, solverGroup)
	}) {
		return false
	}
	if o.GetKind() == admission.KindRoute || Field(o.Object, "spec", "defaultBackend") != nil {
		return false
	}
	routes := admission.RoutesOf(o)
	return len(routes) > 0 && !slices.ContainsFunc(routes, func(r admission.Route) bool { return !strings.HasPrefix(r.Path, solverPrefix) })
}

// HostUses returns the hosts and paths that a ProviderHost, an Ingress, a route of the Gateway API or a Route uses, each once. A TCPRoute
// uses none: it has no host names and takes the whole port of a listener.
func HostUses(o *unstructured.Unstructured) []Use {
	if o.GetKind() != kinds.ProviderHost.Kind {
		return routeUses(o, admission.RoutesOf(o))
	}
	use := newUse(kinds.ProviderHost.Singular, o)
	use.Host, use.Path = strings.ToLower(o.GetName()), "/"
	use.Service, use.Port = DeclaredBackend(o)
	return []Use{use}
}

// GatewayUses is HostUses of a route of which the listeners of its Gateways are known: it uses the hosts that it shares with them. of are
// the labels of its namespace.
func GatewayUses(o *unstructured.Unstructured, gateways admission.Gateways, of map[string]string) []Use {
	if !isGatewayRoute(o) {
		return HostUses(o)
	}
	served := gateways.Attach(admission.RoutesOf(o), map[string]map[string]string{o.GetNamespace(): of})
	return routeUses(o, slices.DeleteFunc(served, func(r admission.Route) bool { return r.Unserved != nil }))
}

// routeUses returns what the parts of a route use. A redirect of requests beside a backend for the others is none.
func routeUses(o *unstructured.Unstructured, parts []admission.Route) (uses []Use) {
	if len(parts) == 0 || IsSolver(o) {
		return nil
	}
	use := newUse(strings.ToLower(o.GetKind()), o)
	seen := map[[2]string]int{}
	for _, r := range parts {
		use.Host, use.Path = servedHost(r), cmp.Or(r.Path, "/")
		use.Service, use.Port, use.Matches = r.Service, r.Port, r.Matches
		use.Redirect = r.Service == "" && isGatewayRoute(o)
		at := [2]string{use.Host, use.Path}
		switch i, known := seen[at]; {
		case use.Host == "":
		case !known:
			seen[at], uses = len(uses), append(uses, use)
		case uses[i].Redirect:
			uses[i] = use
		}
	}
	return uses
}

// servedHost returns the host or the wildcard that a part of a route serves. The host of a Route with the policy Subdomain is an example:
// it serves every host one label below the domain.
func servedHost(r admission.Route) string {
	host := strings.ToLower(r.Host)
	if _, domain, _ := strings.Cut(host, "."); r.Wildcard == admission.WildcardSubdomain && !strings.HasPrefix(host, "*.") && host != "" {
		return "*." + domain
	}
	return host
}

// UsesOf returns the uses of a host. They include other owners' uses of the wildcard above it, unless the wildcard is
// claimed: then the claim decides. uses returns those of a host alone, claimed reports whether a claim with the name exists.
func UsesOf(host string, uses func(host string) []Use, owner string, claimed func(name string) bool) []Use {
	over := WildcardOver(host)
	if over == "" || claimed(HostName(over)) {
		return uses(host)
	}
	all := slices.Clone(uses(host))
	for _, u := range uses(over) {
		if !u.HasLease || u.Lease.Owner != owner {
			all = append(all, u)
		}
	}
	return all
}

// Field walks into nested maps. It returns nil if the path does not exist.
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

// first returns the first element of the list at the path, or nil.
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

// ServiceUses returns all addresses that a Service uses: those of AddressUses and its external IPs, which nodes route
// to it without MetalLB.
func ServiceUses(o *unstructured.Unstructured) []Use {
	uses := AddressUses(o)
	external, _, _ := unstructured.NestedStringSlice(o.Object, "spec", "externalIPs")
	for _, text := range external {
		use := newUse("service", o)
		if a, ok := parseAddress(text); ok {
			use.Address, use.External = a, true
			uses = append(uses, use)
		}
	}
	return uses
}

// AddressUses returns the addresses that a Service asks MetalLB for or was granted.
func AddressUses(o *unstructured.Unstructured) []Use {
	use := newUse("service", o)
	annotations := o.GetAnnotations()
	var asked []string
	for _, prefix := range []string{"metallb.universe.tf", "metallb.io"} {
		if key := annotations[prefix+"/allow-shared-ip"]; key != "" {
			use.SharingKey = key
		}
		asked = append(asked, strings.Split(annotations[prefix+"/loadBalancerIPs"], ",")...)
	}
	legacy, _, _ := unstructured.NestedString(o.Object, "spec", "loadBalancerIP")
	var uses []Use
	add := func(text string, granted bool) {
		if a, ok := parseAddress(text); ok {
			use.Address, use.Granted = a, granted
			uses = append(uses, use)
		}
	}
	for _, text := range append(asked, legacy) {
		add(text, false)
	}
	ingress, _ := Field(o.Object, "status", "loadBalancer", "ingress").([]any)
	for _, i := range ingress {
		if ip, ok := Field(i, "ip").(string); ok {
			add(ip, true)
		}
	}
	return uses
}

// NodeUses returns the addresses that a node has itself. MetalLB would announce them for whoever gets them, and take the node's
// own traffic.
func NodeUses(o *unstructured.Unstructured) []Use {
	var uses []Use
	addresses, _ := Field(o.Object, "status", "addresses").([]any)
	for _, entry := range addresses {
		text, _ := Field(entry, "address").(string)
		kind, _ := Field(entry, "type").(string)
		if a, ok := parseAddress(text); ok && (kind == "InternalIP" || kind == "ExternalIP") {
			use := Use{Kind: "node", Name: o.GetName(), UID: o.GetUID(), Since: o.GetCreationTimestamp().Time, Address: a}
			uses = append(uses, use)
		}
	}
	return uses
}

// NodeAddressMeans says what comes of the address of a node in a pool.
const NodeAddressMeans = "whoever is granted it takes the node's own traffic"

// ExcludeAddress says how to take an address out of the ranges of a configuration.
func ExcludeAddress(a netip.Addr) string { return fmt.Sprintf(`add "!%s" to ip.ranges`, a) }

// InRanges returns the uses of addresses that a configuration leases, each address once.
func InRanges(cfg *config.ProviderConfig, uses []Use) []Use {
	var out []Use
	for _, u := range uses {
		same := func(v Use) bool { return v.Address == u.Address }
		if _, leased := cfg.IP.Ranges.Find(u.Address); leased && cfg.IP.Mode != config.ModePool && !slices.ContainsFunc(out, same) {
			out = append(out, u)
		}
	}
	return out
}

// parseAddress parses an address as Kubernetes and MetalLB do: an IPv4-mapped IPv6 address is the IPv4 address.
func parseAddress(text string) (a netip.Addr, ok bool) {
	a, err := netip.ParseAddr(strings.TrimSpace(text))
	return a.Unmap(), err == nil
}

// Squatters returns the Services among the uses of an address that belong to none of its holders, each once. If nobody
// holds the address, it returns all of them.
func (c *Claim) Squatters(uses []Use) []Use {
	var out []Use
	for _, u := range uses {
		if u.HasLease && c.belongsToHolder(u) {
			continue
		}
		i := slices.IndexFunc(out, func(v Use) bool { return v.Namespace == u.Namespace && v.Name == u.Name })
		switch {
		case i < 0:
			out = append(out, u)
		case u.Granted || u.External: // prefer the use that has the address already
			out[i] = u
		}
	}
	slices.SortFunc(out, func(a, b Use) int { return cmp.Compare(a.String(), b.String()) })
	return out
}

// belongsToHolder reports whether a use is by a deployment group that holds a part of the claim, or whose Services
// still serve one after a transfer. Labels alone prove nothing: the Service must be in the lease's namespace.
func (c *Claim) belongsToHolder(u Use) bool {
	g := u.Lease.Group()
	return c != nil && u.Namespace == u.Lease.Namespace() && (slices.Contains(c.Groups(), g) || len(c.FormerOf(g)) > 0)
}

// Takes describes how a Service uses an address: it asks for it, was granted it, or has it in spec.externalIPs.
func (u Use) Takes(what string) string {
	switch {
	case u.External:
		return fmt.Sprintf("%s has %s in spec.externalIPs", u, what)
	case u.Granted:
		return fmt.Sprintf("%s was granted %s", u, what)
	}
	return fmt.Sprintf("%s asks for %s", u, what)
}

// Edit returns the command that opens the object in an editor.
func (u Use) Edit() string {
	return fmt.Sprintf("kubectl -n %s edit %s %s", u.Namespace, u.Kind, u.Name)
}
