package reservation

import (
	"context"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/akash-net/kubectl-akash-net/apply/book"
	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state/inventory"
	"github.com/akash-net/kubectl-akash-net/state/inventory/observed"
	"github.com/akash-net/kubectl-akash-net/state/protocol/capacity"
	"github.com/akash-net/kubectl-akash-net/state/reserved"
)

// AddressesError says that the addresses which are free are reserved by orders.
type AddressesError struct {
	Lease lease.ID
	// By are the orders that have reserved addresses.
	By []string
}

func (e *AddressesError) Error() string {
	return fmt.Sprintf("no address is left for lease %s: those that are free are reserved by %s; kubectl akash-net unreserve --order gives up what a bid that was lost has reserved",
		e.Lease, strings.Join(e.By, ", "))
}

// LeaveAddresses looks, once a lease has claimed addresses, whether those are left that the orders of other leases have
// reserved. It waits for orders that are about to reserve, and removes reservations that are over where they are in the way. It
// fails with an AddressesError where the claims are to be given back.
func (o *Orders) LeaveAddresses(ctx context.Context, id lease.ID) error {
	const shortest, longest = 20 * time.Millisecond, time.Second
	pause := shortest
	for begun := time.Now(); ; pause = min(pause*3/2, longest) {
		look, err := o.ledger.Look(ctx, false)
		if err != nil || !o.reservedAddresses(look, id.Order()) {
			return err
		}
		left, err := o.leavesAddresses(ctx, id)
		switch {
		case left || err != nil && !again(err):
			return err
		case time.Since(begun) > patience:
			return &TimeoutError{Order: id.Order(), After: patience, What: "others that reserve addresses now, or whose runs have crashed"}
		}
		if err := sleep(ctx, wait.Jitter(pause, 1)); err != nil {
			return err
		}
	}
}

// reservedAddresses is true where an order, another than the lease's own, has reserved addresses.
func (o *Orders) reservedAddresses(look ledger.Look, order lease.Order) bool {
	_, others := reserved.Find(look.Reservations, order)
	for _, c := range others {
		if c.Hold().Addresses > 0 {
			return true
		}
	}
	return false
}

// leavesAddresses looks once, and does the step that the protocol decides on.
func (o *Orders) leavesAddresses(ctx context.Context, id lease.ID) (left bool, err error) {
	pools, err := book.ReadPools(ctx, o.cluster)
	if err != nil {
		return false, err
	}
	look, err := o.ledger.Look(ctx, true)
	if err != nil {
		return false, err
	}
	leased := addressRoom(o.cfg, pools, look.Leased)
	if leased == nil {
		return true, nil
	}
	now := o.cluster.Now()
	_, others := reserved.Find(look.Reservations, id.Order())
	usage := observed.Usage{}.WithLeases(leasesOf(look.Leased))
	var orders []capacity.Claim
	var by []string
	for _, c := range others {
		pieces := c.Pieces(now, func(h inventory.Hold) inventory.Hold { return usage.Beyond(c.Order.String(), h) })
		orders = append(orders, pieces...)
		if c.Bound != nil && c.Bound.Hold.Addresses > 0 && !c.Over(now) {
			by = append(by, "order "+c.Order.String())
		}
	}
	switch step, names := capacity.Beside(*leased, orders); step {
	case capacity.Rest:
		return true, nil
	case capacity.Evict:
		return false, o.remove(ctx, look.Reservations, names, now)
	case capacity.Refuse:
		return false, &AddressesError{Lease: id, By: by}
	default:
		return false, nil
	}
}
