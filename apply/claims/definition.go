package claims

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/apply/report"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/kept"
)

// The ledger keeps the definition that a lease was last applied with. A run writes it once its claims are taken,
// before it writes the first object: whoever finds that the run has crashed finishes its work by it. A release
// removes it before it removes anything else: what is being released is not to be healed.

// KeptDefinition is the definition that the ledger keeps for the lease, and what the run has done to it.
type KeptDefinition struct {
	*Claims
	// replaced is what was kept, nil for nothing; now is what the run has kept in its place, nil where it has removed that.
	// Both are nil where the run has changed nothing.
	replaced, now *kept.Definition
}

// Keep keeps the definition that the run applies, unless just that is kept. A run that has claimed anything anew
// writes it in any case: a release may have removed it since it was read.
func (r *KeptDefinition) Keep(ctx context.Context) error {
	if r.Def == nil || r.Options.Heal {
		return nil
	}
	there, err := r.there(ctx)
	if err != nil || there.Says(r.Def) && !r.claimedAnew() {
		return err
	}
	want, err := kept.New(r.Def, r.Nonce)
	if tooLong, ok := errors.AsType[*kept.TooLongError](err); ok {
		r.Event(report.Left, "definition", "", r.Request.Lease.String(), tooLong.Error()+": repair will not know it")
		r.replaced, err = r.Forget(ctx, there)
		return err
	}
	if err != nil {
		return err
	}
	return r.replace(ctx, there, want)
}

// there is the definition that was kept before the run. A lease that held nothing has hardly ever one: it is read
// only where the run has claimed nothing for it either.
func (r *KeptDefinition) there(ctx context.Context) (*kept.Definition, error) {
	if r.Snapshot.HoldersOnly && len(r.Snapshot.Held[r.Group]) == 0 && !r.claimedAnew() {
		return observed.ReadDefinition(ctx, r.Ledger, r.Group)
	}
	return r.Snapshot.Definitions[kept.Name(r.Group)], nil
}

// Rests makes what was read of the lease old where another command has applied another definition, or has
// released the lease, before the run's first write: it writes or deletes the definition that is kept. A lease that held
// nothing has none that was read; what is claimed for it is claimed anew.
func (r *KeptDefinition) Rests(ctx context.Context) error {
	if r.Options.Turn == nil || r.Snapshot.HoldersOnly && len(r.Snapshot.Held[r.Group]) == 0 {
		return nil
	}
	was := r.Snapshot.Definitions[kept.Name(r.Group)]
	return r.Options.Turn.Rests(ctx, func(ctx context.Context, _ []*state.Claim) (old bool, err error) {
		now, err := observed.ReadDefinition(ctx, r.Ledger, r.Group)
		return err == nil && !now.IsVersion(was), err
	})
}

// claimedAnew is true for a run that has claimed anything of which its lease held nothing.
func (r *KeptDefinition) claimedAnew() bool {
	for name, h := range r.Holds {
		if h.Took && len(r.Before[name]) == 0 {
			return true
		}
	}
	return false
}

// replace keeps a definition in the place of the one that was read. Where another run of the lease has written one
// meanwhile, the later one counts.
func (r *KeptDefinition) replace(ctx context.Context, there, want *kept.Definition) error {
	var now *kept.Definition
	err := observed.UntilKept(ctx, r.Ledger, r.Group, func(ctx context.Context) (err error) {
		if there != nil && there.Deleting {
			return nil // somebody holds it back with a finalizer; the next apply keeps the definition
		}
		if now, err = r.Ledger.Keep(ctx, want, r.Group, there); errors.Is(err, ledger.ErrAgain) {
			read, unread := r.Ledger.Definition(ctx, r.Group)
			if unread == nil && read.Same(want) { // the answer was lost
				now = read
				return nil
			}
			if unread == nil {
				there = read
			}
			return cmp.Or(unread, err)
		}
		return err
	})
	if err != nil || now == nil {
		return err
	}
	r.Wrote(nil)
	r.replaced, r.now = there, now
	return nil
}

// Forget removes the definition that is kept, as it was read or, where it has changed, as it is by now. It returns what
// it has certainly removed, nil for nothing.
func (r *KeptDefinition) Forget(ctx context.Context, there *kept.Definition) (*kept.Definition, error) {
	if there == nil {
		return nil, nil //nolint:nilnil // nothing is kept
	}
	err := observed.UntilKept(ctx, r.Ledger, r.Group, func(ctx context.Context) error {
		if there == nil || there.Deleting {
			there = nil
			return nil
		}
		err := r.Ledger.Forget(ctx, there)
		if errors.Is(err, ledger.ErrAgain) {
			now, unread := r.Ledger.Definition(ctx, r.Group)
			if unread == nil {
				there = now
			}
			return cmp.Or(unread, err)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	r.Wrote(nil)
	return there, nil
}

// Undo gives the ledger the definition back that it kept before the run. One that another run of the lease has
// written since stays.
func (r *KeptDefinition) Undo(ctx context.Context) error {
	before, now := r.replaced, r.now
	if r.replaced, r.now = nil, nil; before == nil && now == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()
	return observed.UntilKept(ctx, r.Ledger, r.Group, func(ctx context.Context) (err error) {
		if before == nil || before.Deleting {
			err = r.Ledger.Forget(ctx, now)
		} else {
			_, err = r.Ledger.Keep(ctx, before, r.Group, now)
		}
		if !errors.Is(err, ledger.ErrAgain) {
			return err
		}
		there, unread := r.Ledger.Definition(ctx, r.Group)
		if unread == nil && !there.Same(now) {
			return nil
		}
		if unread == nil {
			now = there
		}
		return cmp.Or(unread, err)
	})
}
