package observed

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/kept"
	"github.com/akash-net/kubectl-akash-net/state/reserved"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// ClaimsNear returns the names of the claims that an object may serve.
func (s *Snapshot) ClaimsNear(o Owned) []string {
	switch {
	case o.Kind == kinds.ProviderLeasedIP:
		var names []string
		for _, c := range s.ClaimsOfPort(o) {
			names = append(names, c.Name())
		}
		return names
	case slices.Contains(kinds.Filters, o.Kind) || slices.Contains(kinds.Policies, o.Kind):
		if host, _, _ := lease.ParseRouteName(o.Live.GetName()); s.Claim(state.HostName(host)) != nil {
			return []string{state.HostName(host)}
		}
		return s.ByClaim().former[o.Group] // one named after a Service stays until the last route is deleted
	}
	return claimsUnder(o)
}

// Owned is an object of a lease that this program wrote.
type Owned struct {
	Kind  kinds.Kind
	Live  *unstructured.Unstructured
	Group lease.Group
}

// RecordOf returns the host of a DNS record, or "" for any other object.
func (o Owned) RecordOf() string {
	if !slices.Contains(kinds.Records, o.Kind) {
		return ""
	}
	return view.RecordHost(o.Live)
}

// Under returns the names of the claims on which the objects that this program wrote for a deployment group depend, whether
// such claims exist or not.
func (s *Snapshot) Under(group lease.Group) (names []string) {
	for _, o := range s.Written.Of(group) {
		names = append(names, claimsUnder(o)...)
	}
	return names
}

// ManagerOf returns the field manager for an object of a deployment group. Akash's claim-like objects are written by
// the claimant, so that a second claimant's write conflicts instead of overwriting.
func ManagerOf(kind kinds.Kind, group lease.Group) string {
	if slices.Contains(kinds.ClaimLike, kind) {
		return group.FieldManager()
	}
	return lease.FieldManager
}

// Ownership returns who owns an object.
func (s *Snapshot) Ownership(o *unstructured.Unstructured) state.Ownership {
	return state.OwnershipOf(o, s.Tenants[o.GetNamespace()])
}

// Stays reports whether Akash's provider has written an object and keeps it: this program withdraws its fields instead
// of deleting it.
func (s *Snapshot) Stays(o Owned) bool {
	whose := s.Ownership(o.Live)
	return whose.Shared && !whose.Goes(slices.Contains(kinds.ClaimLike, o.Kind), s.Declared(o.Kind, o.Live, whose.Lease.Group()))
}

// Declared reports whether Akash's provider declares the ProviderHost or ProviderLeasedIP of a route or Service, for the
// same deployment group.
func (s *Snapshot) Declared(kind kinds.Kind, live *unstructured.Unstructured, group lease.Group) bool {
	byAkash := func(kind kinds.Kind, namespace, name string) bool {
		o := s.At(kind, namespace, name)
		return o != nil && s.isDeclaration(o) && s.Ownership(o).Lease.Group() == group
	}
	if kind == kinds.Service {
		service := state.ServiceObjectOf(live)
		port, ok := s.Ports[lease.LeasedIPName(service.SharingKey, service.Protocol, service.Port)]
		return ok && byAkash(kinds.ProviderLeasedIP, port.Namespace, port.Name)
	}
	return slices.ContainsFunc(state.HostUses(live), func(u state.Use) bool {
		return slices.ContainsFunc(s.HostUses[u.Host], func(u state.Use) bool {
			return u.Kind == kinds.ProviderHost.Singular && byAkash(kinds.ProviderHost, u.Namespace, u.Name)
		})
	})
}

// Holding is what a deployment group has in the cluster.
type Holding struct {
	// Claims is the number of its claims.
	Claims int
	// Namespaces are the namespaces of its leases.
	Namespaces map[string]bool
	// Leases are the leases that its claims name.
	Leases map[lease.ID]bool
}

// Groups returns the deployment groups that hold claims.
func Groups(ctx context.Context, c *cluster.Cluster, ledgerNamespace string) (map[lease.Group]*Holding, error) {
	claims, err := ledger.New(c, ledgerNamespace).List(ctx)
	groups := map[lease.Group]*Holding{}
	addHolders(groups, claims)
	return groups, err
}

// KeptLeases returns the leases of the definitions that the ledger keeps, without those that cannot be read.
func KeptLeases(ctx context.Context, c *cluster.Cluster, ledgerNamespace string) (ids []lease.ID, err error) {
	all, err := ledger.New(c, ledgerNamespace).Definitions(ctx, "", func(string) bool { return true })
	for _, d := range all {
		if def, unread := d.Decode(); unread == nil && !d.Deleting {
			ids = append(ids, def.Lease)
		}
	}
	return ids, err
}

// Releasable returns the deployment groups that a release would find something of: claims, objects that this program
// wrote, which may serve without a claim, what it runs, stored definitions, and reservations that a lease has taken over.
func Releasable(ctx context.Context, c *cluster.Cluster, cfg *config.ProviderConfig) (map[lease.Group]*Holding, error) {
	l := ledger.New(c, cfg.LedgerNamespace)
	s, err := Read(ctx, c, l, Reading{Further: kinds.RecordsOf(cfg), Ledger: true})
	if err != nil {
		return nil, err
	}
	groups := map[lease.Group]*Holding{}
	addHolders(groups, s.List())
	for g := range s.Written {
		for _, o := range s.Written.Of(g) {
			holdingOf(groups, g).Namespaces[s.Ownership(o.Live).Lease.Namespace()] = true
		}
	}
	for _, def := range s.unheldDefinitions(groups) {
		holdingOf(groups, def.Lease.Group()).Namespaces[def.Lease.Namespace()] = true
	}
	running, err := SeenManifests(ctx, c, cfg)
	if err != nil {
		return nil, err
	}
	for _, m := range running {
		holdingOf(groups, m.Group).Namespaces[m.Namespace] = true
	}
	for g, ids := range reservedBy(s.Reservations) {
		for _, id := range ids {
			holdingOf(groups, g).Namespaces[id.Namespace()] = true
		}
	}
	return groups, nil
}

// unheldDefinitions returns the stored definitions of groups that are not known. It leaves out definitions that cannot
// be decoded.
func (s *Snapshot) unheldDefinitions(known map[lease.Group]*Holding) []*lease.Definition {
	names := sets.New[string]()
	for g := range known {
		names.Insert(kept.Name(g))
	}
	var defs []*lease.Definition
	for name, d := range s.Definitions {
		if names.Has(name) {
			continue
		}
		if def, err := d.Decode(); err == nil {
			defs = append(defs, def)
		}
	}
	return defs
}

// addHolders adds the holders of the claims to groups.
func addHolders(groups map[lease.Group]*Holding, claims []*state.Claim) {
	for _, claim := range claims {
		for _, g := range claim.Groups() {
			holding := holdingOf(groups, g)
			holding.Claims++
			for _, p := range claim.PartsOf(g) {
				holding.Namespaces[p.Lease.Namespace()] = true
				holding.Leases[p.Lease] = true
			}
		}
	}
}

func holdingOf(groups map[lease.Group]*Holding, g lease.Group) *Holding {
	if groups[g] == nil {
		groups[g] = &Holding{Namespaces: map[string]bool{}, Leases: map[lease.ID]bool{}}
	}
	return groups[g]
}

// ReservedBy returns the leases that have taken over reservations of their orders, by group; of one owner, or of all if
// owner is empty.
func ReservedBy(ctx context.Context, l ledger.Ledger, owner string) (map[lease.Group][]lease.ID, error) {
	all, err := l.Reservations(ctx, owner)
	return reservedBy(all), err
}

func reservedBy(all []*reserved.Claim) map[lease.Group][]lease.ID {
	leased := map[lease.Group][]lease.ID{}
	for _, c := range all {
		if o := c.Order; c.Bound != nil && c.Bound.Provider != "" && !c.Deleting {
			id := lease.ID{Owner: o.Owner, DSeq: o.DSeq, GSeq: o.GSeq, OSeq: o.OSeq, Provider: c.Bound.Provider}
			leased[o.Group()] = append(leased[o.Group()], id)
		}
	}
	return leased
}

// OnlyOwner returns the owner of the deployment groups, or "" if they have several.
func OnlyOwner(groups []lease.Group) string {
	owner := groups[0].Owner
	if slices.ContainsFunc(groups, func(g lease.Group) bool { return g.Owner != owner }) {
		return ""
	}
	return owner
}

// NamesAnother reports whether the live ProviderLeasedIP names another service than the rendered one, and this program
// has written it for the group. One of another lease is handed over as it is; one of Akash's provider is a conflict.
func NamesAnother(s *Snapshot, group lease.Group, o render.Object) bool {
	live := s.Find(o)
	if live == nil {
		return false
	}
	whose := s.Ownership(live)
	return whose.Ours && !whose.Declared && whose.Lease.Group() == group &&
		state.PortObjectOf(live).Service != state.PortObjectOf(cluster.Rendered(o)).Service
}

// FormerServices returns the operator's Services of the group for the port of a rendered ProviderLeasedIP that point at
// another service of the same endpoint, or at the same service of another endpoint.
func FormerServices(s *Snapshot, group lease.Group, o render.Object) (former []Owned) {
	want := state.PortObjectOf(cluster.Rendered(o))
	for _, service := range s.Theirs.Of(group) {
		port := state.ServiceObjectOf(service.Live) // a route has none
		otherService, otherEndpoint := port.Service != want.Service, port.SharingKey != want.SharingKey
		if port.Protocol == want.Protocol && port.Port == want.Port && otherService != otherEndpoint {
			former = append(former, service)
		}
	}
	return former
}
