package repair

import (
	"context"
	"errors"
	"slices"

	"github.com/akash-net/kubectl-akash-net/apply/turn"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
)

// mendAll mends problems in turns of the command, each for the problems of as many deployment groups as one
// announcement names.
func (r *repair) mendAll(ctx context.Context, problems []state.Problem) error {
	count := r.Counter("problems", len(problems))
	for len(problems) > 0 {
		groups, n := r.groupsOf(problems)
		part := problems[:n]
		problems = problems[n:]
		err := r.InTurn(ctx, groups, func(context.Context) (unfinished []lease.Group, err error) {
			if slices.ContainsFunc(part, r.mends) {
				if err = r.Options.Turn.Begin(ctx); errors.Is(err, turn.ErrAgain) {
					part, err = r.foundAgain(ctx, part)
				}
			}
			if err == nil {
				err = r.run(r.Options.Turn.Context(ctx), part, count)
			}
			if err != nil && !errors.Is(err, turn.ErrAgain) {
				unfinished = groups
			}
			return unfinished, err
		})
		if err != nil {
			return err
		}
	}
	if r.left > 0 {
		return &Unmended{Problems: r.left}
	}
	return nil
}

// foundAgain are those of the problems that are still found, as they are read now.
func (r *repair) foundAgain(ctx context.Context, problems []state.Problem) ([]state.Problem, error) {
	found, err := r.find(ctx)
	return slices.DeleteFunc(found, func(now state.Problem) bool {
		return !slices.ContainsFunc(problems, now.Same)
	}), err
}

// mends is true for a problem that is about to be mended.
func (r *repair) mends(p state.Problem) bool {
	return r.byDefinition(p) || !p.Manual || p.Named && len(r.asked.Problems) > 0
}

// byDefinition is true for a problem that is mended by applying a definition.
func (r *repair) byDefinition(p state.Problem) bool {
	switch m := p.Mend.(type) {
	case state.ApplyDefinition:
		return r.defs[m.Group] != nil || m.Kept && (!p.Manual || len(r.asked.Problems) > 0 && p.Named)
	case state.MoveRoutes:
		return r.defs[m.Group] != nil
	}
	return false
}

// groupOf is the deployment group of which a repair applies the definition or moves the routes; zero for another repair.
func groupOf(mend state.Mend) lease.Group {
	switch m := mend.(type) {
	case state.ApplyDefinition:
		return m.Group
	case state.MoveRoutes:
		return m.Group
	}
	return lease.Group{}
}

// groupsOf are the deployment groups for which something may be written to mend the first n problems: as many as one
// announcement names, and one problem at least.
func (r *repair) groupsOf(problems []state.Problem) (groups []lease.Group, n int) {
	known := map[lease.Group]bool{}
	for i, p := range problems {
		var more []lease.Group
		for _, g := range r.writtenFor(p) {
			if g != (lease.Group{}) && !known[g] {
				more = append(more, g)
			}
		}
		if i > 0 && len(known)+len(more) > state.MaxAnnounced {
			return groups, i
		}
		for _, g := range more {
			if !known[g] {
				known[g] = true
				groups = append(groups, g)
			}
		}
	}
	return groups, len(problems)
}

// writtenFor are the deployment groups for which something may be written to mend a problem.
func (r *repair) writtenFor(p state.Problem) []lease.Group {
	groups := []lease.Group{leaseOf(p).Group()}
	if p.Mend == nil {
		return groups
	}
	named, objects := p.Mend.WritesFor()
	groups = append(groups, named...)
	for _, ref := range objects {
		if live := r.live(ref); live != nil {
			groups = append(groups, r.snapshot.Ownership(live).Lease.Group())
		}
	}
	return groups
}
