package apply

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/state/kept"
)

// The ledger keeps the definition that a lease was last applied with. A run writes it once its claims are taken,
// before it writes the first object: whoever finds that the run has crashed finishes its work by it. A release
// removes it before it removes anything else: what is being released is not to be healed.

// keptDefinition is the definition that the ledger keeps for the lease, and what the run has done to it.
type keptDefinition struct {
	*claims
	// replaced is what was kept, nil for nothing; now is what the run has kept in its place, nil where it has removed that.
	// Both are nil where the run has changed nothing.
	replaced, now *kept.Definition
}

// keep keeps the definition that the run applies, unless just that is kept. A run that has claimed anything anew
// writes it in any case: a release may have removed it since it was read.
func (r *keptDefinition) keep(ctx context.Context) error {
	if r.def == nil || r.opts.heal {
		return nil
	}
	there, err := r.there(ctx)
	if err != nil || there.Says(r.def) && !r.claimedAnew() {
		return err
	}
	want, err := kept.New(r.def, r.nonce)
	if tooLong, ok := errors.AsType[*kept.TooLongError](err); ok {
		r.event(Left, "definition", "", r.req.Lease.String(), tooLong.Error()+": repair will not know it")
		r.replaced, err = r.forget(ctx, there)
		return err
	}
	if err != nil {
		return err
	}
	return r.replace(ctx, there, want)
}

// there is the definition that was kept before the run. A lease that held nothing has hardly ever one: it is read
// only where the run has claimed nothing for it either.
func (r *keptDefinition) there(ctx context.Context) (*kept.Definition, error) {
	if r.snapshot.holdersOnly && len(r.snapshot.held[r.group]) == 0 && !r.claimedAnew() {
		return readDefinition(ctx, r.ledger, r.group)
	}
	return r.snapshot.definitions[kept.Name(r.group)], nil
}

// rests makes what was read of the lease old where another command has applied another definition, or has
// released the lease, before the run's first write: it writes or deletes the definition that is kept. A lease that held
// nothing has none that was read; what is claimed for it is claimed anew.
func (r *keptDefinition) rests(ctx context.Context) error {
	if r.opts.turn == nil || r.snapshot.holdersOnly && len(r.snapshot.held[r.group]) == 0 {
		return nil
	}
	was := r.snapshot.definitions[kept.Name(r.group)]
	return r.opts.turn.Rests(ctx, func(ctx context.Context) (old bool, err error) {
		now, err := readDefinition(ctx, r.ledger, r.group)
		return err == nil && !now.IsVersion(was), err
	})
}

// claimedAnew is true for a run that has claimed anything of which its lease held nothing.
func (r *keptDefinition) claimedAnew() bool {
	for name, h := range r.holds {
		if h.took && len(r.before[name]) == 0 {
			return true
		}
	}
	return false
}

// replace keeps a definition in the place of the one that was read. Where another run of the lease has written one
// meanwhile, the later one counts.
func (r *keptDefinition) replace(ctx context.Context, there, want *kept.Definition) error {
	var now *kept.Definition
	err := untilKept(ctx, r.ledger, r.group, func(ctx context.Context) (err error) {
		if there != nil && there.Deleting {
			return nil // somebody holds it back with a finalizer; the next apply keeps the definition
		}
		if now, err = r.ledger.Keep(ctx, want, r.group, there); errors.Is(err, ledger.ErrAgain) {
			read, unread := r.ledger.Definition(ctx, r.group)
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
	r.wrote(nil)
	r.replaced, r.now = there, now
	return nil
}

// forget removes the definition that is kept, as it was read or, where it has changed, as it is by now. It returns what
// it has certainly removed, nil for nothing.
func (r *keptDefinition) forget(ctx context.Context, there *kept.Definition) (*kept.Definition, error) {
	if there == nil {
		return nil, nil //nolint:nilnil // nothing is kept
	}
	err := untilKept(ctx, r.ledger, r.group, func(ctx context.Context) error {
		if there == nil || there.Deleting {
			there = nil
			return nil
		}
		err := r.ledger.Forget(ctx, there)
		if errors.Is(err, ledger.ErrAgain) {
			now, unread := r.ledger.Definition(ctx, r.group)
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
	r.wrote(nil)
	return there, nil
}

// undo gives the ledger the definition back that it kept before the run. One that another run of the lease has
// written since stays.
func (r *keptDefinition) undo(ctx context.Context) error {
	before, now := r.replaced, r.now
	if r.replaced, r.now = nil, nil; before == nil && now == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()
	return untilKept(ctx, r.ledger, r.group, func(ctx context.Context) (err error) {
		if before == nil || before.Deleting {
			err = r.ledger.Forget(ctx, now)
		} else {
			_, err = r.ledger.Keep(ctx, before, r.group, now)
		}
		if !errors.Is(err, ledger.ErrAgain) {
			return err
		}
		there, unread := r.ledger.Definition(ctx, r.group)
		if unread == nil && !there.Same(now) {
			return nil
		}
		if unread == nil {
			now = there
		}
		return cmp.Or(unread, err)
	})
}
