package turn

import (
	"context"
	"sync/atomic"

	"github.com/akash-net/kubectl-akash-net/lease/parallel"
)

// Look says whether what was read of something has become old.
type Look func(context.Context) (old bool, err error)

// looksAtATime is how many looks are taken side by side.
const looksAtATime = 8

// inTurnKey is the key under which a context of a turn says whether that had come when the context was made.
type inTurnKey struct{}

// Rests says that what the command does rests on something that was read in a context of the turn. Another command may
// begin and end between that and the first write, with nobody to wait for when the turn comes: then the look is taken, and
// where it finds anything old the writes fail with ErrAgain. So does Rests where the turn has come since the context was made.
// What is read once it has come is old by nobody.
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

// takeUp makes it the command's turn, once all looks have been taken, or one has found that what was read is old.
func (t *Turn) takeUp(ctx context.Context, old bool) error {
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
		if old, err = anyOld(ctx, looks); err != nil {
			return err
		}
		taken += len(looks)
	}
}

func anyOld(ctx context.Context, looks []Look) (bool, error) {
	var old atomic.Bool
	group, ctx := parallel.WithContext(ctx)
	group.SetLimit(looksAtATime)
	for _, look := range looks {
		group.Go(func() error {
			is, err := look(ctx)
			if is {
				old.Store(true)
			}
			return err
		})
	}
	err := group.Wait()
	return old.Load(), err
}
