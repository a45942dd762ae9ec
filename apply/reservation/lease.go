package reservation

import (
	"context"
	"errors"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/resources"
	"github.com/akash-net/kubectl-akash-net/state/inventory"
	"github.com/akash-net/kubectl-akash-net/state/reserved"
)

// Claim makes the reservation of an order that of the lease which was won: without end, and with the provider noted. What
// the order holds is never let go of; where it holds nothing it is reserved as a bid is, and where it holds another group
// that one is held until the new one is. The answer is what pods need to come to the cards that were chosen, by the ids of
// resource units; units without cards have none. Binds may refuse it (Options.Binds).
func Claim(ctx context.Context, c *cluster.Cluster, cfg *config.ProviderConfig, id lease.ID, asked resources.Group, binds Binds) (map[uint32]*lease.SchedulerParams, error) {
	claim, _, err := New(c, cfg).Reserve(ctx, id.Order(), inventory.GroupOf(asked), Options{Provider: id.Provider, Binds: binds})
	if refused, ok := errors.AsType[*RefusedError](err); ok {
		refused.Lease = id
	}
	if err != nil {
		return nil, err
	}
	return Params(claim.Bound), nil
}

// Release gives up the reservation of a lease, and says whether there was one. That of a bid, or of the order's lease at
// another provider, stays.
func Release(ctx context.Context, c *cluster.Cluster, cfg *config.ProviderConfig, id lease.ID) (found bool, err error) {
	return New(c, cfg).unreserve(ctx, id.Order(), func(claim *reserved.Claim) bool {
		return claim.Bound != nil && claim.Bound.Provider == id.Provider
	})
}

// Params are what a reservation has chosen, as a lease's workloads take it.
func Params(p *reserved.Part) map[uint32]*lease.SchedulerParams {
	out := map[uint32]*lease.SchedulerParams{}
	for id, chosen := range p.Params {
		if chosen == nil {
			continue
		}
		g := chosen.Resources.GPU
		out[id] = &lease.SchedulerParams{RuntimeClass: chosen.RuntimeClass,
			GPU: &lease.SchedulerGPU{Vendor: g.Vendor, Model: g.Model, MemorySize: g.MemorySize, Interface: g.Interface}}
	}
	return out
}
