// Package pools finds the MetalLB pools that addresses need beside those that there are.
package pools

import (
	"context"
	"net/netip"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/executor"
	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/apply/report"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
)

// Pools are MetalLB's pools as one run sees them. Leases share them: each is looked at once.
type Pools struct {
	cfg      *config.ProviderConfig
	snapshot *observed.Snapshot
	// live are the pools that were read, used the addresses in use.
	live func() *state.PoolIndex
	used func() []netip.Addr
	mu   sync.Mutex
	done map[string]ensured
	// removed are the pools, and their advertisements, that were read and that leases have removed since.
	removed sync.Map
}

// ensured is a pool, or its advertisement, that was written for one of the leases.
type ensured struct {
	object render.Object
	err    error
}

// Writer writes a pool, or its advertisement, for a lease, and says that the lease needs one that was written for another.
type Writer interface {
	WritePool(ctx context.Context, o render.Object) error
	NeedPool(o render.Object) error
}

// New is the view of the pools that were read.
func New(cfg *config.ProviderConfig, s *observed.Snapshot) *Pools {
	return &Pools{
		cfg: cfg, snapshot: s, done: map[string]ensured{},
		live: sync.OnceValue(func() *state.PoolIndex { return state.NewPoolIndex(s.Pools()) }),
		used: sync.OnceValue(func() []netip.Addr { return s.Addresses.InUse() }),
	}
}

// Ensure makes the pools that serve the run's addresses. An address stays with the pool of ours that has
// it, whatever pool the configuration gives it by now, and one that the configuration gives none, because
// it was excluded since it was leased, with any pool that has it. A pool of somebody else that overlaps is
// refused before MetalLB sees it: one overlap makes it drop its whole configuration, so that no
// tenant gets an address.
func (p *Pools) Ensure(ctx context.Context, addresses render.Addresses, to Writer) error {
	objects, err := p.wanted(addresses)
	if err != nil {
		return err
	}
	for _, o := range objects {
		if err := p.once(ctx, o, to); err != nil {
			return err
		}
	}
	return nil
}

// Check says that an address of the run would need a pool that overlaps another.
func (p *Pools) Check(addresses render.Addresses) error {
	objects, err := p.wanted(addresses)
	if err != nil {
		return err
	}
	for _, o := range objects {
		if err := p.overlap(p.fit(o)); err != nil {
			return err
		}
	}
	return nil
}

// wanted renders the pools of the run's addresses that none of our other pools has.
func (p *Pools) wanted(of render.Addresses) ([]render.Object, error) {
	var addresses []netip.Addr
	for _, as := range of {
		for _, a := range as {
			if needsPool(p.cfg, a, p.live()) {
				addresses = append(addresses, a)
			}
		}
	}
	return render.Pools(p.cfg, addresses)
}

// needsPool is true for an address that no pool has, or that only one of somebody else has where ours is to.
func needsPool(cfg *config.ProviderConfig, a netip.Addr, live *state.PoolIndex) bool {
	name, pooled := cfg.PoolFor(a)
	return pooled && !state.ServedByOurs(a, name, live) || !pooled && live.Of(a) == nil
}

// fit is a rendered pool with the addresses that it is to have beside the other pools.
func (p *Pools) fit(o render.Object) render.Object {
	if o.Kind != kinds.IPAddressPool {
		return o
	}
	ranges := state.PoolRanges(o.Name, poolRanges(cluster.Rendered(o)), p.live(), p.used())
	return render.Pool(p.cfg, o.Name, ranges)
}

func (p *Pools) once(ctx context.Context, o render.Object, to Writer) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if was, done := p.done[o.String()]; done {
		if was.err == nil {
			return to.NeedPool(was.object)
		}
		return was.err
	}
	now := ensured{object: p.fit(o)}
	if now.err = p.overlap(now.object); now.err == nil {
		now.err = to.WritePool(ctx, now.object)
	}
	p.done[o.String()] = now
	return now.err
}

func (p *Pools) overlap(o render.Object) error {
	if o.Kind != kinds.IPAddressPool {
		return nil
	}
	if pool, theirs, ok := p.live().Overlap(poolRanges(cluster.Rendered(o)), o.Namespace, o.Name); ok {
		return &report.PoolOverlapError{Pool: pool.Name, Wanted: o.Name, Addresses: theirs.Text}
	}
	return nil
}

// poolRanges are the addresses of a pool; what does not parse is MetalLB's business.
func poolRanges(o *unstructured.Unstructured) []config.Range {
	texts, _, _ := unstructured.NestedStringSlice(o.Object, "spec", "addresses")
	var out []config.Range
	for _, text := range texts {
		if r, err := config.ParseRange(text); err == nil {
			out = append(out, r)
		}
	}
	return out
}

// Remove deletes the pool of one address, in dedicated mode, when nobody holds the address any
// more.
func (p *Pools) Remove(ctx context.Context, x *executor.Executor, a netip.Addr, action report.Action) error {
	name := p.cfg.IP.MetalLBNamespace + "/" + config.AddressPoolName(a)
	if action == report.Released { // of claims
		action = report.Deleted
	}
	for _, kind := range []kinds.Kind{kinds.L2Advertisement, kinds.IPAddressPool} {
		live := p.snapshot.Live[kind.Plural][name]
		if live == nil {
			continue
		}
		if err := x.Remove(ctx, observed.Owned{Kind: kind, Live: live}, action); err != nil {
			return err
		}
		p.removed.Store(kind.Plural+" "+name, true)
	}
	return nil
}

// Find is a pool, or its advertisement, as it was read before the leases wrote anything; nil for one that they have removed.
func (p *Pools) Find(o render.Object) *unstructured.Unstructured {
	if _, removed := p.removed.Load(o.Kind.Plural + " " + o.Namespace + "/" + o.Name); removed {
		return nil
	}
	return p.snapshot.Find(o)
}
