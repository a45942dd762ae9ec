package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/plan"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/protocol"
)

// settle ends the run's work on its claims: each is still the one that was taken, and its parts say what the
// definition says. The run's mark stays: it means nothing once the command's announcement is gone.
func (r *objects) settle(ctx context.Context) error {
	err := r.settleHolds(ctx)
	if _, ok := errors.AsType[*OvertakenError](err); ok {
		return err
	}
	if err = errors.Join(err, r.noteWaits(ctx)); err == nil {
		r.close()
	}
	return err
}

// close ends the run: it gives nothing back any more, and other runs of the command need not wait for it.
func (r *objects) close() {
	r.closed = true
	r.ledger.Ended(r.nonce)
}

// settleHolds settles the claims. A run that was overtaken takes back what it wrote.
func (r *objects) settleHolds(ctx context.Context) error {
	var errs []error
	for _, h := range r.sortedHolds() {
		err := r.settleOne(ctx, h)
		if _, ok := errors.AsType[*OvertakenError](err); ok {
			return r.giveUp(ctx, err)
		}
		if cannotUndo(err) {
			return err
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// noteWaits writes on the claims of other deployments of the owner what they withhold from this
// lease, so that people can see it and a transfer knows where it would lead. It is written where it
// is not there yet.
func (r *objects) noteWaits(ctx context.Context) error {
	for _, w := range r.withheld {
		claim := r.snapshot.claims[w.want.Name()]
		err := r.ledger.Retrying(ctx, func(ctx context.Context) (bool, error) {
			entries := claim.Entries(r.group)
			i := slices.IndexFunc(entries, func(p state.Part) bool { return p.Key == w.note.Key })
			switch {
			case claim == nil || claim.Deleting || claim.Owner != r.group.Owner || claim.Part(w.note.For) == nil:
				return true, nil // it is free now: the next apply takes it
			case i >= 0 && entries[i].Same(w.note):
				return true, nil
			case i >= 0:
				entries[i] = w.note
			case claim.Full(r.group):
				return true, nil // the run has told of it; the note has no room
			default:
				entries = append(entries, w.note)
			}
			_, err := r.ledger.Put(ctx, claim, r.group, entries)
			r.wrote(err)
			if done, err := ledger.Retry(err); done || err != nil {
				return done, err
			}
			claim, err = r.ledger.Get(ctx, w.want.Name())
			_, err = ledger.Retry(err)
			return false, err
		})
		if err != nil {
			return fmt.Errorf("%s %s: %w", w.want.Kind, w.want.Thing, err)
		}
	}
	return nil
}

func (r *objects) settleOne(ctx context.Context, h *held) error {
	claim := h.claim
	// A claim that was only relied on, by a run that has written something, is read once more.
	fresh := h.took || !r.changed
	err := r.ledger.Retrying(ctx, func(ctx context.Context) (bool, error) {
		if !fresh {
			var err error
			if claim, err = r.ledger.Get(ctx, h.want.Name()); err != nil {
				return ledger.Retry(err)
			}
		}
		fresh = false
		next, parts := protocol.Settle(claim, h.claim.UID, r.group, func(c *state.Claim) ([]state.Part, bool) { return r.final(h, c) })
		switch next {
		case protocol.Rest:
			return true, nil
		case protocol.Yield:
			return false, r.overtaken(h)
		}
		if err := r.changeClaim(plan.Claim, claim, parts); err != nil {
			return false, err
		}
		_, err := r.ledger.Put(ctx, claim, r.group, parts)
		r.wrote(err)
		return ledger.Retry(err)
	})
	if wait.Interrupted(err) && ctx.Err() == nil {
		return fmt.Errorf("%s %s: %w", h.want.Kind, h.want.Thing, ledger.ErrAgain)
	}
	return err
}

// final are the parts that the group is to hold in the end: those of the definition as it says,
// the others as they are. Of marks only the run's own stays. ok is false when a part has gone.
func (r *objects) final(h *held, claim *state.Claim) (parts []state.Part, ok bool) {
	for _, want := range h.want.Parts {
		own := claim.Part(want.Key)
		if own == nil || own.Lease.Group() != r.group {
			return nil, false
		}
	}
	for _, own := range claim.Entries(r.group) {
		i := slices.IndexFunc(h.want.Parts, func(p state.Part) bool { return p.Key == own.Key })
		if i >= 0 {
			was := own
			own = h.want.Parts[i]
			if was.Run == r.nonce {
				own.Run = r.nonce
			}
			own.Applied = r.appliedAs(h, was, own)
			if own.Bound, own.From = was.Bound, was.From; r.followed && !slices.Contains(r.routeless[h.want.Name()], own.Key) && !r.successors.staysFor(claim, was) {
				own.From = ""
			}
			if was.Expires == "" {
				own.Expires = "" // what is held for good does not become a hold
			}
		}
		parts = append(parts, own)
	}
	return parts, true
}
