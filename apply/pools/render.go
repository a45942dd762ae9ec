package pools

import (
	"context"
	"errors"
	"maps"
	"net/netip"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/apply/report"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
)

// Known is what a ledger, in a cluster or in files, says of addresses.
type Known struct {
	Addresses *state.Addresses
	Pools     []state.PoolObject
}

// KnownOf reads claims, the Services that use addresses, and MetalLB's pools where they are asked for.
func KnownOf(ctx context.Context, c *cluster.Cluster, ledgerNamespace string, pools bool) (*Known, error) {
	known := &Known{}
	group, ctx := parallel.WithContext(ctx)
	group.Go(func() (err error) {
		known.Addresses, err = observed.Addresses(ctx, c, ledgerNamespace)
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
		if _, ok := errors.AsType[*cluster.MissingKindError](err); ok {
			return nil
		}
		return err
	})
	return known, group.Wait()
}

// RangesBeside are the pools of all of ip.ranges as apply leaves them beside the pools that are known:
// those of ours which serve configured addresses, or addresses in use, as they are, and others with what no
// pool of ours has. A pool that overlaps somebody else's is an error.
func RangesBeside(cfg *config.ProviderConfig, known *Known) ([]render.Object, error) {
	x := newBesides(cfg, known)
	for _, r := range cfg.IP.Ranges.Include {
		for _, piece := range cfg.IP.Ranges.Pieces(r) {
			x.serving(piece)
		}
	}
	for _, a := range x.used {
		x.serving(config.Range{First: a, Last: a})
	}
	wanted, err := render.RangePools(cfg)
	if err != nil {
		return nil, err
	}
	return x.objects(wanted)
}

// Beside are the same for the addresses of leases.
func Beside(cfg *config.ProviderConfig, addresses []netip.Addr, known *Known) ([]render.Object, error) {
	if cfg.IP.Mode == config.ModePool {
		return nil, nil
	}
	x := newBesides(cfg, known)
	var needed []netip.Addr
	for _, a := range addresses {
		if needsPool(cfg, a, x.live) {
			needed = append(needed, a)
		} else {
			x.serving(config.Range{First: a, Last: a})
		}
	}
	wanted, err := render.Pools(cfg, needed)
	if err != nil {
		return nil, err
	}
	return x.objects(wanted)
}

// besides collects pools, each with its advertisement, beside those that are known.
type besides struct {
	cfg  *config.ProviderConfig
	live *state.PoolIndex
	used []netip.Addr
	// ranges are the pools by name.
	ranges map[string][]config.Range
}

func newBesides(cfg *config.ProviderConfig, known *Known) *besides {
	return &besides{cfg: cfg, live: state.NewPoolIndex(known.Pools), used: known.Addresses.InUse(), ranges: map[string][]config.Range{}}
}

// serving adds the pools of ours that share addresses with a range: one that is configured as apply would
// write it, others as they are.
func (x *besides) serving(r config.Range) {
	for _, o := range x.live.Sharing(r) {
		if _, known := x.ranges[o.Name]; known || !o.Ours {
			continue
		}
		x.ranges[o.Name] = o.Ranges
		if i := slices.IndexFunc(x.cfg.IP.Ranges.Include, func(r config.Range) bool { return r.PoolName() == o.Name }); i >= 0 && x.cfg.IP.Mode == config.ModeRange {
			x.ranges[o.Name] = state.PoolRanges(o.Name, x.cfg.IP.Ranges.Pieces(x.cfg.IP.Ranges.Include[i]), x.live, x.used)
		}
	}
}

// objects are the pools that were added, and rendered ones with the addresses that are left for them.
func (x *besides) objects(wanted []render.Object) ([]render.Object, error) {
	for _, o := range wanted {
		if o.Kind != kinds.IPAddressPool {
			continue
		}
		ranges := state.PoolRanges(o.Name, poolRanges(cluster.Rendered(o)), x.live, x.used)
		if pool, theirs, overlap := x.live.Overlap(ranges, o.Namespace, o.Name); overlap {
			return nil, &report.PoolOverlapError{Pool: pool.Name, Wanted: o.Name, Addresses: theirs.Text}
		}
		x.ranges[o.Name] = ranges
	}
	var objects []render.Object
	for _, name := range slices.Sorted(maps.Keys(x.ranges)) {
		if len(x.ranges[name]) > 0 {
			objects = append(objects, render.PoolPair(x.cfg, name, x.ranges[name])...)
		}
	}
	return objects, nil
}
