package observed

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/kept"
)

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
	s, err := Read(ctx, c, l, Reading{Further: kinds.RecordsOf(cfg), AllDefinitions: true})
	if err != nil {
		return nil, err
	}
	groups := map[lease.Group]*Holding{}
	addHolders(groups, s.List())
	for g, objects := range s.Written {
		for _, o := range objects {
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
	leased, err := ReservedBy(ctx, l, "")
	for g, ids := range leased {
		for _, id := range ids {
			holdingOf(groups, g).Namespaces[id.Namespace()] = true
		}
	}
	return groups, err
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
	leased := map[lease.Group][]lease.ID{}
	for _, c := range all {
		if o := c.Order; c.Bound != nil && c.Bound.Provider != "" && !c.Deleting {
			id := lease.ID{Owner: o.Owner, DSeq: o.DSeq, GSeq: o.GSeq, OSeq: o.OSeq, Provider: c.Bound.Provider}
			leased[o.Group()] = append(leased[o.Group()], id)
		}
	}
	return leased, err
}

// OnlyOwner returns the owner of the deployment groups, or "" if they have several.
func OnlyOwner(groups []lease.Group) string {
	owner := groups[0].Owner
	if slices.ContainsFunc(groups, func(g lease.Group) bool { return g.Owner != owner }) {
		return ""
	}
	return owner
}
