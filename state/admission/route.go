package admission

import (
	"cmp"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/akash-net/kubectl-akash-net/lease"
)

// Wildcard says which hosts a route stands for beside, or in place of, the one that it names.
type Wildcard string

// The reaches of a wildcard. Any other value is refused, as the router does.
const (
	// WildcardNone is a route for one host.
	WildcardNone Wildcard = ""
	// WildcardSubdomain is a route for all hosts one label below the domain of its host, as an
	// Ingress's *.example.com and a Route's wildcardPolicy Subdomain are.
	WildcardSubdomain Wildcard = "Subdomain"
	// WildcardBelow is a route for all hosts below the domain, as an HTTPRoute's *.example.com is.
	WildcardBelow Wildcard = "Below"
)

// Route is one host and path that a live object routes: all of a Route, a part of most Ingresses
// and HTTPRoutes.
type Route struct {
	Kind, Namespace, Name string
	UID                   types.UID
	// Created is the object's age. What has none is not in a cluster yet: it is younger than all
	// that is.
	Created time.Time
	// Labels are the object's; shards select by them.
	Labels map[string]string
	// Host is spec.host of a Route; *.example.com for the wildcard of another kind.
	Host string
	// Path is compared as it stands: "" and "/" are two paths.
	Path     string
	Wildcard Wildcard
	// Redirect is true for what only sends plain HTTP on to HTTPS, as an HTTPRoute without a backend: it
	// stands beside the route that it sends to, at the same path.
	Redirect bool
	// TLS is true where the route ends TLS or, with Passthrough, hands it on.
	TLS, Passthrough bool
	// Lease is the lease that the object's labels name, or where they name none (HasLease is false)
	// those of its namespace.
	Lease    lease.ID
	HasLease bool
}

// identity is who owns a host: the owner of the lease, or the namespace of what belongs to no
// lease.
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

// Domain is what follows the first label of the host; a wildcard stands for the names below it.
func (r *Route) Domain() string { return domainOf(r.Host) }

func domainOf(host string) string {
	_, domain, _ := strings.Cut(host, ".")
	return domain
}

// compareAge orders routes from the oldest to the newest, by the router's rule: creation time (in
// seconds), then UID. What these leave open, which is only the order of things outside a cluster and
// of parts of one object, is settled by name.
func compareAge(a, b *Route) int {
	if a.Created.IsZero() != b.Created.IsZero() {
		if a.Created.IsZero() {
			return 1
		}
		return -1
	}
	// A comparison at a time, for the first one settles nearly all, and cmp.Or makes them all.
	if c := a.Created.Compare(b.Created); c != 0 {
		return c
	}
	if c := cmp.Compare(a.UID, b.UID); c != 0 {
		return c
	}
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name),
		cmp.Compare(a.Host, b.Host), cmp.Compare(a.Path, b.Path), cmp.Compare(a.Wildcard, b.Wildcard),
		compareTruth(a.Redirect, b.Redirect))
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
