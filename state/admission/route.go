package admission

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/akash-net/kubectl-akash-net/lease"
)

// Wildcard is which hosts a route covers besides, or instead of, the host that it names.
type Wildcard string

// The kinds of wildcard. Any other value is refused, as in the router.
const (
	// WildcardNone covers only the host itself.
	WildcardNone Wildcard = ""
	// WildcardSubdomain covers all hosts exactly one label below the domain, like *.example.com in an Ingress and
	// wildcardPolicy Subdomain in a Route.
	WildcardSubdomain Wildcard = "Subdomain"
	// WildcardBelow covers all hosts at any depth below the domain, like *.example.com in an HTTPRoute.
	WildcardBelow Wildcard = "Below"
)

// Route is one host and path of a live object: all of a Route, or a part of an Ingress or HTTPRoute.
type Route struct {
	Kind, Namespace, Name string
	UID                   types.UID
	// Created is the object's creation time. A route without one is not in a cluster yet and counts as the youngest.
	Created time.Time
	// Labels are the object's labels, by which shards select it.
	Labels map[string]string
	// Host is spec.host of a Route, or the host of a rule, such as *.example.com.
	Host string
	// Path is compared verbatim: "" and "/" are different paths.
	Path     string
	Wildcard Wildcard
	// Redirect is true for an HTTPRoute that only redirects HTTP to HTTPS. It does not compete with the route that it
	// redirects to at the same path.
	Redirect bool
	// Matches are what the route takes of the requests for its path; empty if it takes all. Routes of one kind compete only
	// for the same match.
	Matches []string
	// Service and Port are the first backend, if the route names one by its number. The port of a Route is a container port.
	Service string
	Port    uint16
	// Alias is true for a host that an Ingress has by an annotation. ingress-nginx prefers the rules of any Ingress.
	Alias bool
	// Parents are the Gateways of a route of the Gateway API. Unserved is true if no listener of theirs serves its host.
	Parents  []Parent
	Unserved bool
	// Invalid is what the router's extended validation says of a Route; empty if it is valid.
	Invalid string
	// TLS is true if the route terminates TLS or, with Passthrough, forwards it.
	TLS, Passthrough bool
	// Lease is the lease that the labels of the object, or else those of its namespace, name. HasLease is false if
	// neither names one.
	Lease    lease.ID
	HasLease bool
}

// identity is the owner of a host: the owner of a lease, or the namespace of a route without a lease.
type identity struct{ owner, namespace string }

func (r *Route) identity() identity {
	if r.HasLease {
		return identity{owner: r.Lease.Owner}
	}
	return identity{namespace: r.Namespace}
}

func (r *Route) kind() string { return strings.ToLower(r.Kind) }

// String returns kind namespace/name, as messages name a route.
func (r *Route) String() string { return r.kind() + " " + r.Namespace + "/" + r.Name }

// domainOf returns the host without its first label. A wildcard covers names below it.
func domainOf(host string) string {
	_, domain, _ := strings.Cut(host, ".")
	return domain
}

// compareAge orders routes from the oldest to the newest by the router's rule: creation time (in seconds), then UID.
// Aliases come last.
// Names decide between the remaining ones, which are objects outside a cluster and parts of one object.
func compareAge(a, b *Route) int {
	// The first comparison nearly always decides; cmp.Or would evaluate all of them.
	if c := compareTruth(a.Alias, b.Alias); c != 0 {
		return c
	}
	if c := compareTruth(a.Created.IsZero(), b.Created.IsZero()); c != 0 {
		return c
	}
	if c := a.Created.Compare(b.Created); c != 0 {
		return c
	}
	if c := cmp.Compare(a.UID, b.UID); c != 0 {
		return c
	}
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name),
		cmp.Compare(a.Host, b.Host), cmp.Compare(a.Path, b.Path), cmp.Compare(a.Wildcard, b.Wildcard),
		compareTruth(a.Redirect, b.Redirect), slices.Compare(a.Matches, b.Matches))
}

func compareTruth(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}
