package reservation

import (
	"context"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state/reserved"
)

// Reservation is what an order has reserved; nil where that is nothing.
func (o *Orders) Reservation(ctx context.Context, order lease.Order) (*reserved.Claim, error) {
	return o.ledger.Reservation(ctx, order)
}

// List are the reservations of all orders.
func (o *Orders) List(ctx context.Context) ([]*reserved.Claim, error) {
	return o.ledger.Reservations(ctx, "")
}

// Unreserve gives up what an order has reserved, whatever it is, and says whether it was anything. The delete is pinned to
// what was read; what has changed meanwhile is read again.
func (o *Orders) Unreserve(ctx context.Context, order lease.Order) (found bool, err error) {
	return o.unreserve(ctx, order, func(*reserved.Claim) bool { return true })
}

// unreserve gives up what an order has reserved, while it is what is meant.
func (o *Orders) unreserve(ctx context.Context, order lease.Order, meant func(*reserved.Claim) bool) (found bool, err error) {
	tried := false
	err = o.ledger.Retrying(ctx, func(ctx context.Context) (bool, error) {
		claim, err := o.ledger.Reservation(ctx, order)
		switch {
		case again(err):
			return false, nil
		case err != nil:
			return false, err
		case claim == nil || claim.Deleting || !meant(claim):
			found = tried // what was unclear and is gone was given up
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
