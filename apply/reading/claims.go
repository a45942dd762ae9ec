package reading

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/engine/observed"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
	"github.com/akash-net/kubectl-akash-net/lease/thing"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/kept"
	"github.com/akash-net/kubectl-akash-net/state/reserved"
)

// ReadClaim reads a claim, and retries unclear answers.
func ReadClaim(ctx context.Context, l ledger.Ledger, name string) (claim *state.Claim, err error) {
	err = l.Objects.Until(ctx, func(ctx context.Context) (err error) {
		claim, err = l.Get(ctx, name)
		return err
	})
	return claim, err
}

// Addresses reads all claims, and who claims and who uses which address, in order to propose free addresses.
func Addresses(
	ctx context.Context, c *cluster.Cluster, ledgerNamespace string,
) (claims []*state.Claim, addresses *state.Addresses, err error) {
	var uses, ofNodes []state.Use
	group, ctx := parallel.WithContext(ctx)
	group.Go(func() (err error) {
		claims, err = ledger.New(c, ledgerNamespace).List(ctx)
		return err
	})
	group.Go(func() error {
		services, err := c.Objects(ctx, kinds.Service.Resource(), "", metav1.ListOptions{})
		for _, o := range services {
			uses = append(uses, state.ServiceUses(o)...)
		}
		return err
	})
	group.Go(func() (err error) {
		ofNodes, err = NodeUses(ctx, c)
		return err
	})
	if err := group.Wait(); err != nil {
		return nil, nil, err
	}
	return claims, state.NewAddresses(claims, append(uses, ofNodes...)), nil
}

// HeldThings returns the claimed things and the deployment groups that claim them, each once. With a group it returns only
// the things that this group claims, and all groups that claim them; the zero group selects all things.
func HeldThings(ctx context.Context, c *cluster.Cluster, ledgerNamespace string, of lease.Group) ([]thing.Thing, error) {
	claims, err := ledger.New(c, ledgerNamespace).List(ctx)
	var things []thing.Thing
	seen := map[lease.Group]bool{}
	for _, claim := range claims {
		if of != (lease.Group{}) && !slices.Contains(claim.Groups(), of) {
			continue
		}
		if t, err := thing.Parse(claim.Thing); err == nil {
			t.Endpoint = ""
			things = append(things, t)
		}
		for _, g := range claim.Groups() {
			if !seen[g] {
				seen[g] = true
				things = append(things, thing.Thing{Kind: thing.Lease, Group: g})
			}
		}
	}
	return things, err
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
	for g := range s.Written.Keys() {
		for _, o := range s.Written.Of(g) {
			holdingOf(groups, g).Namespaces[s.Ownership(o.Live).Lease.Namespace()] = true
		}
	}
	for _, def := range unheldDefinitions(s, groups) {
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
func unheldDefinitions(s *observed.Snapshot, known map[lease.Group]*Holding) []*lease.Definition {
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

// fewDefinitions is up to how many stored definitions are read by GET rather than by one LIST.
const fewDefinitions = 16

// readDefinitions reads the definitions stored for deployment groups, by object name.
func readDefinitions(ctx context.Context, l ledger.Ledger, groups []lease.Group) (map[string]*kept.Definition, error) {
	if len(groups) > fewDefinitions {
		names := sets.New[string]()
		for _, g := range groups {
			names.Insert(kept.Name(g))
		}
		return listDefinitions(ctx, l, OnlyOwner(groups), names.Has)
	}
	read := make([]*kept.Definition, len(groups))
	work, ctx := parallel.WithContext(ctx)
	for i, g := range groups {
		work.Go(func() (err error) {
			read[i], err = ReadDefinition(ctx, l, g)
			return err
		})
	}
	err := work.Wait()
	return byName(slices.DeleteFunc(read, func(d *kept.Definition) bool { return d == nil })), err
}

// ReadDefinition reads the definition stored for a deployment group, and retries unclear answers. It returns nil if
// there is none.
func ReadDefinition(ctx context.Context, l ledger.Ledger, g lease.Group) (d *kept.Definition, err error) {
	if err = l.Objects.Until(ctx, func(ctx context.Context) (err error) {
		d, err = l.Definition(ctx, g)
		return err
	}); err != nil {
		return nil, fmt.Errorf("the definition of lease %s in the ledger: %w", g, err)
	}
	return d, nil
}

func listDefinitions(
	ctx context.Context, l ledger.Ledger, owner string, want func(name string) bool,
) (map[string]*kept.Definition, error) {
	list, err := l.Definitions(ctx, owner, want)
	return byName(list), err
}

func byName(definitions []*kept.Definition) map[string]*kept.Definition {
	found := map[string]*kept.Definition{}
	for _, d := range definitions {
		found[d.Name] = d
	}
	return found
}

// KeptDefinitions returns the definitions with which deployment groups were last applied, in the order of the groups.
// It leaves out groups without a stored definition, and fails if one cannot be decoded.
func KeptDefinitions(
	ctx context.Context, c *cluster.Cluster, ledgerNamespace string, groups []lease.Group,
) ([]*lease.Definition, error) {
	found, err := readDefinitions(ctx, ledger.New(c, ledgerNamespace), groups)
	if err != nil {
		return nil, err
	}
	var defs []*lease.Definition
	for _, g := range groups {
		d := found[kept.Name(g)]
		if d == nil {
			continue
		}
		def, err := d.Decode()
		if err != nil {
			return nil, err
		}
		defs = append(defs, def)
	}
	return defs, nil
}

// KnownOf reads claims, the Services that use addresses, and, if pools is true, MetalLB's pools.
func KnownOf(ctx context.Context, c *cluster.Cluster, ledgerNamespace string, pools bool) (*observed.Known, error) {
	known := &observed.Known{}
	group, ctx := parallel.WithContext(ctx)
	group.Go(func() (err error) {
		known.Claims, known.Addresses, err = Addresses(ctx, c, ledgerNamespace)
		return err
	})
	group.Go(func() error {
		if !pools {
			return nil
		}
		objects, err := c.Objects(ctx, kinds.IPAddressPool.Resource(), "", metav1.ListOptions{})
		for _, o := range objects {
			known.Pools = append(known.Pools, state.PoolObjectOf(o))
		}
		if cluster.IsMissingKind(err) {
			return nil
		}
		return err
	})
	return known, group.Wait()
}
