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
)

// attempt tries once. Neither done nor an error means: read the claim again and decide anew.
func (r *run) attempt(ctx context.Context, h state.Hold, claim *state.Claim) (done bool, err error) {
	var uses []state.Use
	if claim == nil {
		uses = r.uses(h)
	}
	missing, withheld := false, map[string]bool{}
	known := r.holds[h.Name()]
	took, anew := known != nil && known.took, known != nil && known.anew
	parts := make([]state.Part, 0, len(h.Parts))
	for _, p := range h.Parts {
		switch f := r.decide(h, p, claim, uses); f.Verdict {
		case state.Held:
			return false, &HeldError{Lease: r.req.Lease, Held: []HeldThing{{Kind: h.Kind, Thing: h.Thing, By: f.By, At: h.At}}}
		case state.Going:
			return false, nil
		case state.Expired:
			if r.opts.DryRun == "" {
				return false, r.evict(ctx, claim)
			}
			missing, anew, claim = true, true, nil // a real run removes it first
			parts = append(parts, p)
		case state.Withheld:
			if f.By.Running && r.patient {
				return false, &HeldError{Lease: r.req.Lease, Held: []HeldThing{{Kind: h.Kind, Thing: h.Thing, By: f.By, At: h.At}}}
			}
			withheld[p.Key] = true
			if err := r.withhold(h, p, f.By); err != nil {
				return false, err
			}
		case state.Free:
			missing, anew = true, true
			p.Run = r.nonce
			if h.Kind == state.Wildcard {
				r.pend(&p, claim)
			}
			parts = append(parts, p)
		case state.Mine:
			own := *claim.Part(p.Key)
			if own.Run == r.nonce && !took { // with our mark: the answer to our write was lost
				took, anew = true, true
			}
			// A part that another run of this lease has marked gets our mark, so that the
			// other's rollback cannot take it away from under us; a hold that becomes a claim
			// must not end while the run goes on.
			// A hold that is renewed is as if it were taken now: a wildcard may have been bound over
			// a host whose hold had ended.
			renew := own.Expires != ""
			if own.Run != r.nonce && (own.Run != "" || renew || r.marking) {
				missing, anew = true, anew || own.Run != "" || renew
				own.Run = r.nonce
			}
			if renew && (h.Kind != state.Wildcard || own.Bound) {
				own.Expires = p.Expires
			}
			parts = append(parts, own)
		}
	}
	if len(parts) == 0 {
		return true, nil
	}
	want := h
	want.Parts = slices.DeleteFunc(slices.Clone(h.Parts), func(p state.Part) bool { return withheld[p.Key] })
	if !missing {
		if took && known == nil {
			r.event(Claimed, string(want.Kind), "", want.Thing, "")
		}
		r.hold(&held{want: want, claim: claim, took: took, anew: anew})
		if r.opts.Check {
			r.event(Held, string(want.Kind), "", want.Thing, "by this lease")
		}
		return true, nil
	}
	return r.put(ctx, want, claim, parts, anew)
}

// put writes the parts, with those that the group holds already for another reason. With anew it has taken
// something that it did not hold.
func (r *run) put(ctx context.Context, want state.Hold, claim *state.Claim, parts []state.Part, anew bool) (bool, error) {
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
	if anew {
		if err := r.change(claimOf(plan.Claim, claim, claim.PartsOf(r.group), parts)); err != nil {
			return false, err
		}
	}
	if r.opts.DryRun == DryRunClient {
		r.hold(&held{want: want, claim: claim, took: true, anew: true})
		action := Claimed
		if r.opts.Check {
			action = Free
		}
		r.event(action, string(want.Kind), "", want.Thing, "")
		return true, nil
	}
	r.remember(want.Name(), claim)
	now, err := r.ledger.Put(ctx, claim, r.group, parts)
	if err != nil {
		if cluster.IsUnclear(err) {
			r.unclear[want.Name()] = &held{want: want, claim: claim, took: true}
		}
		return false, err
	}
	for _, p := range parts {
		if p.For != "" {
			continue
		}
		if own := now.Part(p.Key); now.Deleting || now.Owner != r.group.Owner || own == nil || own.Lease.Group() != r.group {
			return false, ledger.ErrAgain
		}
	}
	r.hold(&held{want: want, claim: now, took: true, anew: anew})
	if r.marking && !anew {
		r.wrote(nil)
		return true, nil
	}
	r.event(Claimed, string(want.Kind), "", want.Thing, "")
	return true, nil
}

// remember notes what the group has on a claim before the run's write, for a rollback: as it was read last
// without the run's own mark. What the lease had before that, and has given up since, is not brought back.
func (r *run) remember(name string, claim *state.Claim) {
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
func (r *run) evict(ctx context.Context, claim *state.Claim) error {
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

// giveUp ends a run that cannot have all: what it has made and taken goes back, and the lease has what
// it had. Where the server is away nothing can go back.
func (r *run) giveUp(ctx context.Context, why error) error {
	if cluster.IsAway(why) {
		return why
	}
	left := errors.Join(r.restoreAltered(ctx), r.retract(ctx))
	left = errors.Join(left, r.keepServed(ctx), r.rollback(ctx))
	if left != nil {
		return &HalfError{Lease: r.req.Lease, Why: why, Left: left}
	}
	return why
}

// rollback gives back what this run took; what the lease held before stays. It goes on when the
// run has been interrupted. The errors are of what could not be given back.
func (r *run) rollback(ctx context.Context) error {
	if r.opts.DryRun != "" {
		return nil
	}
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
		if !r.snapshot.serves(h.claim, r.group) {
			// What another run of the lease had marked goes too: either that run has ended without it,
			// or it finds out when it settles. To put its mark back could leave a claim to nobody.
			before = slices.DeleteFunc(slices.Clone(before), func(p state.Part) bool { return p.Run != "" })
		}
		left, err := r.giveBack(ctx, h, before)
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

// giveBack leaves of a claim what the group had written on it before. Where the run's mark has gone already
// the claim is given back as the run has left it: what somebody has written on since stays.
func (r *run) giveBack(ctx context.Context, h *held, before []state.Part) (left bool, err error) {
	if h.settled == nil {
		return r.ledger.Restore(ctx, h.want.Name(), r.group, r.nonce, before)
	}
	_, err = r.ledger.Shrink(ctx, h.settled, r.group, before)
	if errors.Is(err, ledger.ErrAgain) {
		return false, nil
	}
	return err == nil && len(before) == 0, err
}
