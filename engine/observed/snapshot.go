// Package observed is what a command decides by: the claims, objects, namespaces and operators of Akash's of one moment, and what they mean
// for a deployment group. It reads nothing itself: package apply/reading fills a Snapshot.
package observed

import (
	"maps"
	"net/netip"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/dns"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/listed"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/admission"
	"github.com/akash-net/kubectl-akash-net/state/kept"
	"github.com/akash-net/kubectl-akash-net/state/reserved"
)

// Snapshot is what a run has read before it decides: one LIST of each kind. The work on many leases reads one snapshot at
// the same time, so nobody changes it: With and WithClaim return others.
type Snapshot struct {
	claims     map[string]*state.Claim
	Namespaces map[string]bool
	// ClosedBy is the nonce of the uninstall that has closed the ledger; empty while the ledger is open.
	ClosedBy string
	// Written are the objects that this program wrote, by the deployment group in their labels, in the order in which
	// to delete them.
	Written Index[lease.Group]
	// Theirs are a group's routes and Services that only Akash's operators wrote.
	Theirs Index[lease.Group]
	// Held are the claims on which a group has written.
	Held map[lease.Group][]*state.Claim
	// Shared are a group's objects on which Akash's provider or an operator has written.
	Shared Index[lease.Group]
	// Records are the DNS records that this program wrote, by host.
	Records Index[string]
	// Tenants are the leases in namespace labels, by namespace.
	Tenants  map[string]lease.ID
	HostUses map[string][]state.Use
	// AddressUses are the Services that use each address, whoever wrote them.
	AddressUses map[netip.Addr][]state.Use
	// NodeUses are the addresses of the nodes, if addresses were asked for.
	NodeUses []state.Use
	// Ports are the ProviderLeasedIPs by name: one for each port of an IP endpoint.
	Ports map[string]state.PortObject
	// portsOf are the same by their sharing key.
	portsOf map[string][]state.PortObject
	// lists are the objects by their kind's plural, again those that were read again since; nil for one that is gone.
	lists map[string]objectList
	again map[objectKey]*listed.Object
	// Lacks are the kinds that the cluster does not serve.
	Lacks     map[kinds.Kind]bool
	Addresses *state.Addresses
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
	// Memory has what the objects say by themselves, if they were read before.
	Memory *listed.Memory
	// Gateways are the listeners of Gateways, if routes of others are attached to any.
	Gateways admission.Gateways
	// Labels are those of the namespaces by name.
	Labels map[string]map[string]string
	// using are the objects that serve or declare something, and that this program or Akash's has written, by the names of the claims that
	// they may use.
	using Index[string]
	// byClaim and byOthers answer lookups of many leases. They are made on first use, so that the work on a lease
	// does not grow with the number of leases.
	byClaim  func() *claimIndex
	byOthers func() map[lease.Group]int
}

// NewSnapshot returns a snapshot of an empty cluster.
func NewSnapshot() *Snapshot {
	s := &Snapshot{
		claims: map[string]*state.Claim{}, Held: map[lease.Group][]*state.Claim{},
		Namespaces: map[string]bool{}, Tenants: map[string]lease.ID{}, Labels: map[string]map[string]string{},
		HostUses: map[string][]state.Use{}, AddressUses: map[netip.Addr][]state.Use{}, Ports: map[string]state.PortObject{}, portsOf: map[string][]state.PortObject{},
		Shared: Index[lease.Group]{}, Written: Index[lease.Group]{}, Theirs: Index[lease.Group]{}, Records: Index[string]{}, using: Index[string]{},
		lists: map[string]objectList{}, Lacks: map[kinds.Kind]bool{}, Gateway: &Gateway{},
	}
	s.byClaim = sync.OnceValue(func() *claimIndex { return indexClaims(s.claims) })
	s.byOthers = sync.OnceValue(s.countOthers)
	return s
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

// AddClaims adds claims, without an index of them.
func (s *Snapshot) AddClaims(claims []*state.Claim) {
	for _, c := range claims {
		s.claims[c.Name()] = c
	}
	s.Held = heldBy(claims)
}

// heldBy returns the claims on which each deployment group has an entry.
func heldBy(claims []*state.Claim) map[lease.Group][]*state.Claim {
	held := map[lease.Group][]*state.Claim{}
	for _, c := range claims {
		for _, g := range c.Writers() {
			held[g] = append(held[g], c)
		}
	}
	return held
}

// AddNamespaces adds namespaces, of which one has the ledger.
func (s *Snapshot) AddNamespaces(metas []*metav1.ObjectMeta, ledgerNamespace string) {
	for _, m := range metas {
		if m.Name == ledgerNamespace {
			s.ClosedBy = m.Annotations[lease.AnnotationClosing]
		}
		s.Namespaces[m.Name], s.Labels[m.Name] = m.DeletionTimestamp == nil, m.Labels
		if id, ok := lease.IDFromLabels(m.Labels); ok {
			s.Tenants[m.Name] = id
		}
	}
}

// Claim returns a claim by its name, or nil.
func (s *Snapshot) Claim(name string) *state.Claim { return s.claims[name] }

// List returns all claims. The slice is shared: do not modify it.
func (s *Snapshot) List() []*state.Claim { return s.ByClaim().all }

// ByClaim returns the index of the claims.
func (s *Snapshot) ByClaim() *claimIndex { return s.byClaim() }

// claimIndex finds claims by their content.
type claimIndex struct {
	// all has the claims in no order, Endpoints those with ports by sharing key, Things all by what is claimed.
	all       []*state.Claim
	Endpoints map[string][]*state.Claim
	Things    map[string][]*state.Claim
	// former has the names of claims with a part that a group serves for its new holder since a transfer.
	former map[lease.Group][]string
}

func indexClaims(claims map[string]*state.Claim) *claimIndex {
	x := &claimIndex{
		all:       make([]*state.Claim, 0, len(claims)),
		Endpoints: map[string][]*state.Claim{}, Things: map[string][]*state.Claim{}, former: map[lease.Group][]string{},
	}
	for name, c := range claims {
		x.all = append(x.all, c)
		x.Things[c.Thing] = append(x.Things[c.Thing], c)
		if c.Kind.HasPorts() {
			x.Endpoints[c.SharingKey] = append(x.Endpoints[c.SharingKey], c)
		}
		for _, g := range c.Formers() {
			x.former[g] = append(x.former[g], name)
		}
	}
	return x
}

// ClaimsOfPort returns the claims on the addresses of a ProviderLeasedIP's endpoint; none for an object of another
// kind.
func (s *Snapshot) ClaimsOfPort(o Object) []*state.Claim {
	if o.Kind != kinds.ProviderLeasedIP {
		return nil
	}
	return s.ByClaim().Endpoints[state.PortObjectOf(o.Live).SharingKey]
}

// With returns a snapshot with an object as it was read again, nil for one that is gone. The snapshot itself, which the
// work on other leases reads at the same time, does not change.
func (s *Snapshot) With(kind kinds.Kind, namespace, name string, now *unstructured.Unstructured) *Snapshot {
	out := *s
	out.again = maps.Clone(s.again)
	if out.again == nil {
		out.again = map[objectKey]*listed.Object{}
	}
	key := keyOf(kind, namespace, name)
	out.again[key] = listed.New(key.name, now)
	return &out
}

// WithClaim is With for a claim.
func (s *Snapshot) WithClaim(name string, now *state.Claim) *Snapshot {
	out := *s
	out.claims = maps.Clone(s.claims)
	if out.claims[name] = now; now == nil {
		delete(out.claims, name)
	}
	out.byClaim = sync.OnceValue(func() *claimIndex { return indexClaims(out.claims) })
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
func (s *Snapshot) NamespacesOf(group lease.Group) []string {
	var names []string
	for name, id := range s.Tenants {
		if id.Group() == group && id.Namespace() == name {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// EndpointWith returns the claim on the IP endpoint for which MetalLB has chosen an address, or nil if the address has a
// claim of its own, or nobody has claimed its endpoint.
func (s *Snapshot) EndpointWith(a netip.Addr) *state.Claim {
	if !a.IsValid() || s.Claim(state.AddressName(a)) != nil {
		return nil
	}
	for _, u := range s.AddressUses[a] {
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
			for _, r := range state.Reports(o, there) {
				for _, u := range state.HostUses(o) {
					out[u.Host] = append(out[u.Host], r)
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
	if s.HoldersOnly && len(s.Held[group]) == 0 {
		return nil, false
	}
	return s.Definitions[kept.Name(group)], true
}
