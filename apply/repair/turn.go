package repair

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/akash-net/kubectl-akash-net/apply/report"
	"github.com/akash-net/kubectl-akash-net/apply/turn"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
)

// mendAll mends problems in turns of the command, each for the problems of as many deployment groups as one
// announcement names.
func (r *repair) mendAll(ctx context.Context, problems []state.Problem) error {
	if err := r.mendInTurns(ctx, problems); err != nil {
		return err
	}
	bared, err := r.bared(ctx, problems)
	if err != nil {
		return err
	}
	if err := r.mendInTurns(ctx, bared); err != nil {
		return err
	}
	if r.left > 0 {
		return &Unmended{Problems: r.left}
	}
	return nil
}

func (r *repair) mendInTurns(ctx context.Context, problems []state.Problem) error {
	count := r.Counter("problems", len(problems))
	for len(problems) > 0 {
		groups, n := r.groupsOf(problems)
		part, announced := apart(problems[:n], isAnnouncement)
		problems = problems[n:]
		err := r.InTurn(ctx, groups, func(context.Context) (unfinished []lease.Group, err error) {
			if len(announced) > 0 || slices.ContainsFunc(part, r.mends) {
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
		if err == nil {
			err = r.tellAnnounced(ctx, announced, count)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// isAnnouncement is true for a crashed command that has left nothing but its announcement.
func isAnnouncement(p state.Problem) bool { return len(p.Mend.Groups) > 0 }

// apart are the problems that are not so, and those that are.
func apart(problems []state.Problem, so func(state.Problem) bool) (others, chosen []state.Problem) {
	for _, p := range problems {
		if so(p) {
			chosen = append(chosen, p)
		} else {
			others = append(others, p)
		}
	}
	return others, chosen
}

// tellAnnounced says of crashed commands that had left nothing but their announcements whether those are gone: the turn has
// taken over from them, and its end takes the announcements away.
func (r *repair) tellAnnounced(ctx context.Context, problems []state.Problem, count func()) error {
	for _, p := range problems {
		e := report.Event{Time: time.Now(), Action: report.Repaired, Lease: leaseOf(p), Kind: p.Problem, Name: p.Thing, Message: p.Plan}
		if nonce, _ := state.AnnouncedNonce(p.Thing); r.Cluster.Waits() {
			switch now, err := r.Ledger.Announcement(ctx, nonce); {
			case err != nil:
				return err
			case now != nil:
				r.left++
				e.Action, e.Next = report.Left, "kubectl akash-net repair "+p.Name()
				e.Message = fmt.Sprintf("it is still there after this: %s: %s", p.Plan, now)
			}
		}
		r.Send(e)
		count()
	}
	return nil
}

// bared are the announcements of crashed commands that nothing carries the marks of any more, now that what carried them
// is mended: they name further deployment groups, and the end of a turn for some of their groups leaves the others.
func (r *repair) bared(ctx context.Context, mended []state.Problem) ([]state.Problem, error) {
	crashed := func(p state.Problem) bool { return p.Problem == state.CrashedRun && !isAnnouncement(p) }
	if len(r.asked.Problems) > 0 || !r.Cluster.Waits() || !slices.ContainsFunc(mended, crashed) {
		return nil, nil
	}
	found, err := r.find(ctx)
	if err != nil {
		return nil, err
	}
	found, err = r.chosen(found)
	_, announced := apart(found, isAnnouncement)
	return slices.DeleteFunc(announced, func(p state.Problem) bool { return slices.ContainsFunc(mended, p.Same) }), err
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
	return p.Mend.Definition && (r.defs[p.Mend.Group] != nil || p.Mend.Kept && (!p.Manual || len(r.asked.Problems) > 0 && p.Named))
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
	groups := append(slices.Clone(p.Mend.Groups), p.Mend.Group, leaseOf(p).Group())
	for _, c := range []*state.Claim{p.Mend.Release, p.Mend.Own, p.Mend.Follow} {
		if c != nil {
			groups = append(groups, c.Writers()...)
		}
	}
	for _, ref := range slices.Concat(p.Mend.Declared, p.Mend.Delete, p.Mend.Reject) {
		if live := r.live(&ref); live != nil {
			groups = append(groups, r.snapshot.Ownership(live).Lease.Group())
		}
	}
	return groups
}
