package repair

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/apply/turn"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
)

// repairAll fixes the problems. Then it removes the announcements of crashed commands that it has left without marks.
func (r *repair) repairAll(ctx context.Context, problems []state.Problem) error {
	if err := r.repairInTurns(ctx, problems); err != nil {
		return err
	}
	unmarked, err := r.findUnmarked(ctx, problems)
	if err != nil {
		return err
	}
	if err := r.repairInTurns(ctx, unmarked); err != nil {
		return err
	}
	if r.left > 0 {
		return &Unmended{Problems: r.left}
	}
	return nil
}

// nonce is that of the repair's announcement, empty where it has no turn.
func (r *repair) nonce() string {
	if r.turn == nil {
		return ""
	}
	return r.turn.Nonce()
}

// options are those of a command that is a part of the repair. The line of the problem tells of it.
func (r *repair) options() command.Options {
	opts := r.command.Options
	opts.Turn, opts.Report, opts.Progress = r.turn, nil, nil
	return opts
}

// repairInTurns fixes the problems in turns of the command. Each turn handles the problems of as many deployment groups as
// an announcement can name.
func (r *repair) repairInTurns(ctx context.Context, problems []state.Problem) error {
	count := r.command.Counter("problems", len(problems))
	for len(problems) > 0 {
		groups, n := r.groupsOf(problems)
		part, announced := splitAnnouncements(problems[:n])
		problems = problems[n:]
		err := r.command.InTurn(ctx, groups, func(_ context.Context, t *turn.Turn) (unfinished []lease.Group, err error) {
			r.turn = t
			if len(announced) > 0 || slices.ContainsFunc(part, r.willRepair) {
				var came turn.Came
				if came, err = t.Begin(ctx); err == nil && came.Met {
					part, err = r.findAgain(ctx, part)
				}
			}
			if err == nil {
				unfinished, err = r.run(t.Context(ctx), part, count)
			}
			return unfinished, err
		})
		if r.turn = nil; err == nil {
			err = r.reportAnnouncements(ctx, announced, count)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// unfinished returns the deployment groups of a problem whose repair was ended by an error, and those of crashed commands
// among the problems that were still to be repaired. An apply has recorded its own unfinished groups.
func (r *repair) unfinished(at state.Problem, rest []state.Problem) (groups []lease.Group) {
	if !r.byDefinition(at) {
		groups = r.writtenFor(at)
	}
	for _, p := range rest {
		if p.Problem == state.CrashedRun {
			groups = append(groups, r.writtenFor(p)...)
		}
	}
	return slices.DeleteFunc(groups, func(g lease.Group) bool { return g == lease.Group{} })
}

// isAnnouncement reports whether a problem is a crashed command that has left nothing but its announcement.
func isAnnouncement(p state.Problem) bool {
	return p.Fix.Is(state.EndAnnouncement)
}

// splitAnnouncements separates the announcements of crashed commands from the other problems.
func splitAnnouncements(problems []state.Problem) (others, announced []state.Problem) {
	for _, p := range problems {
		if isAnnouncement(p) {
			announced = append(announced, p)
		} else {
			others = append(others, p)
		}
	}
	return others, announced
}

// reportAnnouncements reports whether the announcements of crashed commands are gone after the turn that has taken over from
// those commands: its end deletes the announcements.
func (r *repair) reportAnnouncements(ctx context.Context, problems []state.Problem, count func()) error {
	for _, p := range problems {
		e := report.Event{Time: time.Now(), Action: report.Repaired, Lease: leaseOf(p), Kind: p.Problem, Name: p.Thing, Message: p.Plan}
		if nonce, _ := state.AnnouncedNonce(p.Thing); r.command.Cluster.Waits() {
			switch now, err := r.command.Ledger.Announcement(ctx, nonce); {
			case err != nil:
				return err
			case now != nil:
				r.left++
				e.Action, e.Next = report.Unconfirmed, "kubectl akash-net repair "+p.Name()
				e.Message = fmt.Sprintf("it is still there after this: %s: %s", p.Plan, now)
			}
		}
		r.command.Send(e)
		count()
	}
	return nil
}

// findUnmarked returns the announcements of crashed commands whose marks a repair has removed. They name further deployment
// groups, and the end of a turn for some of their groups keeps the others.
func (r *repair) findUnmarked(ctx context.Context, repaired []state.Problem) ([]state.Problem, error) {
	crashed := func(p state.Problem) bool { return p.Problem == state.CrashedRun && !isAnnouncement(p) }
	if len(r.asked.Problems) > 0 || !r.command.Cluster.Waits() || !slices.ContainsFunc(repaired, crashed) {
		return nil, nil
	}
	found, err := r.find(ctx)
	if err != nil {
		return nil, err
	}
	_, announced := splitAnnouncements(r.chosen(found))
	return slices.DeleteFunc(announced, func(p state.Problem) bool { return slices.ContainsFunc(repaired, p.Same) }), nil
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
	return groupOf(p) != lease.Group{} && (r.defs[groupOf(p)] != nil || p.Fix.Kept && (!p.Manual || len(r.asked.Problems) > 0 && p.Named))
}

// groupOf returns the deployment group whose definition a repair applies or whose routes it moves; zero for any other.
func groupOf(p state.Problem) lease.Group {
	if p.Fix.Is(state.Heal) || p.Fix.Is(state.MoveRoutes) {
		return p.Fix.Group
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
	if p.Fix == nil {
		return groups
	}
	groups = append(groups, p.Fix.Groups()...)
	for _, f := range append(p.Fix.Each, p.Fix) {
		for _, ref := range f.Objects {
			if live := r.live(ref); live != nil {
				groups = append(groups, r.snapshot.Ownership(live).Lease.Group())
			}
		}
	}
	return groups
}
