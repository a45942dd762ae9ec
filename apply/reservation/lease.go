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

// Claim turns the reservation of an order into that of the lease that was won: without end, and with its provider. It
// never lets go of what the order holds. If the order holds nothing, Claim reserves as for a bid; if it holds another
// resource group, that one is kept until the new one is reserved. Claim returns the scheduling parameters of the chosen
// GPUs, by the IDs of resource units; units without GPUs have none. binds may refuse the change (Options.Binds).
func Claim(
	ctx context.Context, c *cluster.Cluster, cfg *config.ProviderConfig, id lease.ID, asked resources.Group,
	binds Binds,
) (map[uint32]*lease.SchedulerParams, error) {
	claim, _, err := New(c, cfg).Reserve(ctx, id.Order(), inventory.GroupOf(asked), Options{Provider: id.Provider, Binds: binds})
	if refused, ok := errors.AsType[*RefusedError](err); ok {
		refused.Lease = id
	}
	if err != nil {
		return nil, err
	}
	return Params(claim.Bound), nil
}

// Release gives up the reservation of a lease, and reports whether there was one. It leaves a bid's reservation, and
// that of the order's lease with another provider.
func Release(ctx context.Context, c *cluster.Cluster, cfg *config.ProviderConfig, id lease.ID) (found bool, err error) {
	return New(c, cfg).UnreserveIf(ctx, id.Order(), func(claim *reserved.Claim) bool {
		return claim.Bound != nil && claim.Bound.Provider == id.Provider
	})
}

// Params returns the scheduling parameters that a reservation has chosen.
func Params(p *reserved.Part) map[uint32]*lease.SchedulerParams {
	out := map[uint32]*lease.SchedulerParams{}
	for id, chosen := range p.Params {
		if chosen == nil {
			continue
		}
		g := chosen.Resources.GPU
		out[id] = &lease.SchedulerParams{
			RuntimeClass: chosen.RuntimeClass,
			GPU:          &lease.SchedulerGPU{Vendor: g.Vendor, Model: g.Model, MemorySize: g.MemorySize, Interface: g.Interface},
		}
	}
	return out
}
