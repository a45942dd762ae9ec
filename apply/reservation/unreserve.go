package reservation

import (
	"context"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state/reserved"
)

// Reservation returns what an order has reserved, or nil.
func (o *Orders) Reservation(ctx context.Context, order lease.Order) (*reserved.Claim, error) {
	return o.ledger.Reservation(ctx, order)
}

// List returns the reservations of all orders.
func (o *Orders) List(ctx context.Context) ([]*reserved.Claim, error) {
	return o.ledger.Reservations(ctx, "")
}

// UnreserveIf gives up an order's reservation for which meant is true, as it is when it is deleted, and reports whether there was
// one. The delete is pinned to what was read, and retried if that has changed.
func (o *Orders) UnreserveIf(ctx context.Context, order lease.Order, meant func(*reserved.Claim) bool) (found bool, err error) {
	tried := false
	err = o.ledger.Retrying(ctx, func(ctx context.Context) (bool, error) {
		claim, err := o.ledger.Reservation(ctx, order)
		switch {
		case again(err):
			return false, nil
		case err != nil:
			return false, err
		case claim == nil || claim.Deleting || !meant(claim):
			found = tried // an earlier delete took effect, but its answer was lost
			return true, nil
		}
		tried = true
		switch err := o.ledger.DropReservation(ctx, claim); {
		case again(err):
			return false, nil
		case err != nil:
			return false, err
		}
		found = true
		return true, nil
	})
	return found, err
}
