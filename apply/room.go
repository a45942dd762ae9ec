package apply

import (
	"context"

	"github.com/akash-net/kubectl-akash-net/apply/book"
	"github.com/akash-net/kubectl-akash-net/apply/capacity"
	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
	"github.com/akash-net/kubectl-akash-net/state/inventory"
	"github.com/akash-net/kubectl-akash-net/state/inventory/observed"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// Room is what a cluster has to give.
type Room struct {
	observed.Capacity
	// Addresses are those that can be leased; nil where the configuration has none.
	Addresses *inventory.Addresses
}

// ReadRoom reads what a cluster has to give: nodes, pods, volumes and addresses.
func ReadRoom(ctx context.Context, c *cluster.Cluster, cfg *config.ProviderConfig) (Room, error) {
	var fold observed.Fold
	var pools *view.Book
	group, ctx := parallel.WithContext(ctx)
	group.Go(func() (err error) {
		pools, err = book.Read(ctx, c, cfg, view.SubjectPools)
		return err
	})
	group.Go(func() error { return capacity.Read(ctx, c, &fold) })
	if err := group.Wait(); err != nil {
		return Room{}, err
	}
	return Room{Capacity: fold.Capacity(), Addresses: addressRoom(pools.Pools)}, nil
}

// addressRoom adds up what pools have.
func addressRoom(pools []view.PoolRow) *inventory.Addresses {
	if len(pools) == 0 {
		return nil
	}
	var a inventory.Addresses
	for _, p := range pools {
		a.Total, a.InUse = inventory.Sum(a.Total, uint64(max(p.Addresses, 0))), inventory.Sum(a.InUse, uint64(max(p.Used, 0)))
	}
	return &a
}

// Inventory is what can still be given out, with the configuration's commit levels.
func (r Room) Inventory(cfg *config.ProviderConfig) *inventory.Inventory {
	addresses := r.Addresses
	if addresses != nil {
		taken := *addresses
		taken.InUse = inventory.Sum(taken.InUse, r.Reserved)
		addresses = &taken
	}
	l := cfg.CommitLevels
	return inventory.New(r.Cluster(), addresses, inventory.Levels{CPU: l.CPU, GPU: l.GPU, Memory: l.Memory, Storage: l.Storage})
}
