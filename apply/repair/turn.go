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
	"github.com/akash-net/kubectl-akash-net/engine"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
)

// repairAll fixes the problems, and then ends the crashed commands of which nothing but their announcement is there by then.
func (r *repair) repairAll(ctx context.Context, problems []state.Problem) error {
	isAnnouncement := func(p state.Problem) bool { return p.Fix.Is(state.EndAnnouncement) }
	isOther := func(p state.Problem) bool { return !isAnnouncement(p) }
	others, announced := slices.DeleteFunc(slices.Clone(problems), isAnnouncement), slices.DeleteFunc(slices.Clone(problems), isOther)
	if err := r.repairInTurns(ctx, others); err != nil {
		return err
	}
	crashed := func(p state.Problem) bool { return p.Problem == state.CrashedRun }
	if len(r.asked.Of.Problems) == 0 && r.command.Cluster.Waits() && slices.ContainsFunc(others, crashed) {
		found, err := r.find(ctx) // a turn ends them for its own groups alone
		if err != nil {
			return err
		}
		known := sets.New[string]()
		for _, p := range announced {
			known.Insert(p.Thing) // its groups, and so its lease, may be others by now
		}
		announced = append(announced, slices.DeleteFunc(r.asked.Of.Of(found, r.snapshot.List()), func(p state.Problem) bool { return isOther(p) || known.Has(p.Thing) })...)
	}
	if err := r.endAnnouncements(ctx, announced); err != nil {
		return err
	}
	if r.left > 0 {
		return &Unmended{Problems: r.left}
	}
	return nil
}

// endAnnouncements takes over from crashed commands for all deployment groups that they name: the end of the turn deletes what announces them.
func (r *repair) endAnnouncements(ctx context.Context, problems []state.Problem) error {
	opts, groups := r.options(), sets.New[lease.Group]()
	opts.InTurn = true
	for _, p := range problems {
		groups.Insert(p.Fix.Of...)
	}
	var wants []engine.Want
	for _, g := range slices.SortedFunc(maps.Keys(groups), lease.Group.Compare) {
		wants = append(wants, wantOf(g))
	}
	if _, err := r.work(ctx, opts, wants...); err != nil {
		return err
	}
	for _, p := range problems {
		e := report.Event{Time: time.Now(), Action: report.Repaired, Lease: p.ID(), Kind: p.Problem, Name: p.Thing, Message: p.Plan}
		if nonce, _ := state.AnnouncedNonce(p.Thing); r.command.Cluster.Waits() {
			switch now, err := r.command.Ledger.Announcements.Get(ctx, nonce); {
			case err != nil:
				return err
			case now != nil:
				r.left++
				e.Action, e.Next = report.Unconfirmed, "kubectl akash-net repair "+p.Name()
				e.Message = fmt.Sprintf("it is still there after this: %s: %s", p.Plan, now)
			}
		}
		r.command.Send(e)
	}
	return nil
}

// wantOf is what a deployment group wants, which is nothing.
func wantOf(g lease.Group) engine.Want {
	return engine.Want{Request: state.Request{Lease: lease.ID{Owner: g.Owner, DSeq: g.DSeq, GSeq: g.GSeq}}}
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
		part := problems[:n]
		problems = problems[n:]
		err := r.command.InTurn(ctx, groups, func(_ context.Context, t *turn.Turn) (unfinished []lease.Group, err error) {
			r.turn = t
			if slices.ContainsFunc(part, r.willRepair) {
				var came turn.Came
				if came, err = t.Begin(ctx); err == nil && came.Met { // look again: those that are still there are repaired
					was := part
					part, err = r.find(ctx)
					part = slices.DeleteFunc(part, func(now state.Problem) bool { return !slices.ContainsFunc(was, now.Same) })
				}
			}
			if err == nil {
				unfinished, err = r.run(t.Context(ctx), part, count)
			}
			return unfinished, err
		})
		if r.turn = nil; err != nil {
			return err
		}
	}
	return nil
}

// unfinished returns the deployment groups of a problem whose repair was ended by an error, and those of crashed commands
// among the problems that were still to be repaired. An apply has recorded its own unfinished groups.
func (r *repair) unfinished(rest []state.Problem) (groups []lease.Group) {
	for i, p := range rest {
		if i == 0 && !r.byDefinition(p) || i > 0 && p.Problem == state.CrashedRun {
			groups = append(groups, r.writtenFor(p)...)
		}
	}
	return slices.DeleteFunc(groups, func(g lease.Group) bool { return g == lease.Group{} })
}

// willRepair reports whether this command will fix the problem.
func (r *repair) willRepair(p state.Problem) bool {
	return r.byDefinition(p) || !p.Manual || p.Named && len(r.asked.Of.Problems) > 0
}

// byDefinition reports whether applying a definition fixes the problem.
func (r *repair) byDefinition(p state.Problem) bool {
	return groupOf(p) != lease.Group{} && (r.defs[groupOf(p)] != nil || p.Fix.Kept && (!p.Manual || len(r.asked.Of.Problems) > 0 && p.Named))
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
	groups := []lease.Group{p.ID().Group()}
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
