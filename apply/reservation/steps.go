package reservation

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
	"github.com/akash-net/kubectl-akash-net/state/inventory/observed"
	"github.com/akash-net/kubectl-akash-net/state/protocol/capacity"
	"github.com/akash-net/kubectl-akash-net/state/reserved"
)

// announce writes what the run wants to reserve as pending, next to what the order has.
func (r *run) announce(ctx context.Context, own *reserved.Claim, part *reserved.Part) error {
	if err := part.Check(); err != nil {
		return err
	}
	claim := reserved.Claim{Order: r.order}
	if own != nil {
		claim = *own
	}
	claim.Pending = part
	r.announced = true
	_, err := r.ledger.PutReservation(ctx, &claim)
	return err
}

// bind turns the pending claim into the reservation: it was listed together with all others, and fits.
func (r *run) bind(ctx context.Context, own *reserved.Claim, now time.Time) (done bool, err error) {
	claim, part := *own, *own.Pending
	part.By, part.Run = r.by, r.nonce
	r.setEnd(&part, own.Bound, now)
	r.moves = own.Bound != nil
	claim.Bound, claim.Pending = &part, nil
	if err := r.checkBinds(own, &part); err != nil {
		return false, err
	}
	if r.claim, err = r.ledger.PutReservation(ctx, &claim); err != nil {
		return false, err
	}
	r.outcome = r.made()
	return true, nil
}

// checkBinds asks the caller whether the reservation may change.
func (r *run) checkBinds(was *reserved.Claim, becomes *reserved.Part) error {
	if r.opts.Binds == nil {
		return nil
	}
	return r.opts.Binds(was, becomes)
}

// made returns the outcome of a bound claim.
func (r *run) made() Outcome {
	if r.moves {
		return Moved
	}
	return Made
}

// setEnd sets the end and the provider of a part that replaces another.
func (r *run) setEnd(part, before *reserved.Part, now time.Time) {
	part.Expires, part.Provider = "", r.opts.Provider
	if r.opts.Expires > 0 {
		part.Expires = end(now, r.opts.Expires)
	}
	if before != nil && before.Expires == "" {
		part.Expires = ""
	}
	if before != nil && part.Provider == "" {
		part.Provider = before.Provider
	}
}

// keep gives a bound reservation its new end. It leaves one that this run has bound itself, whose answer was lost.
func (r *run) keep(ctx context.Context, own *reserved.Claim, now time.Time) error {
	r.claim, r.outcome = own, Unchanged
	if own.Bound.Run == r.nonce {
		r.outcome = r.made()
		return nil
	}
	claim, part := *own, *own.Bound
	r.setEnd(&part, own.Bound, now)
	if part.Expires == own.Bound.Expires && part.Provider == own.Bound.Provider {
		return nil
	}
	part.By, part.Run = r.by, r.nonce
	if err := r.checkBinds(own, &part); err != nil {
		return err
	}
	claim.Bound = &part
	if claim.Pending != nil && claim.Pending.Lapsed(now) {
		claim.Pending = nil
	}
	kept, err := r.ledger.PutReservation(ctx, &claim)
	if err != nil {
		return err
	}
	r.claim, r.outcome = kept, Renewed
	return nil
}

// evict deletes expired claims, only as many as are in the way, because there may be thousands.
func (r *run) evict(
	ctx context.Context, question capacity.Reserving, all []*reserved.Claim, names []string, now time.Time,
) error {
	return r.remove(ctx, all, fewest(question, names), now)
}

// remove deletes expired claims. Of an expired move it removes only the pending part.
func (o *Orders) remove(ctx context.Context, all []*reserved.Claim, names []string, now time.Time) error {
	deleted, stayed := reserved.Without(all, names, now)
	for _, c := range deleted {
		if err := o.ledger.Objects.Delete(ctx, c.ObjectName, c.UID, c.ResourceVersion); err != nil && !again(err) {
			return err
		}
	}
	for _, c := range stayed {
		if err := o.withdraw(ctx, c); err != nil && !again(err) {
			return err
		}
	}
	return nil
}

// fewest returns the first of the names whose deletion lets the run go on, doubling their number until it does.
func fewest(question capacity.Reserving, names []string) []string {
	slices.Sort(names)
	for n := 1; n < len(names); n *= 2 {
		rest := question
		rest.Others = slices.DeleteFunc(slices.Clone(question.Others), func(c capacity.Claim) bool {
			return c.Over && slices.Contains(names[:n], c.Name)
		})
		if step := capacity.Decide(rest).Step; step == capacity.Announce || step == capacity.Bind {
			return names[:n]
		}
	}
	return names
}

// withdraw removes the pending part, and leaves what the order has reserved.
func (o *Orders) withdraw(ctx context.Context, own *reserved.Claim) error {
	if own.Bound == nil {
		return o.ledger.Objects.Delete(ctx, own.ObjectName, own.UID, own.ResourceVersion)
	}
	without := *own
	without.Pending = nil
	_, err := o.ledger.PutReservation(ctx, &without)
	return err
}

// withdrawPending withdraws what the run has announced. If that fails the claim expires by itself.
func (r *run) withdrawPending(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), pendingFor/2)
	defer cancel()
	_ = r.cluster.Retry(ctx, func(ctx context.Context) (bool, error) {
		own, err := r.ledger.Reservation(ctx, r.order)
		if err != nil {
			return !again(err), nil
		}
		if own == nil || own.Deleting || own.Pending == nil || own.Pending.Run != r.nonce {
			return true, nil
		}
		err = r.withdraw(ctx, own)
		return !again(err), nil
	})
}

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
	return fmt.Sprintf("order %s has reserved nothing; reserve it: kubectl akash-net order reserve %[1]s -f FILE", e.Lease.Order())
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
		"move it to other room: kubectl akash-net order reserve %[1]s -f FILE", e.Order)
}

// Win makes what orders have reserved that of the leases that have won them, at most so many at a time: without an end, and with their
// providers. It returns what has become of each. It needs no definitions, so it moves nothing: what has no room any more is an error.
func Win(ctx context.Context, c *cluster.Cluster, cfg *config.ProviderConfig, ids []lease.ID, atOnce int) []Won {
	o := New(c, cfg)
	out := make([]Won, len(ids))
	for i := range out {
		out[i].Err = ledger.ErrAgain
	}
	err := o.ledger.Objects.Until(ctx, func(ctx context.Context) error { return o.win(ctx, ids, out, atOnce) })
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
		var fold observed.Fold
		in, err := readCluster(ctx, o.cluster, o.cfg, &fold, true)
		if err != nil {
			return nil, err
		}
		in.Reservations, in.Claims = look.Reservations, look.Leased
		return lost(o.cfg, in, &fold, time.Time{}), nil
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
		return nil, &UnreadableError{Namespace: o.ledger.Objects.Namespace, Name: own.ObjectName, Why: own.Unreadable}
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
