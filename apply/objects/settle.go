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
	"github.com/akash-net/kubectl-akash-net/plan"
	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/protocol"
)

// Settle writes the final parts of the run's claims, after it has checked that each is still the claim that the run
// took, and the notes about withheld parts. The run's mark stays; it has no meaning once the command's announcement is
// gone.
func (r *Objects) Settle(ctx context.Context) error {
	err := r.SettleHolds(ctx)
	if _, ok := errors.AsType[*report.OvertakenError](err); ok {
		return err
	}
	if err = errors.Join(err, r.noteWaits(ctx)); err == nil {
		r.Closed = true
		r.Ledger.Ended(r.Nonce) // other runs of the command need not wait for this one
	}
	return err
}

// SettleHolds settles the claims. A run that was overtaken undoes its writes.
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

// noteWaits writes a note for each withheld part on the claim of the deployment that holds it, so that users see it,
// and a transfer knows the service and port. It writes only notes that are missing or have changed. A note that cannot be
// written is reported, and fails nothing.
func (r *Objects) noteWaits(ctx context.Context) error {
	for _, w := range r.Withheld {
		claim, fresh := r.Snapshot.Claim(w.Want.Name()), true
		err := r.Ledger.Until(ctx, func(ctx context.Context) (err error) {
			if !fresh {
				if claim, err = r.Ledger.Get(ctx, w.Want.Name()); err != nil {
					return err
				}
			}
			fresh = false
			entries := claim.Entries(r.Group)
			i := slices.IndexFunc(entries, func(p state.Part) bool { return p.Key == w.Note.Key })
			switch {
			case claim == nil || claim.Deleting || claim.Owner != r.Group.Owner || claim.Part(w.Note.For) == nil:
				return nil // the part is free now: the next apply takes it
			case i >= 0 && entries[i].Same(w.Note):
				return nil
			case i >= 0:
				entries[i] = w.Note
			case claim.Full(r.Group):
				return nil // no room for the note; an event has reported it
			default:
				entries = append(entries, w.Note)
			}
			_, err = r.Ledger.Put(ctx, claim, r.Group, entries)
			r.Wrote(err)
			return err
		})
		switch {
		case err != nil && (ctx.Err() != nil || command.CannotUndo(err)):
			return fmt.Errorf("%s %s: %w", w.Want.Kind, w.Want.Thing, err)
		case err != nil:
			r.Event(report.Left, string(w.Want.Kind), "", w.Want.Thing, "the note that this lease waits for it could not be written, and the next apply writes it: "+err.Error())
		}
	}
	return nil
}

// settleOne writes the final parts of one claim.
func (r *Objects) settleOne(ctx context.Context, h *claims.Held) error {
	claim := h.Claim
	// A claim that the run has not taken itself may have changed before the run's first write: read it again.
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

// final returns the parts that the group holds in the end: those of the request as requested, the others unchanged. It
// removes the marks of other runs from requested parts. ok is false if the group has lost a requested part.
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
			own.Bound, own.From, own.Held = was.Bound, was.From, was.Held
			if r.followed && !slices.Contains(r.Routeless[h.Want.Name()], own.Key) && !r.Successors.StaysFor(claim, was) {
				own.From = ""
			}
			if was.Expires == "" {
				own.Expires = "" // a part without expiry does not get one
			}
		}
		parts = append(parts, own)
	}
	return parts, true
}
