package apply

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/render"
)

// pools are MetalLB's pools as one run sees them. Leases share them: each is looked at once.
type pools struct {
	applier  *Applier
	snapshot *snapshot
	mu       sync.Mutex
	done     map[string]error
}

func newPools(a *Applier, s *snapshot) *pools {
	return &pools{applier: a, snapshot: s, done: map[string]error{}}
}

// ensure makes the pools that serve the run's addresses. An address that the configuration gives no
// pool, because it was excluded since it was leased, is left to the pool that has it. A pool of somebody else that overlaps is
// refused before MetalLB sees it: one overlap makes it drop its whole configuration, so that no
// tenant gets an address.
func (p *pools) ensure(ctx context.Context, r *run) error {
	var addresses []netip.Addr
	for _, as := range r.addresses {
		for _, a := range as {
			if _, pooled := r.opts.Config.PoolFor(a); pooled || !p.served(a) {
				addresses = append(addresses, a)
			}
		}
	}
	objects, err := render.Pools(r.opts.Config, addresses)
	if err != nil {
		return err
	}
	for _, o := range objects {
		if err := p.once(ctx, r, o); err != nil {
			return err
		}
	}
	return nil
}

// served is true for an address that some pool has.
func (p *pools) served(a netip.Addr) bool {
	for _, live := range p.snapshot.live[render.IPAddressPool.Plural] {
		if slices.ContainsFunc(poolRanges(live), func(r config.Range) bool { return r.Contains(a) }) {
			return true
		}
	}
	return false
}

func (p *pools) once(ctx context.Context, r *run, o render.Object) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err, done := p.done[o.String()]; done {
		return err
	}
	err := p.overlap(o)
	if err == nil {
		var action Action
		if action, err = r.writeObject(ctx, o); err == nil {
			r.event(action, o.Kind.Singular, o.Namespace, o.Name, "")
		}
	}
	p.done[o.String()] = err
	return err
}

// PoolOverlapError says that an existing pool shares addresses with one that is to be made.
type PoolOverlapError struct{ Pool, Wanted, Addresses string }

func (e *PoolOverlapError) Error() string {
	return fmt.Sprintf("IPAddressPool %s has %s, which overlaps the pool %s that ip.ranges asks for; with both, MetalLB would give no tenant an address. Take the addresses out of one of them, or use ip.mode: pool", e.Pool, e.Addresses, e.Wanted)
}

func (p *pools) overlap(o render.Object) error {
	if o.Kind != render.IPAddressPool {
		return nil
	}
	wanted := poolRanges(cluster.Rendered(o))
	for _, live := range p.snapshot.live[render.IPAddressPool.Plural] {
		if live.GetName() == o.Name && live.GetNamespace() == o.Namespace {
			continue
		}
		for _, theirs := range poolRanges(live) {
			for _, ours := range wanted {
				if ours.Overlaps(theirs) {
					return &PoolOverlapError{Pool: live.GetName(), Wanted: o.Name, Addresses: theirs.Text}
				}
			}
		}
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

// remove deletes the pool of one address, in dedicated mode, when nobody holds the address any
// more.
func (p *pools) remove(ctx context.Context, r *run, a netip.Addr, action Action) error {
	name := r.opts.Config.IP.MetalLBNamespace + "/" + config.AddressPoolName(a)
	if action == Released { // of claims
		action = Deleted
	}
	for _, kind := range []render.Kind{render.L2Advertisement, render.IPAddressPool} {
		live := p.snapshot.live[kind.Plural][name]
		if live == nil {
			continue
		}
		if err := r.remove(ctx, owned{kind: kind, live: live}, action); err != nil {
			return err
		}
	}
	return nil
}
