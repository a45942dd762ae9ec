package turn

import (
	"context"
	"time"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/report"
)

// asksEvery is how old the last look at the own announcement may be when a write is sent. So who was taken for crashed
// soon writes nothing more, though it renews its announcement less often.
const asksEvery = time.Second

// enter admits an attempt of a write that depends on what was read in the turn, or before it, or anew since. It returns until when the
// announcement is valid: others may take the command for crashed then.
func (t *Turn) enter(ctx context.Context, inTurn, anew bool) (until time.Time, err error) {
	var open, old bool
	var lost error
	t.locked(func() { open, lost = t.open, t.lost })
	if !open && lost == nil {
		if _, err := t.begin(ctx); err != nil {
			return until, err
		}
	}
	if err := t.stillWrites(ctx, anew); err != nil {
		return until, err
	}
	t.locked(func() {
		old, lost = t.met && !inTurn, t.lost
		if t.own != nil {
			until = t.renewed.Add(t.opts.Lasts)
		}
	})
	if lost == nil && old {
		lost = report.ErrChanged
	}
	return until, lost
}

// stillWrites asks whether the command may still write, if that is in doubt: others may have taken it for crashed, or
// write for its groups.
func (t *Turn) stillWrites(ctx context.Context, anew bool) error {
	began := time.Now()
	doubt := func() (renew, look bool) {
		t.locked(func() {
			if t.own == nil || t.lost != nil {
				return
			}
			renew = t.isDoubtful()
			look = anew && !t.confirmed.After(began) || time.Since(t.confirmed) >= asksEvery
		})
		return renew, look
	}
	if renew, look := doubt(); !renew && !look {
		return nil
	}
	if err := t.asking.Acquire(ctx, 1); err != nil {
		return err
	}
	defer t.asking.Release(1)
	switch renew, look := doubt(); {
	case renew:
		return t.renew(ctx)
	case look:
		return t.Confirm(cluster.Apart(ctx))
	}
	return nil
}
