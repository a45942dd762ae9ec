package pools

import (
	"context"
	"maps"
	"net/netip"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
)

// Known is what a ledger, in a cluster or in files, contains: the claims, and what uses addresses.
type Known struct {
	Claims    []*state.Claim
	Addresses *state.Addresses
	Pools     []state.PoolObject
}

// KnownOf reads claims, the Services that use addresses, and, if pools is true, MetalLB's pools.
func KnownOf(ctx context.Context, c *cluster.Cluster, ledgerNamespace string, pools bool) (*Known, error) {
	known := &Known{}
	group, ctx := parallel.WithContext(ctx)
	group.Go(func() (err error) {
		known.Claims, known.Addresses, err = observed.Addresses(ctx, c, ledgerNamespace)
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

// RangesBeside returns the pools of all of ip.ranges as apply would leave them, given the known pools: our pools that
// serve configured or used addresses, and pools for the addresses that no pool of ours has. It fails if a pool would
// overlap somebody else's.
func RangesBeside(cfg *config.ProviderConfig, known *Known) ([]render.Object, error) {
	x := newCollector(cfg, known)
	for _, r := range cfg.IP.Ranges.Include {
		for _, piece := range cfg.IP.Ranges.Pieces(r) {
			x.addServing(piece)
		}
	}
	for _, a := range x.used {
		x.addServing(config.Range{First: a, Last: a})
	}
	wanted, err := render.RangePools(cfg)
	if err != nil {
		return nil, err
	}
	return x.objects(wanted)
}

// Beside returns the pools of the given addresses as apply would leave them.
func Beside(cfg *config.ProviderConfig, addresses []netip.Addr, known *Known) ([]render.Object, error) {
	if cfg.IP.Mode == config.ModePool {
		return nil, nil
	}
	x := newCollector(cfg, known)
	var needed []netip.Addr
	for _, a := range addresses {
		if needsPool(cfg, a, x.live) {
			needed = append(needed, a)
		} else {
			x.addServing(config.Range{First: a, Last: a})
		}
	}
	wanted, err := render.Pools(cfg, needed)
	if err != nil {
		return nil, err
	}
	return x.objects(wanted)
}

// collector collects pools, each with its advertisement, in addition to the known ones.
type collector struct {
	cfg  *config.ProviderConfig
	live *state.PoolIndex
	used []netip.Addr
	// ranges are the address ranges of the collected pools, by name.
	ranges map[string][]config.Range
}

func newCollector(cfg *config.ProviderConfig, known *Known) *collector {
	return &collector{cfg: cfg, live: state.NewPoolIndex(known.Pools), used: known.Addresses.InUse(), ranges: map[string][]config.Range{}}
}

// addServing adds our pools that share addresses with a range: a configured pool as apply would write it, others
// unchanged.
func (x *collector) addServing(r config.Range) {
	for _, o := range x.live.Sharing(r) {
		if _, known := x.ranges[o.Name]; known || !o.Ours {
			continue
		}
		x.ranges[o.Name] = o.Ranges
		include := x.cfg.IP.Ranges.Include
		i := slices.IndexFunc(include, func(r config.Range) bool { return r.PoolName() == o.Name })
		if i >= 0 && x.cfg.IP.Mode == config.ModeRange {
			x.ranges[o.Name] = state.PoolRanges(o.Name, x.cfg.IP.Ranges.Pieces(include[i]), x.live, x.used)
		}
	}
}

// objects returns the collected pools and the wanted ones, reduced to the addresses that are left for them.
func (x *collector) objects(wanted []render.Object) ([]render.Object, error) {
	for _, o := range wanted {
		if o.Kind != kinds.IPAddressPool {
			continue
		}
		ranges := state.PoolRanges(o.Name, rangesOf(cluster.Rendered(o)), x.live, x.used)
		if err := checkOverlap(x.live, o, ranges); err != nil {
			return nil, err
		}
		x.ranges[o.Name] = ranges
	}
	var objects []render.Object
	for _, name := range slices.Sorted(maps.Keys(x.ranges)) {
		if err := checkAdvertised(x.cfg, name, x.ranges[name]); err != nil {
			return nil, err
		}
		if len(x.ranges[name]) > 0 {
			objects = append(objects, render.PoolPair(x.cfg, name, x.ranges[name])...)
		}
	}
	return objects, nil
}
