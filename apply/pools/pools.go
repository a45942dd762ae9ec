// Package pools finds the MetalLB pools that addresses need in addition to the existing ones.
package pools

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/executor"
	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/report"
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
