// Package observed is what a command decides by: the claims, objects, namespaces and operators of Akash's of one moment, and what they mean
// for a deployment group. It reads nothing itself: package apply/reading fills a Snapshot.
package observed

import (
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/dns"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/layered"
	"github.com/akash-net/kubectl-akash-net/lease/listed"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/admission"
	"github.com/akash-net/kubectl-akash-net/state/kept"
	"github.com/akash-net/kubectl-akash-net/state/reserved"
)

// Snapshot is what a run has read before it decides: one LIST of each kind. The work on many leases reads one snapshot at
// the same time, so nobody changes it: With and WithClaim return others.
type Snapshot struct {
	Claims Claims
	// ClosedBy is the nonce of the uninstall that has closed the ledger; empty while the ledger is open.
	ClosedBy string
	// Written are the objects that this program wrote, by the deployment group in their labels, in the order in which
	// to delete them.
	Written Index[lease.Group]
	// Theirs are a group's routes and Services that only Akash's operators wrote.
	Theirs Index[lease.Group]
	// Shared are a group's objects on which Akash's provider or an operator has written.
	Shared Index[lease.Group]
	// Records are the DNS records that this program wrote, by host.
	Records Index[string]
	// HostUses are the objects that use each host, whoever wrote them.
	HostUses layered.Lists[string, state.Use]
	// Addresses are the claims on addresses, the Services that use them, whoever wrote them, and the nodes.
	Addresses *state.Addresses
	// NodeUses are the addresses of the nodes, if addresses were asked for.
	NodeUses []state.Use
	// namespaces are what is known of namespaces, tenants the names of those that are named after leases of a group.
	namespaces layered.Map[string, Namespace]
	tenants    layered.Lists[lease.Group, string]
	// ports are the ProviderLeasedIPs by name, one for each port of an IP endpoint; portsOf are the same by their sharing key.
	ports, portsOf layered.Lists[string, state.PortObject]
	// lists are the objects by their kind's plural.
	lists map[string]list
	// Lacks are the kinds that the cluster does not serve.
	Lacks map[kinds.Kind]bool
	// Operators are the Akash operators that run in the cluster, Manifests the objects that the hostname operator
	// reads, by name. They are read only if they are asked for.
	Operators Operators
	Manifests Manifests
	// Definitions are the stored definitions that were asked for, by object name.
	Definitions map[string]*kept.Definition
	// HoldersOnly is true if only definitions of groups with claims were read.
	HoldersOnly bool
	// Runs are the announcements of commands, Reservations those of orders, and Failing the leases that reconcilers record as
	// failing: if everything in the ledger was asked for.
	Runs         []*state.Announcement
	Reservations []*reserved.Claim
	Failing      []state.Failing
	// Gateway caches the target of the Gateway.
	Gateway *Gateway
	// Gateways are the listeners of Gateways, if routes of others are attached to any.
	Gateways admission.Gateways
	// using are the objects that serve or declare something, and that this program or Akash's has written, by the names of the claims that
	// they may use.
	using Index[string]
	// found are the objects of the indexes, byOthers how many a release leaves: both when somebody asks, so that the work on a lease
	// does not grow with the number of leases.
	found    *found
	byOthers func() map[lease.Group]int
}

// NewSnapshot returns a snapshot of an empty cluster.
func NewSnapshot() *Snapshot {
	s := &Snapshot{Addresses: state.NewAddresses(nil, nil), lists: map[string]list{}, Lacks: map[kinds.Kind]bool{}}
	s.ask()
	return s
}

// ask lets the snapshot say what its objects are.
func (s *Snapshot) ask() {
	s.Written.in, s.Theirs.in, s.Shared.in, s.Records.in, s.using.in = s, s, s, s, s
	s.found, s.byOthers, s.Gateway = &found{of: memo{}}, sync.OnceValue(s.countOthers), &Gateway{}
}

// Gateway is where the Gateway is reached, once that was read.
type Gateway struct {
	mu     sync.Mutex
	target *dns.Target
}

// Target returns where the Gateway is reached, by what read reads: once, unless fresh is true.
func (g *Gateway) Target(fresh bool, read func() (dns.Target, error)) (dns.Target, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.target != nil && !fresh {
		return *g.target, nil
	}
	target, err := read()
	if err == nil {
		g.target = &target
	}
	return target, err
}

// AddClaims adds claims.
func (s *Snapshot) AddClaims(claims []*state.Claim) {
	for _, c := range claims {
		s.PutClaim(c.Name(), c)
	}
}

// PutClaim puts a claim in the place of the one of a name; nil for none.
func (s *Snapshot) PutClaim(name string, now *state.Claim) {
	if was := s.Claims.Get(name); was != nil {
		s.Addresses.Claim(was, false)
	}
	if s.Claims.Put(name, now); now != nil {
		s.Addresses.Claim(now, true)
	}
}

// SetNodes sets the addresses of the nodes.
func (s *Snapshot) SetNodes(uses []state.Use) {
	s.NodeUses = uses
	s.Addresses.Nodes(uses)
}

// Namespace is what is known of a namespace.
type Namespace struct {
	// Alive is false for one that is being deleted.
	Alive bool
	// Tenant is the lease in its labels, if HasTenant is true.
	Tenant    lease.ID
	HasTenant bool
	Labels    map[string]string
}

// AddNamespaces adds namespaces, of which one has the ledger.
func (s *Snapshot) AddNamespaces(metas []*metav1.ObjectMeta, ledgerNamespace string) {
	for _, m := range metas {
		if m.Name == ledgerNamespace {
			s.ClosedBy = m.Annotations[lease.AnnotationClosing]
		}
		s.PutNamespace(m.Name, namespaceOf(m))
	}
}

// namespaceOf returns what is known of a namespace by its metadata.
func namespaceOf(m *metav1.ObjectMeta) *Namespace {
	id, ok := lease.IDFromLabels(m.Labels)
	return &Namespace{Alive: m.DeletionTimestamp == nil, Tenant: id, HasTenant: ok, Labels: m.Labels}
}

// PutNamespace says what is known of a namespace; nil if there is none. What is in it has to be added afterwards.
func (s *Snapshot) PutNamespace(name string, now *Namespace) {
	if was, there := s.namespaces.Get(name); there {
		s.tenants.Set(was.Tenant.Group(), name, strings.Compare, false)
		s.namespaces.Drop(name)
	}
	if now == nil {
		return
	}
	if s.namespaces.Put(name, *now); now.HasTenant && now.Tenant.Namespace() == name {
		s.tenants.Set(now.Tenant.Group(), name, strings.Compare, true)
	}
}

// WithNamespacesOf takes over the namespaces of another snapshot.
func (s *Snapshot) WithNamespacesOf(of *Snapshot) {
	s.namespaces, s.tenants = of.namespaces, of.tenants
}

// Namespace returns what is known of a namespace, and whether it exists.
func (s *Snapshot) Namespace(name string) (Namespace, bool) { return s.namespaces.Get(name) }

// Namespaces returns whether each of the namespaces is alive.
func (s *Snapshot) Namespaces() map[string]bool {
	out := make(map[string]bool, s.namespaces.Len())
	for name, n := range s.namespaces.All() {
		out[name] = n.Alive
	}
	return out
}

// Tenant returns the lease in the labels of a namespace.
func (s *Snapshot) Tenant(namespace string) (lease.ID, bool) {
	n := s.namespaces.At(namespace)
	return n.Tenant, n.HasTenant
}

// Claim returns a claim by its name, or nil.
func (s *Snapshot) Claim(name string) *state.Claim { return s.Claims.Get(name) }

// List returns all claims, in no order.
func (s *Snapshot) List() []*state.Claim { return slices.Collect(maps.Values(s.Claims.by.Map())) }

// ClaimsOfPort returns the claims on the addresses of a ProviderLeasedIP's endpoint; none for an object of another
// kind.
func (s *Snapshot) ClaimsOfPort(o Object) []*state.Claim {
	if o.Kind != kinds.ProviderLeasedIP {
		return nil
	}
	return s.Claims.Of(state.PortObjectOf(o.Live).SharingKey)
}

// With returns a snapshot with an object as it was read again, nil for one that is gone. The snapshot itself, which the
// work on other leases reads at the same time, does not change: what an object of an index is was found in that.
func (s *Snapshot) With(kind kinds.Kind, namespace, name string, now *unstructured.Unstructured) *Snapshot {
	out, key := *s, namespace+"/"+name
	out.lists = maps.Clone(s.lists)
	l := out.lists[kind.Plural]
	if l.since.Share(); now == nil {
		l.put(key, nil)
	} else {
		l.put(key, listed.New(key, now))
	}
	out.lists[kind.Plural] = l
	return &out
}

// WithClaim is With for a claim. What objects are is found anew: what they may serve depends on claims.
func (s *Snapshot) WithClaim(name string, now *state.Claim) *Snapshot {
	out := *s
	as := *s.Addresses
	out.Claims, out.Addresses = out.Claims.share(), as.Share()
	out.PutClaim(name, now)
	out.ask()
	out.Gateway = s.Gateway
	return &out
}

// WithOperators returns a snapshot with the operators and Manifests of another one.
func (s *Snapshot) WithOperators(of *Snapshot) *Snapshot {
	out := *s
	out.Operators, out.Manifests = of.Operators, of.Manifests
	return &out
}

// Pools returns MetalLB's pools, sorted by name.
func (s *Snapshot) Pools() []state.PoolObject {
	var pools []state.PoolObject
	for o := range s.Of(kinds.IPAddressPool) {
		pools = append(pools, state.PoolObjectOf(o))
	}
	return pools
}

// NamespacesOf returns the sorted namespaces of a deployment group's leases.
func (s *Snapshot) NamespacesOf(group lease.Group) []string { return s.tenants.At(group) }

// EndpointWith returns the claim on the IP endpoint for which MetalLB has chosen an address, or nil if the address has a
// claim of its own, or nobody has claimed its endpoint.
func (s *Snapshot) EndpointWith(a netip.Addr) *state.Claim {
	if !a.IsValid() || s.Claim(state.AddressName(a)) != nil {
		return nil
	}
	for _, u := range s.Addresses.Services().At(a) {
		if claim := s.Claim(state.EndpointName(u.SharingKey)); claim != nil && u.Granted {
			return claim
		}
	}
	return nil
}

// Suspended returns the deployment groups that the reconciler leaves as they are, if everything in the ledger was read, without those
// whose definition cannot be read.
func (s *Snapshot) Suspended() map[lease.Group]bool {
	groups := map[lease.Group]bool{}
	for _, d := range s.Definitions {
		if d.Suspended {
			if def, err := d.Decode(); err == nil {
				groups[def.Lease.Group()] = true
			}
		}
	}
	return groups
}

// Reported reports whether any route of the kind has entries in this field of its status.
func (s *Snapshot) Reported(kind kinds.Kind, field string) bool {
	for o := range s.Of(kind) {
		if entries, _, _ := unstructured.NestedSlice(o.Object, "status", field); len(entries) > 0 {
			return true
		}
	}
	return false
}

// Reports returns what routers report about each host's routes.
func (s *Snapshot) Reports(there state.Routers) map[string][]state.Report {
	out := map[string][]state.Report{}
	for _, kind := range kinds.Reporting {
		for o := range s.Of(kind) {
			reports, told := state.Reports(o, there), map[string]bool{}
			for _, u := range state.HostUses(o) {
				if !told[u.Host] {
					out[u.Host], told[u.Host] = append(out[u.Host], reports...), true
				}
			}
		}
	}
	return out
}

// Taken reports whether a controller has processed a Gateway. Before, its conditions are Unknown (gateway-api:
// GatewaySpec's default status).
func Taken(gateway *unstructured.Unstructured) bool {
	if gateway == nil {
		return false
	}
	conditions, _, _ := unstructured.NestedSlice(gateway.Object, "status", "conditions")
	return slices.ContainsFunc(conditions, func(v any) bool {
		c, _ := v.(map[string]any)
		return c["type"] == "Accepted" && c["status"] != "Unknown"
	})
}

// ReportsOn reports whether a controller reports on routes of a kind; gateway is the Gateway as it is.
func (s *Snapshot) ReportsOn(kind kinds.Kind, gateway *unstructured.Unstructured) bool {
	if kind == kinds.Route {
		return s.Reported(kinds.Route, "ingress")
	}
	return Taken(gateway)
}

// Missing returns an error for each of the kinds that the cluster does not serve.
func (s *Snapshot) Missing(of ...kinds.Kind) (errs []error) {
	for _, kind := range of {
		if s.Lacks[kind] {
			errs = append(errs, &kinds.MissingError{Resource: kind.Resource()})
		}
	}
	return errs
}

// Definition returns the definition that the ledger keeps for a deployment group, nil if there is none. Of a group that held nothing it may
// not have been read: then known is false.
func (s *Snapshot) Definition(group lease.Group) (d *kept.Definition, known bool) {
	if s.HoldersOnly && len(s.Claims.Held(group)) == 0 {
		return nil, false
	}
	return s.Definitions[kept.Name(group)], true
}
