package observed

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
)

// Known is what a ledger, in a cluster or in files, contains: the claims, and what uses addresses.
type Known struct {
	Claims    []*state.Claim
	Addresses *state.Addresses
	Pools     []state.PoolObject
}

// PoolsFor returns the pools that addresses need beside those that were read.
func (s *Snapshot) PoolsFor(cfg *config.ProviderConfig, of render.Addresses) ([]render.Object, error) {
	return PoolsFor(cfg, of, &Known{Addresses: s.Addresses, Pools: s.Pools()})
}

// PoolsFor returns the pools that addresses need, each with its advertisement, reduced to what the other pools leave to them.
// An address stays in the pool of ours that has it, whatever the configuration says now. An address that the configuration
// excludes by now stays in any pool that has it. A pool that overlaps somebody else's is an error, before MetalLB sees it:
// one overlap makes MetalLB drop its whole configuration, so that no tenant gets an address.
func PoolsFor(cfg *config.ProviderConfig, of render.Addresses, known *Known) ([]render.Object, error) {
	live := state.NewPoolIndex(known.Pools)
	var addresses []netip.Addr
	for _, as := range of {
		for _, a := range as {
			if needsPool(cfg, a, live) {
				addresses = append(addresses, a)
			}
		}
	}
	objects, err := render.Pools(cfg, addresses)
	for i, o := range objects {
		if o.Kind != kinds.IPAddressPool {
			continue
		}
		ranges := state.PoolRanges(o.Name, rangesOf(render.Rendered(o)), live, known.Addresses.InUse())
		if err := checkOverlap(live, o, ranges); err != nil {
			return nil, err
		}
		if err := checkAdvertised(cfg, o.Name, ranges); err != nil {
			return nil, err
		}
		objects[i] = render.Pool(cfg, o.Name, ranges)
	}
	return objects, err
}

// needsPool reports whether an address is in no pool, or only in somebody else's although the configuration gives it
// one.
func needsPool(cfg *config.ProviderConfig, a netip.Addr, live *state.PoolIndex) bool {
	name, pooled := cfg.PoolFor(a)
	return pooled && !state.ServedByOurs(a, name, live) || !pooled && live.Of(a) == nil
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
		ranges := state.PoolRanges(o.Name, rangesOf(render.Rendered(o)), x.live, x.used)
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
