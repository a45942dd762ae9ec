package reservation

import (
	"context"
	"slices"
	"time"

	"github.com/akash-net/kubectl-akash-net/state/protocol/capacity"
	"github.com/akash-net/kubectl-akash-net/state/reserved"
)

// announce writes what the run wants to take, pending, beside what the order has.
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

// bind makes what is pending what is reserved: it was listed beside all others, and fits.
func (r *run) bind(ctx context.Context, own *reserved.Claim, now time.Time) (done bool, err error) {
	claim, part := *own, *own.Pending
	part.By, part.Run = r.by, r.nonce
	r.ends(&part, own.Bound, now)
	r.moves = own.Bound != nil
	claim.Bound, claim.Pending = &part, nil
	if err := r.binds(own, &part); err != nil {
		return false, err
	}
	if r.claim, err = r.ledger.PutReservation(ctx, &claim); err != nil {
		return false, err
	}
	r.outcome = r.made()
	return true, nil
}

// binds asks whether what is reserved may change so.
func (r *run) binds(was *reserved.Claim, becomes *reserved.Part) error {
	if r.opts.Binds == nil {
		return nil
	}
	return r.opts.Binds(was, becomes)
}

// made is what has become of the order's reservation once it is bound.
func (r *run) made() Outcome {
	if r.moves {
		return Moved
	}
	return Made
}

// ends says until when, and for whom, a part is reserved that takes the place of another.
func (r *run) ends(part, before *reserved.Part, now time.Time) {
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

// keep gives a bound reservation its new end. What a run has bound itself, and got no answer, is as it should be.
func (r *run) keep(ctx context.Context, own *reserved.Claim, now time.Time) error {
	r.claim, r.outcome = own, Unchanged
	if own.Bound.Run == r.nonce {
		r.outcome = r.made()
		return nil
	}
	claim, part := *own, *own.Bound
	r.ends(&part, own.Bound, now)
	if part.Expires == own.Bound.Expires && part.Provider == own.Bound.Provider {
		return nil
	}
	part.By, part.Run = r.by, r.nonce
	if err := r.binds(own, &part); err != nil {
		return err
	}
	claim.Bound = &part
	if claim.Pending != nil && claim.Pending.Over(now) {
		claim.Pending = nil
	}
	kept, err := r.ledger.PutReservation(ctx, &claim)
	if err != nil {
		return err
	}
	r.claim, r.outcome = kept, Renewed
	return nil
}

// evict removes claims whose time is over: as many as are in the way, and no more, for there may be thousands.
func (r *run) evict(ctx context.Context, question capacity.Reserving, all []*reserved.Claim, names []string, now time.Time) error {
	return r.remove(ctx, all, fewest(question, names), now)
}

// remove removes claims whose time is over, and of those that move what they are moved to.
func (o *Orders) remove(ctx context.Context, all []*reserved.Claim, names []string, now time.Time) error {
	deleted, stayed := reserved.Without(all, names, now)
	for _, c := range deleted {
		if err := o.ledger.DropReservation(ctx, c); err != nil && !again(err) {
			return err
		}
	}
	for _, c := range stayed {
		without := *c
		without.Pending = nil
		if _, err := o.ledger.PutReservation(ctx, &without); err != nil && !again(err) {
			return err
		}
	}
	return nil
}

// fewest are the first of the names that are enough to go, doubled until they are.
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

// withdraw takes back what is pending, and leaves what the order has.
func (o *Orders) withdraw(ctx context.Context, own *reserved.Claim) error {
	if own.Bound == nil {
		return o.ledger.DropReservation(ctx, own)
	}
	without := *own
	without.Pending = nil
	_, err := o.ledger.PutReservation(ctx, &without)
	return err
}

// takeBack withdraws what the run has announced, if it is there. Where that fails the claim ends by itself.
func (r *run) takeBack(ctx context.Context) {
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
