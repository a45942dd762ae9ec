package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/plan"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/protocol"
)

// attempt tries once. Neither done nor an error means: read the claim again and decide anew.
func (r *claims) attempt(ctx context.Context, h state.Hold, claim *state.Claim) (done bool, err error) {
	var uses []state.Use
	if claim == nil {
		uses = r.uses(h)
	}
	known := r.holds[h.Name()]
	taken := protocol.Take(protocol.Taking{
		Want: r.applying(h), Claim: claim, Nonce: r.nonce, Patient: r.patient, Relied: r.marking,
		Decide:  func(c *state.Claim, p state.Part) state.Finding { return r.decide(h, p, c, uses) },
		Pending: r.pendingUntil(),
		Took:    known != nil && known.took, Anew: known != nil && known.anew,
	})
	for _, w := range taken.Withheld {
		if err := r.withhold(h, w.Part, w.By); err != nil {
			return false, err
		}
	}
	switch taken.Next {
	case protocol.Yield:
		return false, &HeldError{Lease: r.req.Lease, Held: []HeldThing{{Kind: h.Kind, Thing: h.Thing, By: taken.By, At: h.At}}}
	case protocol.Read:
		return false, nil
	case protocol.Evict:
		return false, r.evict(ctx, claim)
	case protocol.Write:
		return r.put(ctx, taken)
	}
	if len(taken.Parts) == 0 {
		return true, nil
	}
	if taken.Took && known == nil {
		r.event(Claimed, string(h.Kind), "", h.Thing, "")
	}
	r.hold(&held{want: taken.Want, claim: claim, took: taken.Took, anew: taken.Anew})
	if r.opts.Check {
		r.event(Held, string(h.Kind), "", h.Thing, "by this lease")
	}
	return true, nil
}

// put writes the parts, with those that the group holds already for another reason.
func (r *claims) put(ctx context.Context, taken protocol.Taken) (bool, error) {
	want, claim, parts, anew := taken.Want, taken.Claim, taken.Parts, taken.Anew
	if claim == nil {
		claim = want.Claim()
	}
	if claim.SharingKey != want.SharingKey {
		rekeyed := *claim
		rekeyed.SharingKey = want.SharingKey
		claim = &rekeyed
	}
	for _, p := range claim.Entries(r.group) {
		if !slices.ContainsFunc(parts, func(q state.Part) bool { return q.Key == p.Key || q.Key == p.For }) {
			parts = append(parts, p)
		}
	}
	if err := r.changeClaim(plan.Claim, claim, parts); err != nil {
		return false, err
	}
	r.remember(want.Name(), claim)
	now, err := r.ledger.Put(ctx, claim, r.group, parts)
	if err != nil {
		if cluster.IsUnclear(err) {
			r.unclear[want.Name()] = &held{want: want, claim: claim, took: true}
		}
		return false, err
	}
	if !protocol.Holds(now, r.group, parts) {
		return false, ledger.ErrAgain
	}
	r.hold(&held{want: want, claim: now, took: true, anew: anew})
	if r.marking && !anew {
		r.wrote(nil)
		return true, nil
	}
	action := Claimed
	if r.opts.Check {
		action = Free
	}
	r.event(action, string(want.Kind), "", want.Thing, "")
	return true, nil
}

// remember notes what the group has on a claim before the run's write, for a rollback: as it was read last
// without the run's own mark. What the lease had before that, and has given up since, is not brought back.
func (r *claims) remember(name string, claim *state.Claim) {
	entries := claim.Entries(r.group)
	if _, known := r.before[name]; known && slices.ContainsFunc(entries, func(p state.Part) bool { return p.Run == r.nonce }) {
		return
	}
	if h := r.holds[name]; h != nil && h.took {
		return
	}
	r.before[name] = entries
}

// evict removes a hold whose time is over, pinned to what was read; then the claim is to be
// decided anew. A hold of the same owner goes alone, the parts beside it stay.
func (r *claims) evict(ctx context.Context, claim *state.Claim) error {
	now := r.cluster.Now()
	if claim.Ended(now) {
		return r.ledger.Delete(ctx, claim)
	}
	for _, g := range claim.Groups() {
		var keep []state.Part
		parts := claim.Entries(g)
		for _, p := range parts {
			if !p.Ended(now) {
				keep = append(keep, p)
			}
		}
		if len(keep) < len(parts) {
			_, err := r.ledger.Shrink(ctx, claim, g, keep)
			return err
		}
	}
	return nil
}

// rollback gives back what this run took; what the lease held before stays. It goes on when the
// run has been interrupted. The errors are of what could not be given back.
func (r *claims) rollback(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()
	var errs []error
	for name, h := range r.unclear {
		if r.holds[name] == nil { // the run ended before it looked whether the write took effect
			r.hold(h)
		}
	}
	for _, h := range r.sortedHolds() {
		name := h.want.Name()
		if !h.took {
			continue
		}
		before := r.before[name]
		before = protocol.Before(before, r.snapshot.serves(h.claim, r.group))
		left, err := r.ledger.Restore(ctx, name, r.group, r.nonce, before)
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("%s %s could not be given back: %w", h.want.Kind, h.want.Thing, err))
		case left:
			r.event(Released, string(h.want.Kind), "", h.want.Thing, "")
			if h.want.Kind == state.Address {
				r.snapshot.addresses.Drop(h.claim.Addr())
			}
		}
	}
	return errors.Join(errs...)
}
