// Package pools finds the MetalLB pools that addresses need in addition to the existing ones.
package pools

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/executor"
	"github.com/akash-net/kubectl-akash-net/apply/reading"
	"github.com/akash-net/kubectl-akash-net/engine/observed"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
)

// Pools are MetalLB's pools during one command. Leases share them.
type Pools struct {
	cfg      *config.ProviderConfig
	snapshot *observed.Snapshot
	// live indexes the pools that were read, used lists the addresses in use.
	live func() *state.PoolIndex
	used func() []netip.Addr
	mu   sync.Mutex
	// fitted are the pools that leases need, as they are written, by name.
	fitted map[string]func() (render.Object, error)
}

// New returns the pools that were read.
func New(cfg *config.ProviderConfig, s *observed.Snapshot) *Pools {
	return &Pools{
		cfg: cfg, snapshot: s, fitted: map[string]func() (render.Object, error){},
		live: sync.OnceValue(func() *state.PoolIndex { return state.NewPoolIndex(s.Pools()) }),
		used: sync.OnceValue(func() []netip.Addr { return s.Addresses.InUse() }),
	}
}

// Check returns an error if an address would need a pool that overlaps another one.
func (p *Pools) Check(addresses render.Addresses) error {
	_, err := p.Wanted(addresses)
	return err
}

// Wanted returns the pools that addresses need, each with its advertisement, reduced to what the other pools leave to them.
// An address stays in the pool of ours that has it, whatever the configuration says now. An address that the configuration
// excludes by now stays in any pool that has it. A pool that overlaps somebody else's is an error, before MetalLB sees it:
// one overlap makes MetalLB drop its whole configuration, so that no tenant gets an address.
func (p *Pools) Wanted(of render.Addresses) ([]render.Object, error) {
	var addresses []netip.Addr
	for _, as := range of {
		for _, a := range as {
			if needsPool(p.cfg, a, p.live()) {
				addresses = append(addresses, a)
			}
		}
	}
	objects, err := render.Pools(p.cfg, addresses)
	for i, o := range objects {
		if o.Kind != kinds.IPAddressPool {
			continue
		}
		if objects[i], err = p.fit(o); err != nil {
			return nil, err
		}
	}
	return objects, err
}

// needsPool reports whether an address is in no pool, or only in somebody else's although the configuration gives it
// one.
func needsPool(cfg *config.ProviderConfig, a netip.Addr, live *state.PoolIndex) bool {
	name, pooled := cfg.PoolFor(a)
	return pooled && !state.ServedByOurs(a, name, live) || !pooled && live.Of(a) == nil
}

// fit reduces a rendered pool to the addresses that the other pools leave to it. It does so once for all leases, because it
// looks at every address in use.
func (p *Pools) fit(o render.Object) (render.Object, error) {
	p.mu.Lock()
	fitted := p.fitted[o.Name]
	if fitted == nil {
		fitted = sync.OnceValues(func() (render.Object, error) {
			ranges := state.PoolRanges(o.Name, rangesOf(cluster.Rendered(o)), p.live(), p.used())
			err := checkOverlap(p.live(), o, ranges)
			if err == nil {
				err = checkAdvertised(p.cfg, o.Name, ranges)
			}
			return render.Pool(p.cfg, o.Name, ranges), err
		})
		p.fitted[o.Name] = fitted
	}
	p.mu.Unlock()
	return fitted()
}

// checkOverlap returns an error if a pool with these ranges would overlap another pool.
func checkOverlap(live *state.PoolIndex, o render.Object, ranges []config.Range) error {
	if pool, theirs, ok := live.Overlap(ranges, o.Namespace, o.Name); ok {
		return &report.PoolOverlapError{Pool: pool.Name, Wanted: o.Name, Addresses: theirs.Text}
	}
	return nil
}

// checkAdvertised returns an error if a pool with these ranges cannot be advertised as configured. MetalLB drops its whole configuration
// over one such pool, too. The configuration is valid for whole ranges, a pool may have the rest of one.
func checkAdvertised(cfg *config.ProviderConfig, name string, ranges []config.Range) error {
	for _, r := range ranges {
		if err := cfg.IP.Advertisement.Check(r); err != nil {
			return fmt.Errorf("IPAddressPool %s cannot be advertised as ip.advertisement of the configuration says: %w", name, err)
		}
	}
	return nil
}

// rangesOf returns the address ranges of a pool. It ignores those that MetalLB cannot parse either.
func rangesOf(o *unstructured.Unstructured) []config.Range {
	texts, _, _ := unstructured.NestedStringSlice(o.Object, "spec", "addresses")
	var out []config.Range
	for _, text := range texts {
		if r, err := config.ParseRange(text); err == nil {
			out = append(out, r)
		}
	}
	return out
}

// Remove deletes the pool of one address, in dedicated mode, after its last holder is gone.
func (p *Pools) Remove(ctx context.Context, x *executor.Executor, a netip.Addr, action report.Action) error {
	namespace, name := p.cfg.IP.MetalLBNamespace, config.AddressPoolName(a)
	if action == report.Released { // claims are released, objects deleted
		action = report.Deleted
	}
	for _, kind := range append(slices.Clone(kinds.Advertisements), kinds.IPAddressPool) {
		live := p.snapshot.At(kind, namespace, name)
		if live == nil {
			continue
		}
		if err := x.Remove(ctx, observed.Owned{Kind: kind, Live: live}, action); err != nil {
			return err
		}
	}
	return nil
}

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
		known.Claims, known.Addresses, err = reading.Addresses(ctx, c, ledgerNamespace)
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
