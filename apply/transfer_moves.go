package apply

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/akash-net/kubectl-akash-net/apply/claims"
	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/apply/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
)

// moveAll takes the claims over in the one order in which claims are taken; if one cannot be had,
// those that were are handed back.
func (r *transfer) moveAll(ctx context.Context, moves []*move) error {
	for _, m := range moves {
		if err := r.moveOne(ctx, m); err != nil {
			return r.moveAllBack(ctx, moves, err)
		}
	}
	return nil
}

// moveAllBack gives the claims that were taken over back to those who held them, the last one first.
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

// confirmMoves relies on what was taken over. A run that has not ended may have left a host that nobody
// has compared with the wildcard above it, or a wildcard that is pending: this run does what that
// one did not.
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

// holdMoved makes the run rely on the claims that it has moved.
func (r *transfer) holdMoved(moves []*move) {
	for _, m := range moves {
		want := state.Hold{Kind: m.claim.Kind, Thing: m.claim.Thing, SharingKey: m.claim.SharingKey, Parts: settled(m.claim.PartsOf(r.Group))}
		r.Hold(&claims.Held{Want: want, Claim: m.claim, Took: true, Anew: true})
	}
}

// moveOne takes one claim over. Where a write loses a race, or gets no answer, the claim is read again
// and decided on anew.
func (r *transfer) moveOne(ctx context.Context, m *move) error {
	kind, thing := m.claim.Kind, m.claim.Thing
	var why error
	err := r.Ledger.Retrying(ctx, func(ctx context.Context) (bool, error) {
		if len(m.new) == 0 || m.taken {
			return true, nil // it is the lease's already, or nobody's any more
		}
		var claim *state.Claim
		if claim, why = r.Ledger.Seize(ctx, m.claim, r.Group, withEntries(m.new, m.claim.Entries(r.Group))); why == nil {
			m.claim, m.taken = claim, true
			return true, nil
		}
		if _, err := ledger.Retry(why); err != nil {
			return false, err
		}
		return false, r.moveAnew(ctx, m)
	})
	if wait.Interrupted(err) && ctx.Err() == nil {
		err = cmp.Or(why, err)
	}
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

// moveAnew reads a claim again and decides anew. One that has gone meanwhile is left out, as one that
// nobody ever held.
func (r *transfer) moveAnew(ctx context.Context, m *move) error {
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
	if r.holdsAll(now, m.new) { // the write has taken effect although no answer came
		m.claim, m.taken = now, true
		return nil
	}
	again, held := r.move(now)
	if held != nil {
		return &report.HeldError{Lease: r.Request.Lease, Held: []report.HeldThing{*held}}
	}
	if err := r.announced(again); err != nil {
		return err
	}
	*m = *again
	return nil
}

// withEntries are parts, with those of the entries that are not for the same thing.
func withEntries(parts, entries []state.Part) []state.Part {
	parts = slices.Clone(parts)
	for _, own := range entries {
		if !slices.ContainsFunc(parts, func(p state.Part) bool { return p.Key == own.Key || p.Key == own.For }) {
			parts = append(parts, own)
		}
	}
	return parts
}

func (r *transfer) holdsAll(claim *state.Claim, parts []state.Part) bool {
	return claim != nil && !slices.ContainsFunc(parts, func(p state.Part) bool {
		own := claim.Part(p.Key)
		return own == nil || own.Run != r.Nonce
	})
}

// disown makes the old holders own no field of what they no longer hold. Their managers would
// otherwise keep the claim's shared fields alive.
func (r *transfer) disown(ctx context.Context, m *move) error {
	for _, g := range m.from {
		err := r.Ledger.Retrying(ctx, func(ctx context.Context) (bool, error) {
			keep := m.claim.Entries(g)
			var claim *state.Claim
			var err error
			if len(keep) > 0 {
				claim, err = r.Ledger.Put(ctx, m.claim, g, keep)
			} else {
				claim, err = r.Ledger.Withdraw(ctx, m.claim, g)
			}
			if err == nil {
				m.claim = claim
				return true, nil
			}
			if done, err := ledger.Retry(err); done || err != nil {
				return done, err
			}
			if claim, err = r.Ledger.Get(ctx, m.claim.Name()); err == nil && claim == nil {
				return false, r.Overtaken(&claims.Held{Want: state.Hold{Kind: m.claim.Kind, Thing: m.claim.Thing}})
			}
			if claim != nil {
				m.claim = claim
			}
			_, err = ledger.Retry(err)
			return false, err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// moveBack gives a claim back to those who held it: what still carries the run's mark.
func (r *transfer) moveBack(ctx context.Context, m *move) error {
	for _, g := range m.from {
		err := r.Ledger.Retrying(ctx, func(ctx context.Context) (bool, error) {
			parts := slices.DeleteFunc(slices.Clone(m.old), func(p state.Part) bool {
				own := m.claim.Part(p.Key)
				return p.Lease.Group() != g || own == nil || own.Run != r.Nonce
			})
			if len(parts) == 0 {
				return true, nil
			}
			claim, err := r.Ledger.Seize(ctx, m.claim, g, withEntries(parts, m.claim.Entries(g)))
			if err == nil {
				m.claim = claim
				return true, nil
			}
			if _, err := ledger.Retry(err); err != nil {
				return false, err
			}
			if claim, err = r.Ledger.Get(ctx, m.claim.Name()); claim != nil {
				m.claim = claim
			}
			done, err := ledger.Retry(err)
			return done && claim == nil, err
		})
		if err != nil {
			return fmt.Errorf("%s %s could not be handed back: %w", m.claim.Kind, m.claim.Thing, err)
		}
	}
	m.from = []lease.Group{r.Group}
	r.Event(report.Transferred, string(m.claim.Kind), "", m.claim.Thing, "back")
	return r.disown(ctx, m)
}

func groupsText(groups []lease.Group) string {
	texts := make([]string, len(groups))
	for i, g := range groups {
		texts[i] = g.String()
	}
	return strings.Join(texts, ", ")
}
