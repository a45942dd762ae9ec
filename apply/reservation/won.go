package reservation

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
	"github.com/akash-net/kubectl-akash-net/state/reserved"
)

// Won is what has become of the reservation of an order that was won.
type Won struct {
	// Outcome is Renewed if the reservation is the lease's now, and Unchanged if it was before.
	Outcome Outcome
	Err     error
}

// NotReservedError reports that an order that was won has reserved nothing that could be its lease's.
type NotReservedError struct {
	Lease lease.ID
	// Provider has won the order by what the ledger says; empty if it has reserved nothing.
	Provider string
}

func (e *NotReservedError) Error() string {
	if e.Provider != "" {
		return fmt.Sprintf("what order %s has reserved is that of its lease with provider %s, and stays so", e.Lease.Order(), e.Provider)
	}
	return fmt.Sprintf("order %s has reserved nothing, or not any more; reserve it: kubectl akash-net reserve --order %[1]s -f FILE", e.Lease.Order())
}

// PendingError reports that another command is about to reserve for an order.
type PendingError struct {
	Order lease.Order
	By    string
}

func (e *PendingError) Error() string {
	return fmt.Sprintf("%s is about to reserve for order %s; send it again when that has ended", e.By, e.Order)
}

// LostError reports that there is no room any more for what an order has reserved.
type LostError struct{ Order lease.Order }

func (e *LostError) Error() string {
	return fmt.Sprintf("what order %s has reserved no longer fits the cluster, and stays a bid; "+
		"move it to other room: kubectl akash-net reserve --order %[1]s -f FILE", e.Order)
}

// Win makes what orders have reserved that of the leases that have won them, at most so many at a time: without an end, and with their
// providers. It returns what has become of each. It needs no definitions, so it moves nothing: what has no room any more is an error.
func Win(ctx context.Context, c *cluster.Cluster, cfg *config.ProviderConfig, ids []lease.ID, atOnce int) []Won {
	o := New(c, cfg)
	out := make([]Won, len(ids))
	for i := range out {
		out[i].Err = ledger.ErrAgain
	}
	err := o.ledger.Until(ctx, func(ctx context.Context) error { return o.win(ctx, ids, out, atOnce) })
	for i := range out {
		if again(out[i].Err) && err != nil {
			out[i].Err = err
		}
	}
	return out
}

// win looks once, and writes what is open still. ErrAgain means that something has changed meanwhile.
func (o *Orders) win(ctx context.Context, ids []lease.ID, out []Won, atOnce int) error {
	look, err := o.ledger.Look(ctx, true)
	if err != nil {
		return err
	}
	rooms := sync.OnceValues(func() (map[string]bool, error) { // the zero time: a bid that has ended has its room until somebody removes it
		return lost(ctx, o.cluster, o.cfg, look.Reservations, look.Leased, time.Time{})
	})
	work := parallel.New(atOnce)
	for i, id := range ids {
		if !again(out[i].Err) {
			continue
		}
		work.Go(func() error {
			own, _ := reserved.Find(look.Reservations, id.Order())
			claim, err := o.wonBy(own, id, o.cluster.Now(), rooms)
			out[i] = Won{Unchanged, err}
			if claim != nil {
				_, err = o.ledger.PutReservation(ctx, claim)
				out[i] = Won{Renewed, err}
			}
			if again(out[i].Err) {
				return out[i].Err
			}
			return nil
		})
	}
	return work.Wait()
}

// wonBy returns the reservation of an order as its lease's, nil if it is that already. rooms returns the names of the reservations that have no
// room any more.
func (o *Orders) wonBy(own *reserved.Claim, id lease.ID, now time.Time, rooms func() (map[string]bool, error)) (*reserved.Claim, error) {
	switch {
	case own == nil || own.Deleting:
		return nil, &NotReservedError{Lease: id}
	case own.Unreadable != "":
		return nil, &UnreadableError{Namespace: o.ledger.Namespace, Name: own.ObjectName, Why: own.Unreadable}
	case own.Bound == nil && own.Pending.Lapsed(now):
		return nil, &NotReservedError{Lease: id}
	case own.Bound == nil:
		return nil, &PendingError{Order: id.Order(), By: own.Pending.By}
	case own.Bound.Provider != "" && own.Bound.Provider != id.Provider:
		return nil, &NotReservedError{Lease: id, Provider: own.Bound.Provider}
	case own.Bound.Provider == id.Provider && own.Bound.Expires == "":
		return nil, nil //nolint:nilnil // nothing is to be written
	}
	gone, err := rooms()
	if err != nil {
		return nil, err
	}
	if gone[own.ObjectName] {
		return nil, &LostError{Order: id.Order()}
	}
	claim, part := *own, *own.Bound
	part.Provider, part.Expires, part.By, part.Run = id.Provider, "", o.by, o.nonce
	claim.Bound = &part
	if claim.Pending != nil && claim.Pending.Lapsed(now) {
		claim.Pending = nil
	}
	return &claim, nil
}
