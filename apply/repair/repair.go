// Package repair fixes the problems of a cluster. It pins every write to what it has read.
package repair

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/akash-net/kubectl-akash-net/apply"
	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/apply/diagnosis"
	"github.com/akash-net/kubectl-akash-net/apply/install"
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
	r := &repair{command: a.Command, asked: opts, defs: map[lease.Group]*lease.Definition{}}
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
	own := ""
	if r.turn != nil {
		own = r.turn.Nonce()
	}
	facts, err := diagnosis.Facts(ctx, r.snapshot, r.command, diagnosis.Definitions(r.snapshot, maps.Keys(r.snapshot.Definitions)), r.asked.CrashedAfter, own)
	if err != nil {
		return nil, err
	}
	r.routers = facts.Routers
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
	// repaired are the problems whose repair did not fail, remaining those that were left alone or could not be repaired, ending the
	// announcements of crashed commands that go with the end of the turn.
	repaired, remaining, ending []handled
	// left counts the problems that remain.
	left int
}

// handled is a problem with the event that tells of it, unless it turns out otherwise. counts is true if it counts where it remains.
type handled struct {
	problem state.Problem
	event   report.Event
	counts  bool
}

// repairAll fixes the problems in turns of the command. Each turn handles the problems of as many deployment groups as
// an announcement can name.
func (r *repair) repairAll(ctx context.Context, problems []state.Problem) error {
	count := r.command.Counter("problems", len(problems))
	r.groupRuns = map[groupRun]error{}
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
		if r.turn = nil; err == nil {
			err = r.tellEnded(ctx)
		}
		if err != nil {
			return err
		}
	}
	if r.left > 0 {
		return &Unmended{Problems: r.left}
	}
	return nil
}

// tellEnded reports whether the announcements of crashed commands went with the end of the turn.
func (r *repair) tellEnded(ctx context.Context) error {
	for _, h := range r.ending {
		if nonce, _ := state.AnnouncedNonce(h.problem.Thing); r.command.Cluster.Waits() {
			switch now, err := r.command.Ledger.Announcements.Get(ctx, nonce); {
			case err != nil:
				return err
			case now != nil:
				h.remains(now.String())
			}
		}
		r.tell(h)
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
	return groups
}

// run fixes the problems. Applies come last, after what they may need was given up. It returns the deployment groups
// that an error has left unfinished.
func (r *repair) run(ctx context.Context, problems []state.Problem, count func()) (unfinished []lease.Group, err error) {
	first := slices.DeleteFunc(slices.Clone(problems), r.byDefinition)
	problems = append(first, slices.DeleteFunc(problems, func(p state.Problem) bool { return !r.byDefinition(p) })...)
	r.repaired, r.remaining, r.ending, r.problems, r.fixed = nil, nil, nil, problems, nil
	for i, p := range problems {
		if err := r.handle(ctx, p); err != nil {
			return r.unfinished(problems[i:]), err
		}
		count()
	}
	return nil, r.check(ctx)
}

// check looks for problems again and reports for each handled one whether it is gone: a write may have had no effect, or one of Akash's
// operators may have reverted it, and the repair of one problem may have been that of another. Then it deletes the stored definitions of
// leases that hold nothing any more after the repair.
func (r *repair) check(ctx context.Context) (err error) {
	var found []state.Problem
	looks := len(r.repaired) > 0 && r.command.Cluster.Waits()
	if looks {
		if found, err = r.find(ctx); err != nil {
			return fmt.Errorf("worked on %s, and could not read whether that fixed it: %w", lease.Count(len(r.repaired), "problem"), err)
		}
	}
	for _, h := range r.remaining {
		if looks && !slices.ContainsFunc(found, h.problem.Same) {
			h.event.Action, h.event.Message, h.event.Next = report.Repaired, "it went with another problem", ""
		}
		r.tell(h)
	}
	for _, h := range r.repaired {
		if i := slices.IndexFunc(found, h.problem.Same); i >= 0 {
			h.remains(found[i].Message)
		}
		r.tell(h)
	}
	for _, p := range found {
		if p.Problem == state.StrayDefinition {
			if err := r.forget(ctx, p.Fix); err != nil && !errors.Is(err, report.ErrChanged) {
				return err
			}
		}
	}
	return nil
}

// remains makes a problem one whose repair did nothing: now is what is there after it.
func (h *handled) remains(now string) {
	h.event.Action, h.event.Next = report.Unconfirmed, h.problem.Repair()
	h.event.Message = fmt.Sprintf("it is still there after this: %s: %s", h.event.Message, now)
}

// tell tells what became of a problem.
func (r *repair) tell(h handled) {
	if h.counts && h.event.Action != report.Repaired {
		r.left++
	}
	r.command.Send(h.event)
}

// planned is a problem that is fixed as it says.
func planned(p state.Problem) handled {
	return handled{p, report.Event{
		Time: time.Now(), Action: report.Repaired, Lease: p.ID(), Kind: p.Problem, Namespace: p.Namespace, Name: p.Thing, Message: p.Plan,
	}, true}
}

// handle fixes a problem, or notes why it remains. An error ends the whole repair.
func (r *repair) handle(ctx context.Context, p state.Problem) error {
	h := planned(p)
	e := &h.event
	if def := r.defs[groupOf(p)]; def != nil {
		e.Message = "apply the definition at " + place(def.At) + " again"
	}
	if !r.willRepair(p) {
		e.Action, e.Message, e.Next = report.Skipped, p.Message+"; "+p.Plan, p.Command
		h.counts = len(r.asked.Of.Problems) > 0 || !p.Sound
		r.remaining = append(r.remaining, h)
		return nil
	}
	if p.Fix.Is(state.EndAnnouncement) { // it goes with the end of the turn
		r.ending = append(r.ending, h)
		return nil
	}
	note, err := r.fix(ctx, p)
	switch {
	case err != nil && (ctx.Err() != nil || command.CannotUndo(err)):
		return err
	case err != nil:
		e.Action, e.Next = report.Refused, p.Repair()
		e.Message = fmt.Sprintf("%s; this failed: %s: %s", p.Message, e.Message, strings.Join(strings.Fields(err.Error()), " "))
		r.remaining = append(r.remaining, h)
		return nil
	case note != "":
		e.Message += "; " + note
	}
	r.repaired = append(r.repaired, h)
	return nil
}

// fix fixes a problem. The note says what else people have to do.
func (r *repair) fix(ctx context.Context, p state.Problem) (note string, err error) {
	way := ways[p.Fix.Do]
	switch _, engines := byEngine[p.Fix.Do]; {
	case engines:
		return "", r.fixByEngine(ctx, p.Fix)
	case way == nil:
		return "", r.runGroup(ctx, p)
	case !p.Fix.Is(state.Drop) && !p.Fix.Is(state.OpenLedger): // these claim no thing
		err = r.checkClaims(ctx, p.Thing)
	}
	if err == nil && p.Fix.Exclude {
		note, err = install.Exclude(ctx, r.command.Cluster, r.asked.ConfigFile, p.Fix.Ranges)
	}
	if err != nil {
		return "", err
	}
	return note, way(r, ctx, p.Fix)
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
		more := sets.New(r.writtenFor(p)...).Difference(known)
		if i > 0 && known.Len()+more.Len() > state.MaxAnnounced {
			return slices.SortedFunc(maps.Keys(known), lease.Group.Compare), i
		}
		known = known.Union(more)
	}
	return slices.SortedFunc(maps.Keys(known), lease.Group.Compare), len(problems)
}

// writtenFor returns the deployment groups for which the repair of a problem may write, and those of crashed commands that the turn ends with
// it unless problems are named.
func (r *repair) writtenFor(p state.Problem) []lease.Group {
	groups := []lease.Group{p.ID().Group()}
	p.Fix = cmp.Or(p.Fix, &state.Fix{})
	groups = append(groups, p.Fix.Groups()...)
	for _, f := range append(p.Fix.Each, p.Fix) {
		for _, ref := range f.Objects {
			if live := r.live(ref); live != nil {
				groups = append(groups, r.snapshot.Ownership(live).Lease.Group())
			}
		}
	}
	for _, a := range r.snapshot.Runs {
		if len(r.asked.Of.Problems) == 0 && a.Names(groups...) && (a.Phase == state.Fenced || a.Dead(r.command.Cluster.Now(), r.asked.CrashedAfter)) {
			groups = append(groups, a.Groups...)
		}
	}
	return slices.DeleteFunc(groups, func(g lease.Group) bool { return g == lease.Group{} })
}

// live returns an object as it was read, or nil.
func (r *repair) live(ref state.ObjectRef) *unstructured.Unstructured {
	return r.snapshot.At(kinds.Of(ref.Kind), ref.Namespace, ref.Name)
}

// ways carry out repairs, but for what the engine does for all problems at once (byEngine), and for definitions and moves of routes: these are
// done once for all problems of a lease (runGroup).
var ways = map[state.Way]func(*repair, context.Context, *state.Fix) error{
	state.OpenLedger:        (*repair).openLedger,
	state.Release:           (*repair).release,
	state.Drop:              (*repair).drop,
	state.Forget:            (*repair).forget,
	state.Take:              (*repair).takeServed,
	state.NarrowPool:        (*repair).narrow,
	state.MakePool:          (*repair).makePool,
	state.WriteRecords:      (*repair).writeRecords,
	state.OwnParts:          (*repair).ownParts,
	state.RewriteRoute:      edits(rewriteRoute),
	state.SetSharingKey:     edits(asks("allow-shared-ip")),
	state.AskAddress:        edits(asks("loadBalancerIPs"), dropOtherGrant),
	state.DropGrant:         edits(dropGrant),
	state.ClearReports:      edits(clearReports),
	state.RestoreMarks:      edits(restoreMarks),
	state.DropManagedFields: edits(dropManagedFields, restoreMarks),
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
