package apply

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/parallel"
	"github.com/akash-net/kubectl-akash-net/state/kept"
)

// The ledger keeps the definition that a lease was last applied with. A run writes it once its claims are taken,
// before it writes the first object: whoever finds that the run has crashed finishes its work by it. A release
// removes it before it removes anything else: what is being released is not to be healed.

// fewDefinitions is how many kept definitions are read one by one rather than by one LIST.
const fewDefinitions = 16

// readDefinitions reads the definitions that are kept for deployment groups, by the names of their objects.
func readDefinitions(ctx context.Context, l ledger.Ledger, groups []lease.Group) (map[string]*kept.Definition, error) {
	found := map[string]*kept.Definition{}
	if len(groups) > fewDefinitions {
		names, owner := map[string]bool{}, groups[0].Owner
		for _, g := range groups {
			names[kept.Name(g)] = true
			if g.Owner != owner {
				owner = "" // of all
			}
		}
		return listDefinitions(ctx, l, owner, func(name string) bool { return names[name] })
	}
	read := make([]*kept.Definition, len(groups))
	work, ctx := parallel.WithContext(ctx)
	for i, g := range groups {
		work.Go(func() (err error) {
			read[i], err = readDefinition(ctx, l, g)
			return err
		})
	}
	err := work.Wait()
	for _, d := range read {
		if d != nil {
			found[d.Name] = d
		}
	}
	return found, err
}

// readDefinition reads the definition that is kept for a deployment group, and again where the answer does not tell; it is
// nil where there is none.
func readDefinition(ctx context.Context, l ledger.Ledger, g lease.Group) (d *kept.Definition, err error) {
	err = untilKept(ctx, l, g, func(ctx context.Context) (err error) {
		d, err = l.Definition(ctx, g)
		return err
	})
	return d, err
}

func listDefinitions(ctx context.Context, l ledger.Ledger, owner string, want func(name string) bool) (map[string]*kept.Definition, error) {
	found := map[string]*kept.Definition{}
	list, err := l.Definitions(ctx, owner, want)
	for _, d := range list {
		found[d.Name] = d
	}
	return found, err
}

// keeping is what a run has done to the definition that is kept for its lease.
type keeping struct {
	// before is what was kept, nil for nothing; now is what the run has kept in its place, nil where it has removed that.
	before, now *kept.Definition
}

// keep keeps the definition that the run applies, unless just that is kept. A run that has claimed anything anew
// writes it in any case: a release may have removed it since it was read.
func (r *run) keep(ctx context.Context) error {
	if r.def == nil || r.opts.heal {
		return nil
	}
	there, err := r.keptBefore(ctx)
	if err != nil || there.Says(r.def) && !r.claimedAnew() {
		return err
	}
	want, err := kept.New(r.def, r.nonce)
	if tooLong, ok := errors.AsType[*kept.TooLongError](err); ok {
		r.event(Left, "definition", "", r.req.Lease.String(), tooLong.Error()+": repair will not know it")
		r.keeping.before, err = r.forget(ctx, there)
		return err
	}
	if err != nil {
		return err
	}
	r.keeping, err = r.replace(ctx, there, want)
	return err
}

// keptBefore is the definition that was kept before the run. A lease that held nothing has hardly ever one: it is read
// only where the run has claimed nothing for it either.
func (r *run) keptBefore(ctx context.Context) (*kept.Definition, error) {
	if r.snapshot.holdersOnly && len(r.snapshot.held[r.group]) == 0 && !r.claimedAnew() {
		return readDefinition(ctx, r.ledger, r.group)
	}
	return r.snapshot.definitions[kept.Name(r.group)], nil
}

// restsOnDefinition makes what was read of the lease old where another command has applied another definition, or has
// released the lease, before the run's first write: it writes or deletes the definition that is kept. A lease that held
// nothing has none that was read; what is claimed for it is claimed anew.
func (r *run) restsOnDefinition(ctx context.Context) error {
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
func (r *run) claimedAnew() bool {
	for name, h := range r.holds {
		if h.took && len(r.before[name]) == 0 {
			return true
		}
	}
	return false
}

// replace keeps a definition in the place of the one that was read. Where another run of the lease has written one
// meanwhile, the later one counts.
func (r *run) replace(ctx context.Context, there, want *kept.Definition) (keeping, error) {
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
		return keeping{}, err
	}
	r.wrote(nil)
	return keeping{before: there, now: now}, nil
}

// forget removes the definition that is kept, as it was read or, where it has changed, as it is by now. It returns what
// it has certainly removed, nil for nothing.
func (r *run) forget(ctx context.Context, there *kept.Definition) (*kept.Definition, error) {
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

// unkeep gives the ledger the definition back that it kept before the run. One that another run of the lease has
// written since stays.
func (r *run) unkeep(ctx context.Context) error {
	was := r.keeping
	if r.keeping = (keeping{}); was == r.keeping {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()
	return untilKept(ctx, r.ledger, r.group, func(ctx context.Context) (err error) {
		if was.before == nil || was.before.Deleting {
			err = r.ledger.Forget(ctx, was.now)
		} else {
			_, err = r.ledger.Keep(ctx, was.before, r.group, was.now)
		}
		if !errors.Is(err, ledger.ErrAgain) {
			return err
		}
		now, unread := r.ledger.Definition(ctx, r.group)
		if unread == nil && !now.Same(was.now) {
			return nil
		}
		if unread == nil {
			was.now = now
		}
		return cmp.Or(unread, err)
	})
}

// untilKept tries again while a write of the definition loses races or gets no answer.
func untilKept(ctx context.Context, l ledger.Ledger, g lease.Group, try func(context.Context) error) error {
	var why error
	err := l.Retrying(ctx, func(ctx context.Context) (bool, error) {
		why = try(ctx)
		return ledger.Retry(why)
	})
	if wait.Interrupted(err) && ctx.Err() == nil {
		err = cmp.Or(why, err)
	}
	if err != nil {
		return fmt.Errorf("the definition of lease %s in the ledger: %w", g, err)
	}
	return nil
}

// groupsOf are the deployment groups of runs.
func groupsOf(runs []*run) []lease.Group {
	groups := make([]lease.Group, len(runs))
	for i, r := range runs {
		groups[i] = r.group
	}
	return slices.Clip(groups)
}
