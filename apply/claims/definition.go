package claims

import (
	"context"
	"errors"

	"github.com/akash-net/kubectl-akash-net/apply/executor"
	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/kept"
)

// The ledger keeps the definition with which a lease was last applied. A run writes it after it has taken its claims
// and before it writes the first object, so that repair can finish the work of a crashed run. A release deletes it
// first, so that nothing heals a lease that is being released.

// KeptDefinition writes and restores the definition that the ledger keeps for the lease.
type KeptDefinition struct {
	*Claims
	// replaced is the former definition, nil if there was none; now is the one that the run has written, nil if it has
	// deleted the former one. Both are nil if the run has changed nothing.
	replaced, now *kept.Definition
}

// Keep writes the definition that the run applies, unless the ledger keeps the same one. A run that has claimed
// anything anew always writes it, because a release may have deleted it since it was read.
func (r *KeptDefinition) Keep(ctx context.Context) error {
	if r.Def == nil || r.Options.Heal {
		return nil
	}
	old, err := r.former(ctx)
	if err != nil || old.Says(r.Def) && !r.claimedAnew() {
		return err
	}
	want, err := kept.New(r.Def, r.Nonce)
	if tooLong, ok := errors.AsType[*kept.TooLongError](err); ok {
		r.Event(report.Left, "definition", "", r.Request.Lease.String(), tooLong.Error()+": repair will not know it")
		r.replaced, err = r.Forget(ctx, old)
		return err
	}
	if err != nil {
		return err
	}
	return r.replace(ctx, old, want)
}

// former returns the definition that the ledger kept before the run. The snapshot does not have it for a lease that
// held nothing; such a lease rarely has one, so it is read only if the run has claimed nothing either.
func (r *KeptDefinition) former(ctx context.Context) (*kept.Definition, error) {
	if r.Snapshot.HoldersOnly && len(r.Snapshot.Held[r.Group]) == 0 && !r.claimedAnew() {
		return observed.ReadDefinition(ctx, r.Ledger, r.Group)
	}
	return r.Snapshot.Definitions[kept.Name(r.Group)], nil
}

// Rests registers a check for the run's first write: the snapshot is stale if the ledger keeps another definition by
// then, because another command has applied or released the lease. A lease that held nothing needs no check; it claims
// everything anew.
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

// claimedAnew reports whether the run has taken a claim on which its lease had no entry.
func (r *KeptDefinition) claimedAnew() bool {
	for name, h := range r.Holds {
		if h.Took && len(r.Before[name]) == 0 {
			return true
		}
	}
	return false
}

// replace writes a definition over the one that was read, or over one that another run of the lease has written since.
func (r *KeptDefinition) replace(ctx context.Context, old, want *kept.Definition) error {
	var now *kept.Definition
	err := observed.UntilKept(ctx, r.Ledger, r.Group, func(ctx context.Context) (err error) {
		if old != nil && old.Deleting {
			return nil // a finalizer delays the deletion; the next apply writes the definition
		}
		if now, err = r.Ledger.Keep(ctx, want, r.Group, old); errors.Is(err, ledger.ErrAgain) {
			read, unread := r.Ledger.Definition(ctx, r.Group)
			switch {
			case unread != nil:
				return unread
			case read.Same(want): // the answer was lost
				now = read
				return nil
			}
			old = read
		}
		return err
	})
	if err != nil || now == nil {
		return err
	}
	r.Wrote(nil)
	r.replaced, r.now = old, now
	return nil
}

// Forget deletes the kept definition, old if it is unchanged or else the current one. It returns the definition that it
// has deleted, nil if there was none.
func (r *KeptDefinition) Forget(ctx context.Context, old *kept.Definition) (*kept.Definition, error) {
	if old == nil {
		return nil, nil //nolint:nilnil // nothing is kept
	}
	err := observed.UntilKept(ctx, r.Ledger, r.Group, func(ctx context.Context) error {
		if old == nil || old.Deleting {
			old = nil
			return nil
		}
		err := r.Ledger.Forget(ctx, old)
		if errors.Is(err, ledger.ErrAgain) {
			now, unread := r.Ledger.Definition(ctx, r.Group)
			if unread != nil {
				return unread
			}
			old = now
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	r.Wrote(nil)
	return old, nil
}

// Undo restores the definition that the ledger kept before the run, unless another run of the lease has written one
// since.
func (r *KeptDefinition) Undo(ctx context.Context) error {
	before, now := r.replaced, r.now
	if r.replaced, r.now = nil, nil; before == nil && now == nil {
		return nil
	}
	ctx, cancel := executor.UndoContext(ctx)
	defer cancel()
	err := observed.UntilKept(ctx, r.Ledger, r.Group, func(ctx context.Context) (err error) {
		if before == nil || before.Deleting {
			err = r.Ledger.Forget(ctx, now)
		} else {
			_, err = r.Ledger.Keep(ctx, before, r.Group, now)
		}
		if !errors.Is(err, ledger.ErrAgain) {
			return err
		}
		current, unread := r.Ledger.Definition(ctx, r.Group)
		if unread != nil || !current.Same(now) {
			return unread
		}
		now = current
		return err
	})
	return executor.UndoError(ctx, err)
}
