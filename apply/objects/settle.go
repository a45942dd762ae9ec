package objects

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/akash-net/kubectl-akash-net/apply/claims"
	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/apply/report"
	"github.com/akash-net/kubectl-akash-net/plan"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/protocol"
)

// Settle ends the run's work on its claims: each is still the one that was taken, and its parts say what the
// definition says. The run's mark stays: it means nothing once the command's announcement is gone.
func (r *Objects) Settle(ctx context.Context) error {
	err := r.SettleHolds(ctx)
	if _, ok := errors.AsType[*report.OvertakenError](err); ok {
		return err
	}
	if err = errors.Join(err, r.noteWaits(ctx)); err == nil {
		r.close()
	}
	return err
}

// close ends the run: it gives nothing back any more, and other runs of the command need not wait for it.
func (r *Objects) close() {
	r.Closed = true
	r.Ledger.Ended(r.Nonce)
}

// SettleHolds settles the claims. A run that was overtaken takes back what it wrote.
func (r *Objects) SettleHolds(ctx context.Context) error {
	var errs []error
	for _, h := range r.SortedHolds() {
		err := r.settleOne(ctx, h)
		if _, ok := errors.AsType[*report.OvertakenError](err); ok {
			return r.GiveUp(ctx, err)
		}
		if command.CannotUndo(err) {
			return err
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// noteWaits writes on the claims of other deployments of the owner what they withhold from this
// lease, so that people can see it and a transfer knows where it would lead. It is written where it
// is not there yet.
func (r *Objects) noteWaits(ctx context.Context) error {
	for _, w := range r.Withheld {
		claim, fresh := r.Snapshot.Claims[w.Want.Name()], !r.Late
		err := r.Ledger.Retrying(ctx, func(ctx context.Context) (_ bool, err error) {
			if !fresh {
				if claim, err = r.Ledger.Get(ctx, w.Want.Name()); err != nil {
					return ledger.Retry(err)
				}
			}
			fresh = false
			entries := claim.Entries(r.Group)
			i := slices.IndexFunc(entries, func(p state.Part) bool { return p.Key == w.Note.Key })
			switch {
			case claim == nil || claim.Deleting || claim.Owner != r.Group.Owner || claim.Part(w.Note.For) == nil:
				return true, nil // it is free now: the next apply takes it
			case i >= 0 && entries[i].Same(w.Note):
				return true, nil
			case i >= 0:
				entries[i] = w.Note
			case claim.Full(r.Group):
				return true, nil // the run has told of it; the note has no room
			default:
				entries = append(entries, w.Note)
			}
			_, err = r.Ledger.Put(ctx, claim, r.Group, entries)
			r.Wrote(err)
			return ledger.Retry(err)
		})
		if err != nil {
			return fmt.Errorf("%s %s: %w", w.Want.Kind, w.Want.Thing, err)
		}
	}
	return nil
}

func (r *Objects) settleOne(ctx context.Context, h *claims.Held) error {
	claim := h.Claim
	// A claim that was only relied on, by a run that has written something, is read once more.
	fresh := h.Took || !r.Changed()
	err := r.Ledger.Retrying(ctx, func(ctx context.Context) (bool, error) {
		if !fresh {
			var err error
			if claim, err = r.Ledger.Get(ctx, h.Want.Name()); err != nil {
				return ledger.Retry(err)
			}
		}
		fresh = false
		next, parts := protocol.Settle(claim, h.Claim.UID, r.Group, func(c *state.Claim) ([]state.Part, bool) { return r.final(h, c) })
		switch next {
		case protocol.Rest:
			return true, nil
		case protocol.Yield:
			return false, r.Overtaken(h)
		}
		if err := r.ChangeClaim(plan.Claim, claim, parts); err != nil {
			return false, err
		}
		_, err := r.Ledger.Put(ctx, claim, r.Group, parts)
		r.Wrote(err)
		return ledger.Retry(err)
	})
	if wait.Interrupted(err) && ctx.Err() == nil {
		return fmt.Errorf("%s %s: %w", h.Want.Kind, h.Want.Thing, ledger.ErrAgain)
	}
	return err
}

// final are the parts that the group is to hold in the end: those of the definition as it says,
// the others as they are. Of marks only the run's own stays. ok is false when a part has gone.
func (r *Objects) final(h *claims.Held, claim *state.Claim) (parts []state.Part, ok bool) {
	for _, want := range h.Want.Parts {
		own := claim.Part(want.Key)
		if own == nil || own.Lease.Group() != r.Group {
			return nil, false
		}
	}
	for _, own := range claim.Entries(r.Group) {
		i := slices.IndexFunc(h.Want.Parts, func(p state.Part) bool { return p.Key == own.Key })
		if i >= 0 {
			was := own
			own = h.Want.Parts[i]
			if was.Run == r.Nonce {
				own.Run = r.Nonce
			}
			own.Applied = r.AppliedAs(h, was, own)
			if own.Bound, own.From = was.Bound, was.From; r.followed && !slices.Contains(r.Routeless[h.Want.Name()], own.Key) && !r.Successors.StaysFor(claim, was) {
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
