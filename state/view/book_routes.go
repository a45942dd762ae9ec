package view

import (
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/admission"
)

// RouteRow is the verdict on one host and path of a live route, in one shard.
type RouteRow struct {
	// Kind is Ingress, HTTPRoute, TLSRoute or Route. Namespace and Name are the object's.
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Host is the host as written in the object. For a Route with a wildcard policy it is one of the hosts that the
	// Route covers.
	Host     string `json:"host"`
	Path     string `json:"path"`
	Wildcard bool   `json:"wildcard,omitempty"`
	// Redirect is true for a route that only redirects clients.
	Redirect bool `json:"redirect,omitempty"`
	Admitted bool `json:"admitted"`
	// Reason and Message say why a route is not admitted, in the terms of OpenShift's router.
	Reason  string `json:"reason"`
	Message string `json:"message"`
	// Shard is empty if no shards are configured or none selects the route.
	Shard string `json:"shard,omitempty"`
	// Owner and Lease are those of the route's lease.
	Owner string      `json:"owner,omitempty"`
	Lease string      `json:"lease,omitempty"`
	Since metav1.Time `json:"since"`
	// labels are the labels of the object.
	labels map[string]string
}

// Pattern returns the host or the wildcard, with the path.
func (r RouteRow) Pattern() string {
	host := r.Host
	if r.Wildcard {
		_, domain, _ := strings.Cut(host, ".")
		host = "*." + domain
	}
	return host + r.Path
}

func (r RouteRow) key() string {
	return strings.Join([]string{r.Shard, r.Kind, r.Namespace, r.Name, r.Host, r.Path, strconv.FormatBool(r.Redirect)}, " ")
}

// release turns the row into that of a route that is gone.
func (r *RouteRow) release() {
	r.Admitted, r.Reason, r.Message = false, StateReleased, ""
}

// SelectShard keeps the routes of one shard.
func (b *Book) SelectShard(name string) {
	b.Routes = slices.DeleteFunc(b.Routes, func(r RouteRow) bool { return r.Shard != name })
}

// routeRows admits routes: a claimed host belongs to its holder; otherwise the oldest route wins.
func routeRows(cfg *config.ProviderConfig, in Contents) []RouteRow {
	claims := admission.NewClaims()
	for _, c := range in.Claims {
		switch {
		case c.Deleting || c.Kind.HasPorts():
		case c.Unreadable != "":
			claims.Add(c.Thing, "")
		case c.Ended(in.Now): // the next claimant may take it
		case c.Kind == state.Wildcard && !c.Bound(): // it yields to every host below it
		default:
			claims.Add(c.Thing, c.Owner)
		}
	}
	tenants := map[string]lease.ID{}
	for name, labels := range in.Namespaces {
		if id, ok := lease.IDFromLabels(labels); ok {
			tenants[name] = id
		}
	}
	routes := in.Gateways.Attach(in.Routes)
	for i := range routes {
		if id, ok := tenants[routes[i].Namespace]; ok && !routes[i].HasLease {
			routes[i].Lease, routes[i].HasLease = id, true
		}
	}
	admissions := admission.Decide(admission.NewRules(cfg), claims, routes, in.Namespaces)
	rows := make([]RouteRow, 0, len(admissions))
	for _, a := range admissions {
		row := RouteRow{
			Kind: a.Kind, Namespace: a.Namespace, Name: a.Name, Host: a.Host, Path: a.Path,
			Wildcard: a.Wildcard != admission.WildcardNone, Redirect: a.Redirect,
			Admitted: a.Admitted, Reason: a.Reason, Message: a.Message, Shard: a.Shard,
			Since: metav1.NewTime(a.Created), labels: a.Labels,
		}
		if a.HasLease {
			row.Owner, row.Lease = a.Lease.Owner, a.Lease.String()
		}
		rows = append(rows, row)
	}
	return rows
}
