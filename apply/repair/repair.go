// Package repair fixes the problems of a cluster. It pins every write to what it has read.
package repair

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply"
	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/apply/diagnosis"
	"github.com/akash-net/kubectl-akash-net/apply/reading"
	"github.com/akash-net/kubectl-akash-net/apply/turn"
	"github.com/akash-net/kubectl-akash-net/engine/observed"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/diagnose"
)

// Options select what to fix, and with what.
type Options struct {
	// CrashedAfter is after how long without a write a run counts as crashed.
	CrashedAfter time.Duration
	// Of says which problems to fix. If it names none, all that are safe to fix automatically are fixed.
	Of diagnose.Selection
	// Definitions are definitions of leases: applying one fixes the problems of its lease that an apply fixes.
	Definitions []*lease.Definition
	// ConfigFile is the file that the configuration was read from; empty if it was read from the cluster.
	ConfigFile string
}

// Unmended reports that problems remain.
type Unmended struct{ Problems int }

func (e *Unmended) Error() string {
	return "not repaired: " + lease.Count(e.Problems, "problem") + "; the lines above say how to fix each"
}

// Repair fixes problems independently of each other, and reports how to fix the remaining ones. It touches nothing that
// belongs to a live claim unless the problem is named. Every write is pinned to what was read; what has changed since
// is left for the next call.
func Repair(ctx context.Context, a *apply.Applier, opts Options) error {
	if err := a.Validate(opts.Definitions); err != nil {
		return err
	}
	a.Command.Options.AssumeCrashed = opts.CrashedAfter == 0
	r := &repair{command: a.Command, asked: opts, defs: map[lease.Group]*lease.Definition{}, groupRuns: map[groupRun]error{}}
	for _, def := range opts.Definitions {
		r.defs[def.Lease.Group()] = def
	}
	found, err := r.find(ctx)
	if err != nil {
		return err
	}
	problems := opts.Of.Of(found, r.snapshot.List())
	if err := opts.Of.Check(problems, r.snapshot.List()); err != nil {
		return err
	}
	return r.repairAll(ctx, problems)
}

// find reads the cluster and finds its problems.
func (r *repair) find(ctx context.Context) ([]state.Problem, error) {
	var err error
	if r.snapshot, err = reading.ReadWithOperators(ctx, r.command, diagnosis.Reading); err != nil {
		return nil, err
	}
	if r.routers, err = reading.Routers(ctx, r.command.Cluster, r.snapshot); err != nil {
		return nil, err
	}
	facts, err := diagnosis.Facts(ctx, r.snapshot, r.command, r.asked.CrashedAfter, r.routers, r.nonce())
	if err != nil {
		return nil, err
	}
	return diagnose.Problems(facts), nil
}

// repair is the work on the problems that were found at one moment.
type repair struct {
	command  *command.Command
	turn     *turn.Turn
	asked    Options
	snapshot *observed.Snapshot
	routers  state.Routers
	defs     map[lease.Group]*lease.Definition
	// groupRuns has the results of the applies and moves of routes so far.
	groupRuns map[groupRun]error
	// problems are those of the run, fixed says how the fixes that the engine does have gone, once that was done.
	problems []state.Problem
	fixed    map[*state.Fix]error
	// repaired are the problems whose repair did not fail, remaining those that were left alone or could not be repaired.
	repaired, remaining []handledProblem
	// left counts the problems that remain.
	left int
}

// handledProblem is a problem that is fixed unless it is found again, with the event to report. counts is true if it counts
// as left otherwise.
type handledProblem struct {
	problem state.Problem
	event   report.Event
	counts  bool
}

// run fixes the problems. Applies come last, after what they may need was given up. It returns the deployment groups
// that an error has left unfinished.
func (r *repair) run(ctx context.Context, problems []state.Problem, count func()) (unfinished []lease.Group, err error) {
	r.repaired, r.remaining, r.problems, r.fixed = nil, nil, problems, nil
	first, last := []state.Problem{}, []state.Problem{}
	for _, p := range problems {
		if r.byDefinition(p) {
			last = append(last, p)
		} else {
			first = append(first, p)
		}
	}
	problems = slices.Concat(first, last)
	for i, p := range problems {
		if err := r.handle(ctx, p, i >= len(first)); err != nil {
			return r.unfinished(problems[i:]), err
		}
		count()
	}
	return nil, r.checkRepaired(ctx)
}

// checkRepaired looks for problems again and reports for each handled one whether it is gone: a write may have had no effect,
// or one of Akash's operators may have reverted it, and the repair of one problem may have been that of another.
func (r *repair) checkRepaired(ctx context.Context) error {
	if len(r.repaired) == 0 {
		for _, m := range r.remaining {
			r.reportLeft(m)
		}
		return nil
	}
	var found []state.Problem
	err := r.command.See(func() (err error) {
		found, err = r.find(ctx)
		return err
	})
	if err != nil {
		return fmt.Errorf("worked on %s, and could not read whether that fixed it: %w", lease.Count(len(r.repaired), "problem"), err)
	}
	for _, m := range r.remaining {
		if !slices.ContainsFunc(found, m.problem.Same) {
			m.event.Action, m.event.Message, m.event.Next = report.Repaired, "it went with another problem", ""
			r.command.Send(m.event)
			continue
		}
		r.reportLeft(m)
	}
	for _, m := range r.repaired {
		p := m.problem
		if i := slices.IndexFunc(found, func(now state.Problem) bool { return now.Same(p) }); i >= 0 {
			m.event.Next = cmp.Or(p.Command, "kubectl akash-net repair "+p.Name())
			m.event.Action, m.event.Message = report.Unconfirmed, fmt.Sprintf("it is still there after this: %s: %s", m.event.Message, found[i].Message)
			r.reportLeft(m)
			continue
		}
		r.command.Send(m.event)
	}
	return r.forgetEnded(ctx, found)
}

// reportLeft reports a problem that remains.
func (r *repair) reportLeft(m handledProblem) {
	if m.counts {
		r.left++
	}
	r.command.Send(m.event)
}

// forgetEnded deletes stored definitions of leases that hold nothing any more after the repair.
func (r *repair) forgetEnded(ctx context.Context, found []state.Problem) error {
	for _, p := range found {
		if p.Problem != state.StrayDefinition {
			continue
		}
		if err := r.forgetStray(ctx, p.Fix); err != nil && !errors.Is(err, report.ErrChanged) {
			return err
		}
	}
	return nil
}

// handle fixes a problem, or notes why it remains. An error ends the whole repair.
func (r *repair) handle(ctx context.Context, p state.Problem, apply bool) error {
	e := report.Event{
		Time: time.Now(), Action: report.Repaired, Lease: p.ID(),
		Kind: p.Problem, Namespace: p.Namespace, Name: p.Thing, Message: p.Plan,
	}
	named := len(r.asked.Of.Problems) > 0
	if def := r.defs[groupOf(p)]; apply && def != nil {
		e.Message = "apply the definition at " + place(def.At) + " again"
	}
	if asked := apply || named && p.Named; p.Manual && !asked {
		e.Action, e.Message, e.Next = report.Skipped, p.Message+"; "+p.Plan, p.Command
		r.remaining = append(r.remaining, handledProblem{p, e, named || !p.Sound})
		return nil
	}
	note, err := r.fix(ctx, p, apply)
	switch {
	case err != nil && (ctx.Err() != nil || command.CannotUndo(err)):
		return err
	case err != nil:
		if half, ok := errors.AsType[*report.HalfError](err); ok {
			r.turn.Leave(half.Lease.Group())
		}
		e.Action, e.Message = report.Refused, fmt.Sprintf("%s; this failed: %s: %s", p.Message, e.Message, strings.Join(strings.Fields(err.Error()), " "))
		e.Next = cmp.Or(p.Command, "kubectl akash-net repair "+p.Name())
		r.remaining = append(r.remaining, handledProblem{p, e, true})
	default:
		if note != "" {
			e.Message += "; " + note
		}
		r.repaired = append(r.repaired, handledProblem{p, e, true})
	}
	return nil
}

// fix fixes a problem. The note says what else people have to do.
func (r *repair) fix(ctx context.Context, p state.Problem, apply bool) (note string, err error) {
	_, _, engines := r.byEngine(p.Fix)
	way := ways[p.Fix.Do]
	if !engines && (way != nil || edits[p.Fix.Do] != nil) && !p.Fix.Is(state.Drop) && !p.Fix.Is(state.OpenLedger) { // these claim no thing, and the engine looks at the claims itself
		err = r.checkClaims(ctx, p.Thing)
	}
	switch {
	case err != nil:
		return "", err
	case engines:
		return "", r.fixByEngine(ctx, p.Fix)
	case edits[p.Fix.Do] != nil:
		return "", r.edit(ctx, p.Fix)
	case way != nil:
		return way(r, ctx, p.Fix)
	}
	work := r.groupRunOf(p)
	if _, done := r.groupRuns[work]; !done && apply {
		r.applyDefinitions(ctx)
	} else if !done {
		r.groupRuns[work] = r.migrateRoutes(ctx, work.group)
	}
	return "", r.groupRuns[work]
}

// live returns an object as it was read, or nil.
func (r *repair) live(ref state.ObjectRef) *unstructured.Unstructured {
	return r.snapshot.At(kinds.Of(ref.Kind), ref.Namespace, ref.Name)
}

// ways carry out repairs, but for definitions and moves of routes: these are done once for all problems of a lease, by fix; and the end of
// a turn deletes the announcements of crashed commands. A note says what else people have to do.
var ways = map[state.Way]func(*repair, context.Context, *state.Fix) (note string, err error){
	state.OpenLedger:   quiet((*repair).openLedger),
	state.Release:      quiet((*repair).release),
	state.Drop:         quiet((*repair).drop),
	state.Forget:       quiet((*repair).forgetStray),
	state.Take:         quiet((*repair).takeServed),
	state.NarrowPool:   (*repair).narrow,
	state.MakePool:     quiet((*repair).makePool),
	state.WriteRecords: quiet((*repair).writeRecords),
	state.OwnParts:     quiet((*repair).ownParts),
}

// quiet is a way that leaves nothing to do.
func quiet(way func(*repair, context.Context, *state.Fix) error) func(*repair, context.Context, *state.Fix) (string, error) {
	return func(r *repair, ctx context.Context, f *state.Fix) (string, error) { return "", way(r, ctx, f) }
}

// place returns the file and line of a definition.
func place(at lease.Place) string {
	if at.Line == 0 {
		return at.File
	}
	return fmt.Sprintf("%s:%d", at.File, at.Line)
}

// Follow lets the claims follow that Akash's provider has moved from or to one of these deployment groups: what Repair without names does
// about that, and nothing else. What it could not do it has reported.
func Follow(ctx context.Context, a *apply.Applier, crashedAfter time.Duration, groups []lease.Group) error {
	err := only(ctx, a, crashedAfter, func(p state.Problem) bool {
		return p.Fix.Is(state.Follow) && (slices.Contains(groups, p.Fix.Parts.Group) || slices.Contains(groups, p.ID().Group()))
	})
	if _, told := errors.AsType[*Unmended](err); told {
		return nil
	}
	return err
}

// Finish ends what crashed commands have claimed for one of these deployment groups, and gives up what they hold though their namespace is
// gone, as Repair without names does, and nothing else. It returns Unmended if some of that remains.
func Finish(ctx context.Context, a *apply.Applier, crashedAfter time.Duration, groups []lease.Group) error {
	return only(ctx, a, crashedAfter, func(p state.Problem) bool {
		return (p.Problem == state.CrashedRun || p.Problem == state.NamespaceGone) && slices.Contains(groups, p.ID().Group())
	})
}

// only repairs the problems that are chosen, but for those of leases that are suspended: it works for the reconciler.
func only(ctx context.Context, a *apply.Applier, crashedAfter time.Duration, chosen func(state.Problem) bool) error {
	r := &repair{command: a.Command, asked: Options{CrashedAfter: crashedAfter}}
	found, err := r.find(cluster.Early(ctx))
	if err != nil {
		return err
	}
	suspended, err := r.command.Ledger.Suspended(ctx)
	if err != nil {
		return err
	}
	return r.repairAll(ctx, slices.DeleteFunc(found, func(p state.Problem) bool {
		return !chosen(p) || suspended[p.ID().Group()] || p.Fix.Is(state.Follow) && suspended[p.Fix.Parts.Group]
	}))
}
