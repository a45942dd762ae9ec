package reservation

import (
	"context"

	"github.com/akash-net/kubectl-akash-net/apply/book"
	"github.com/akash-net/kubectl-akash-net/apply/capacity"
	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/inventory"
	"github.com/akash-net/kubectl-akash-net/state/inventory/observed"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// Room is what a cluster can still provide.
type Room struct {
	observed.Capacity
	// Addresses are those that can be leased; nil if the configuration has none.
	Addresses *inventory.Addresses
}

// ReadRoom reads what a cluster can provide: nodes, pods, volumes and addresses, and what is reserved of them.
func ReadRoom(ctx context.Context, c *cluster.Cluster, cfg *config.ProviderConfig) (Room, error) {
	var fold observed.Fold
	var pools view.Contents
	var look ledger.Look
	group, listCtx := parallel.WithContext(ctx)
	group.Go(func() (err error) {
		look, err = ledger.New(c, cfg.LedgerNamespace).Look(listCtx, true)
		return err
	})
	group.Go(func() (err error) {
		pools, err = readCluster(listCtx, c, cfg, &fold, true)
		return err
	})
	if err := group.Wait(); err != nil {
		return Room{}, err
	}
	pools.Capacity, pools.Reservations, pools.Claims = fold, look.Reservations, look.Leased
	notes := pools.AddReservations()
	room := Room{Capacity: pools.Capacity.Capacity(), Addresses: view.Addresses(cfg, pools)}
	room.Notes = append(room.Notes, notes...)
	return room, nil
}

// Usage reads what leases use, by order. look contains the addresses that they have.
func Usage(ctx context.Context, c *cluster.Cluster, look ledger.Look) (observed.Usage, error) {
	var fold observed.Fold
	err := capacity.Read(ctx, c, &fold)
	return fold.Usage().WithLeases(leasesOf(look.Leased)), err
}

// readCluster adds the capacity apart from the ledger to fold. If addresses is true it also returns MetalLB's pools and
// the addresses that MetalLB has assigned.
func readCluster(
	ctx context.Context, c *cluster.Cluster, cfg *config.ProviderConfig, fold *observed.Fold, addresses bool,
) (pools view.Contents, err error) {
	fold.NodePorts(cfg.Workloads.NodePorts.First, cfg.Workloads.NodePorts.Last)
	group, ctx := parallel.WithContext(ctx)
	group.Go(func() error { return capacity.Read(ctx, c, fold) })
	if addresses {
		group.Go(func() (err error) {
			pools, err = book.ReadPools(ctx, c)
			return err
		})
	}
	err = group.Wait()
	return pools, err
}

// leasesOf returns pairs of an order whose lease holds addresses or IP endpoints and the sharing key of those.
func leasesOf(claims []*state.Claim) map[[2]string]bool {
	out := map[[2]string]bool{}
	for _, c := range claims {
		for _, p := range c.Parts {
			if c.Unreadable == "" {
				out[[2]string{p.Lease.Order().String(), c.SharingKey}] = true
			}
		}
	}
	return out
}

// addressRoom returns the addresses that leases can get, and those in use by the claims; nil if leases get none.
func addressRoom(cfg *config.ProviderConfig, pools view.Contents, claims []*state.Claim) *inventory.Addresses {
	pools.Claims = claims
	return view.Addresses(cfg, pools)
}

// Inventory returns what can still be given out, with the configuration's commit levels.
func (r Room) Inventory(cfg *config.ProviderConfig) *inventory.Inventory {
	addresses := r.Addresses
	if addresses != nil {
		taken := *addresses
		taken.InUse = inventory.Sum(taken.InUse, r.Reserved)
		addresses = &taken
	}
	return inventory.New(r.Cluster(), addresses, levels(cfg))
}

func levels(cfg *config.ProviderConfig) inventory.Levels {
	l := cfg.CommitLevels
	return inventory.Levels{CPU: l.CPU, GPU: l.GPU, Memory: l.Memory, Storage: l.Storage}
}
