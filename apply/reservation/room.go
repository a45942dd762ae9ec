package reservation

import (
	"context"
	"fmt"

	"github.com/akash-net/kubectl-akash-net/apply/book"
	"github.com/akash-net/kubectl-akash-net/apply/capacity"
	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
	"github.com/akash-net/kubectl-akash-net/state/inventory"
	"github.com/akash-net/kubectl-akash-net/state/inventory/observed"
	"github.com/akash-net/kubectl-akash-net/state/reserved"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// Room is what a cluster has to give.
type Room struct {
	observed.Capacity
	// Addresses are those that can be leased; nil where the configuration has none.
	Addresses *inventory.Addresses
}

// ReadRoom reads what a cluster has to give: nodes, pods, volumes and addresses, and what is reserved of them.
func ReadRoom(ctx context.Context, c *cluster.Cluster, cfg *config.ProviderConfig) (Room, error) {
	var fold observed.Fold
	var addresses *inventory.Addresses
	var claims []*reserved.Claim
	group, listCtx := parallel.WithContext(ctx)
	group.Go(func() (err error) {
		claims, err = ledger.New(c, cfg.LedgerNamespace).Reservations(listCtx)
		return err
	})
	group.Go(func() (err error) {
		addresses, err = readThere(listCtx, c, cfg, &fold, true)
		return err
	})
	if err := group.Wait(); err != nil {
		return Room{}, err
	}
	var notes []string
	for _, claim := range claims {
		if claim.Unreadable != "" {
			notes = append(notes, fmt.Sprintf("reservation %s does not count: %s", claim.ObjectName, claim.Unreadable))
			continue
		}
		fold.Reserve(claim.Order.String(), claim.Hold())
	}
	room := Room{Capacity: fold.Capacity(), Addresses: addresses}
	room.Notes = append(room.Notes, notes...)
	return room, nil
}

// readThere reads what there is apart from reservations; addresses where they are asked for.
func readThere(ctx context.Context, c *cluster.Cluster, cfg *config.ProviderConfig, fold *observed.Fold, addresses bool) (*inventory.Addresses, error) {
	var pools view.Book
	leased := map[[2]string]bool{}
	group, ctx := parallel.WithContext(ctx)
	group.Go(func() error { return capacity.Read(ctx, c, fold) })
	if addresses {
		group.Go(func() error {
			read, err := book.Read(ctx, c, cfg, view.SubjectPools)
			if err == nil {
				pools = *read
			}
			return err
		})
		group.Go(func() (err error) {
			leased, err = ledger.New(c, cfg.LedgerNamespace).Leased(ctx)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	for l := range leased {
		fold.Lease(l[0], l[1])
	}
	return addressRoom(pools.Pools), nil
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
	return inventory.New(r.Cluster(), addresses, levels(cfg))
}

func levels(cfg *config.ProviderConfig) inventory.Levels {
	l := cfg.CommitLevels
	return inventory.Levels{CPU: l.CPU, GPU: l.GPU, Memory: l.Memory, Storage: l.Storage}
}
