package repair

import (
	"context"
	"errors"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/akash-net/kubectl-akash-net/apply/turn"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
)

// repairAll fixes the problems in turns of the command. Each turn handles the problems of as many deployment groups as
// an announcement can name.
func (r *repair) repairAll(ctx context.Context, problems []state.Problem) error {
	count := r.Counter("problems", len(problems))
	for len(problems) > 0 {
		groups, n := r.groupsOf(problems)
		part := problems[:n]
		problems = problems[n:]
		err := r.InTurn(ctx, groups, func(context.Context) (unfinished []lease.Group, err error) {
			if slices.ContainsFunc(part, r.willRepair) {
				if err = r.Options.Turn.Begin(ctx); errors.Is(err, turn.ErrAgain) {
					part, err = r.findAgain(ctx, part)
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

// findAgain reads the cluster again and returns those of the problems that still exist.
func (r *repair) findAgain(ctx context.Context, problems []state.Problem) ([]state.Problem, error) {
	found, err := r.find(ctx)
	return slices.DeleteFunc(found, func(now state.Problem) bool {
		return !slices.ContainsFunc(problems, now.Same)
	}), err
}

// willRepair reports whether this command will fix the problem.
func (r *repair) willRepair(p state.Problem) bool {
	return r.byDefinition(p) || !p.Manual || p.Named && len(r.asked.Problems) > 0
}

// byDefinition reports whether applying a definition fixes the problem.
func (r *repair) byDefinition(p state.Problem) bool {
	switch m := p.Mend.(type) {
	case state.ApplyDefinition:
		return r.defs[m.Group] != nil || m.Kept && (!p.Manual || len(r.asked.Problems) > 0 && p.Named)
	case state.MoveRoutes:
		return r.defs[m.Group] != nil
	}
	return false
}

// groupOf returns the deployment group whose definition a repair applies or whose routes it moves; zero for any other.
func groupOf(mend state.Mend) lease.Group {
	switch m := mend.(type) {
	case state.ApplyDefinition:
		return m.Group
	case state.MoveRoutes:
		return m.Group
	}
	return lease.Group{}
}

// groupsOf returns the deployment groups for which repairs of the first n problems may write. n is at least one, and
// otherwise as high as the number of groups that an announcement can name allows.
func (r *repair) groupsOf(problems []state.Problem) (groups []lease.Group, n int) {
	known := sets.New[lease.Group]()
	for i, p := range problems {
		more := sets.New(r.writtenFor(p)...).Delete(lease.Group{}).Difference(known)
		if i > 0 && known.Len()+more.Len() > state.MaxAnnounced {
			return slices.SortedFunc(maps.Keys(known), lease.Group.Compare), i
		}
		known = known.Union(more)
	}
	return slices.SortedFunc(maps.Keys(known), lease.Group.Compare), len(problems)
}

// writtenFor returns the deployment groups for which the repair of a problem may write. It may include the zero group.
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
