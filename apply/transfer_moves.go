package apply

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/akash-net/kubectl-akash-net/apply/claims"
	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/state"
)

// moveAll takes the claims over in the global order of claims. If one fails, it gives the others back.
func (r *transfer) moveAll(ctx context.Context, moves []*move) error {
	for _, m := range moves {
		if err := r.moveOne(ctx, m); err != nil {
			return r.moveAllBack(ctx, moves, err)
		}
	}
	return nil
}

// moveAllBack gives the claims back to their former holders, in reverse order.
func (r *transfer) moveAllBack(ctx context.Context, moves []*move, why error) error {
	if command.CannotUndo(why) {
		return why
	}
	if err := r.Options.Turn.Undo(ctx); err != nil {
		return errors.Join(why, err)
	}
	var left []error
	for _, m := range slices.Backward(moves) {
		if m.done {
			left = append(left, r.moveBack(context.WithoutCancel(ctx), m))
		}
	}
	if err := errors.Join(left...); err != nil {
		return &report.HalfError{Lease: r.Request.Lease, Why: why, Left: err}
	}
	r.Closed = true
	return why
}

// confirmMoves checks the wildcards of the claims that were taken over: a run that has not ended may have left a host
// that was not compared with the wildcard above it, or a pending wildcard.
func (r *transfer) confirmMoves(ctx context.Context, moves []*move) error {
	r.holdMoved(moves)
	err := r.CheckWildcards(ctx)
	for _, m := range moves {
		m.claim = r.Holds[m.claim.Name()].Claim
	}
	if err != nil {
		return r.moveAllBack(ctx, moves, err)
	}
	return nil
}

// holdMoved adds the moved claims to those that the run relies on.
func (r *transfer) holdMoved(moves []*move) {
	for _, m := range moves {
		want := state.Hold{Kind: m.claim.Kind, Thing: m.claim.Thing, SharingKey: m.claim.SharingKey, Parts: settled(m.claim.PartsOf(r.Group))}
		r.Hold(&claims.Held{Want: want, Claim: m.claim, Took: true, Anew: true})
	}
}

// moveOne takes one claim over. After a lost race or an unclear answer it reads the claim again and decides anew.
func (r *transfer) moveOne(ctx context.Context, m *move) error {
	kind, thing := m.claim.Kind, m.claim.Thing
	err := r.Ledger.Until(ctx, func(ctx context.Context) error {
		if len(m.new) == 0 || m.taken {
			return nil // the lease holds it already, or nobody does any more
		}
		claim, err := r.Ledger.Seize(ctx, m.claim, r.Group, withEntries(m.new, m.claim.Entries(r.Group)))
		switch {
		case err == nil:
			m.claim, m.taken = claim, true
		case errors.Is(err, ledger.ErrAgain):
			return cmp.Or(r.planAgain(ctx, m), err)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("%s %s could not be transferred: %w", kind, thing, err)
	}
	if !m.taken {
		if !m.gone {
			r.Event(report.Left, string(kind), "", thing, "the lease holds it already")
		}
		return nil
	}
	m.done = len(m.from) > 0
	if m.done {
		r.Event(report.Transferred, string(kind), "", thing, "from "+groupsText(m.from))
	} else if m.from, err = r.Ledger.FormerHolders(ctx, m.claim); err != nil {
		return err
	}
	return r.disown(ctx, m)
}

// planAgain reads a claim again and decides anew. It skips a claim that is gone, like a thing that nobody ever held.
func (r *transfer) planAgain(ctx context.Context, m *move) error {
	now, err := r.Ledger.Get(ctx, m.claim.Name())
	if err != nil {
		_, err = ledger.Retry(err)
		return err
	}
	if now == nil || now.Deleting {
		r.Event(report.Left, string(m.claim.Kind), "", m.claim.Thing, "nobody holds it any more")
		m.new, m.gone = nil, true
		return nil
	}
	if r.holdsAll(now, m.new) { // the write took effect, but its answer was lost
		m.claim, m.taken = now, true
		return nil
	}
	again, held := r.planMove(now)
	if held != nil {
		return &report.HeldError{Lease: r.Request.Lease, Held: []report.HeldThing{*held}}
	}
	if err := r.checkAnnounced(again); err != nil {
		return err
	}
	*m = *again
	return nil
}

// withEntries returns parts and those entries that are for other keys.
func withEntries(parts, entries []state.Part) []state.Part {
	parts = slices.Clone(parts)
	for _, own := range entries {
		if !slices.ContainsFunc(parts, func(p state.Part) bool { return p.Key == own.Key || p.Key == own.For }) {
			parts = append(parts, own)
		}
	}
	return parts
}

// holdsAll reports whether the claim has all the parts, with this run's mark.
func (r *transfer) holdsAll(claim *state.Claim, parts []state.Part) bool {
	return claim != nil && !slices.ContainsFunc(parts, func(p state.Part) bool {
		own := claim.Part(p.Key)
		return own == nil || own.Run != r.Nonce
	})
}

// disown removes the old holders from the claim's field managers, except for what they still hold. Otherwise their
// managers would keep the claim's shared fields.
func (r *transfer) disown(ctx context.Context, m *move) error {
	for _, g := range m.from {
		gone, err := r.rewrite(ctx, m, func(ctx context.Context) (*state.Claim, error) {
			if keep := m.claim.Entries(g); len(keep) > 0 {
				return r.Ledger.Put(ctx, m.claim, g, keep)
			}
			return r.Ledger.Withdraw(ctx, m.claim, g)
		})
		if gone {
			err = r.Overtaken(&claims.Held{Want: state.Hold{Kind: m.claim.Kind, Thing: m.claim.Thing}})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// rewrite sends a write of a move's claim. After a lost race or an unclear answer it reads the claim and sends the write
// again. gone is true if there is no claim any more.
func (r *transfer) rewrite(
	ctx context.Context, m *move, write func(context.Context) (*state.Claim, error),
) (gone bool, err error) {
	err = r.Ledger.Retrying(ctx, func(ctx context.Context) (bool, error) {
		claim, err := write(ctx)
		if errors.Is(err, ledger.ErrAgain) {
			claim, err = r.Ledger.Get(ctx, m.claim.Name())
			if gone = claim == nil && err == nil; claim != nil {
				m.claim = claim
			}
			_, err = ledger.Retry(err)
			return gone, err
		}
		if err == nil {
			m.claim = claim
		}
		return err == nil, err
	})
	return gone, err
}

// moveBack gives the parts that still carry the run's mark back to their former holders.
func (r *transfer) moveBack(ctx context.Context, m *move) error {
	for _, g := range m.from {
		_, err := r.rewrite(ctx, m, func(ctx context.Context) (*state.Claim, error) {
			parts := slices.DeleteFunc(slices.Clone(m.old), func(p state.Part) bool {
				own := m.claim.Part(p.Key)
				return p.Lease.Group() != g || own == nil || own.Run != r.Nonce
			})
			if len(parts) == 0 {
				return m.claim, nil
			}
			return r.Ledger.Seize(ctx, m.claim, g, withEntries(parts, m.claim.Entries(g)))
		})
		if err != nil {
			return fmt.Errorf("%s %s could not be handed back: %w", m.claim.Kind, m.claim.Thing, err)
		}
	}
	m.from = []lease.Group{r.Group}
	r.Event(report.Transferred, string(m.claim.Kind), "", m.claim.Thing, "back")
	return r.disown(ctx, m)
}

// groupsText joins groups by commas.
func groupsText(groups []lease.Group) string {
	texts := make([]string, len(groups))
	for i, g := range groups {
		texts[i] = g.String()
	}
	return strings.Join(texts, ", ")
}
