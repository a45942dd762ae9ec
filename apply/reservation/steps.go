package reservation

import (
	"context"
	"slices"
	"time"

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
		if err := o.ledger.DropReservation(ctx, c); err != nil && !again(err) {
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
		return o.ledger.DropReservation(ctx, own)
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
	_ = r.ledger.Retrying(ctx, func(ctx context.Context) (bool, error) {
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
