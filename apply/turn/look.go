package turn

import (
	"context"
	"slices"
	"sync/atomic"

	"github.com/akash-net/kubectl-akash-net/lease/parallel"
	"github.com/akash-net/kubectl-akash-net/state"
)

// Look checks whether something that the command has read is out of date. claims are those of the owners of the turn's
// groups, as they are when the turn comes.
type Look func(ctx context.Context, claims []*state.Claim) (old bool, err error)

// looksAtATime bounds how many looks run concurrently.
const looksAtATime = 8

// inTurnKey is the context key that holds whether it was the command's turn when the context was made.
type inTurnKey struct{}

// Rests records that the command depends on something that it has read in a context of the turn. If it was not the
// command's turn yet, another command may have begun and ended between that read and the first write. So the look runs
// when the turn comes; if it finds anything out of date, the writes fail with ErrAgain. Rests itself fails with
// ErrAgain if the turn has come since the context was made.
func (t *Turn) Rests(ctx context.Context, look Look) (err error) {
	if inTurn, ok := ctx.Value(inTurnKey{}).(bool); inTurn || !ok {
		return nil
	}
	t.locked(func() {
		if t.open {
			err = ErrAgain
			return
		}
		t.rests = append(t.rests, look)
	})
	return err
}

// takeTurn begins the command's turn once all looks have run, or one has found something out of date.
func (t *Turn) takeTurn(ctx context.Context, claims []*state.Claim, old bool) error {
	for taken := 0; ; {
		var looks []Look
		t.locked(func() {
			if looks = t.rests[taken:]; old || len(looks) == 0 {
				looks, t.open = nil, true
			}
			if old {
				t.round++
			}
		})
		if len(looks) == 0 {
			return nil
		}
		var err error
		if old, err = anyOld(ctx, looks, claims); err != nil {
			return err
		}
		taken += len(looks)
	}
}

func anyOld(ctx context.Context, looks []Look, claims []*state.Claim) (bool, error) {
	var old atomic.Bool
	group, ctx := parallel.WithContext(ctx)
	group.SetLimit(looksAtATime)
	for _, look := range looks {
		group.Go(func() error {
			is, err := look(ctx, claims)
			if is {
				old.Store(true)
			}
			return err
		})
	}
	err := group.Wait()
	return old.Load(), err
}

// Owners returns the owners of the turn's groups, sorted.
func (t *Turn) Owners() (owners []string) {
	for _, g := range t.groups {
		owners = append(owners, g.Owner)
	}
	slices.Sort(owners)
	return slices.Compact(owners)
}
