// Package repair mends the problems of a cluster, each pinned to what was read of it.
package repair

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/akash-net/kubectl-akash-net/apply"
	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/apply/diagnosis"
	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/apply/records"
	"github.com/akash-net/kubectl-akash-net/apply/report"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/diagnose"
)

// Options say what is mended, and with what.
type Options struct {
	// CrashedAfter is for how long a run may write nothing before it counts as crashed.
	CrashedAfter time.Duration
	// Problems are the names of those that are to be mended; without any it is all that are safe to mend
	// automatically.
	Problems []string
	// Namespace limits the work to problems of the leases in it; empty is all.
	Namespace string
	// Definitions are those of leases: a problem that an application mends is mended so where the
	// definition of its lease is among them.
	Definitions []*lease.Definition
	// ConfigFile is the file that the configuration was read from; empty where it was the cluster's.
	ConfigFile string
}

// Unmended says that problems are left.
type Unmended struct{ Problems int }

func (e *Unmended) Error() string {
	if e.Problems == 1 {
		return "1 problem is left; its line says what mends it"
	}
	return fmt.Sprintf("%d problems are left; their lines say what mends them", e.Problems)
}

// NoProblemError says that there are no problems of some names.
type NoProblemError struct{ Names []string }

func (e *NoProblemError) Error() string {
	verb := "is no problem"
	if len(e.Names) > 1 {
		verb = "are no problems"
	}
	return fmt.Sprintf("%s %s of this cluster now, and nothing was changed; \"kubectl akash-net repair --dry-run\" lists those that there are", strings.Join(e.Names, ", "), verb)
}

// Repair mends problems, each for itself, and says of those that are left what mends them. It
// touches nothing that belongs to a live claim, unless it was named: each write is pinned to what was
// read, and what has changed since is left for the next call.
func Repair(ctx context.Context, a *apply.Applier, opts Options) error {
	if _, err := a.Prepare(opts.Definitions); err != nil {
		return err
	}
	a.Options.CrashedAfter, a.Options.AssumeCrashed = opts.CrashedAfter, opts.CrashedAfter == 0
	r := &repair{Applier: a, asked: opts, defs: map[lease.Group]*lease.Definition{}, ended: map[ending]error{}}
	for _, def := range opts.Definitions {
		r.defs[def.Lease.Group()] = def
	}
	found, err := r.find(ctx)
	if err != nil {
		return err
	}
	problems, err := r.chosen(found)
	if err != nil {
		return err
	}
	return r.mendAll(ctx, problems)
}

// find reads the cluster, and finds what is wrong.
func (r *repair) find(ctx context.Context) ([]state.Problem, error) {
	var err error
	if r.snapshot, err = observed.ReadWithOperators(ctx, r.Command, observed.Reading{Addresses: true, Further: kinds.Records, ClaimsFirst: true, AllDefinitions: true, Runs: true}); err != nil {
		return nil, err
	}
	if r.there, err = observed.Routers(ctx, r.Cluster, r.snapshot); err != nil {
		return nil, err
	}
	facts, err := diagnosis.Facts(ctx, r.snapshot, r.Command, r.asked.CrashedAfter, r.there)
	if err != nil {
		return nil, err
	}
	return diagnose.Problems(facts), nil
}

// repair is the work on the problems of one moment.
type repair struct {
	*apply.Applier
	asked    Options
	snapshot *observed.Snapshot
	there    state.Routers
	defs     map[lease.Group]*lease.Definition
	// ended are the deployment groups whose definition was applied, or whose routes were moved, with
	// what came of it.
	ended map[ending]error
	// mended are the problems of which the mend did not fail, with the lines that say so.
	mended []mended
	left   int
}

// mended is a problem that is repaired, unless another look still finds it.
type mended struct {
	problem state.Problem
	event   report.Event
}

// chosen are the problems that are named; all where none is.
func (r *repair) chosen(problems []state.Problem) ([]state.Problem, error) {
	if r.asked.Namespace != "" {
		problems = diagnose.InNamespace(problems, r.snapshot.List(), r.asked.Namespace)
	}
	if len(r.asked.Problems) == 0 {
		return problems, nil
	}
	unknown := slices.DeleteFunc(slices.Clone(r.asked.Problems), func(name string) bool {
		return slices.ContainsFunc(problems, func(p state.Problem) bool { return p.Name() == name })
	})
	if len(unknown) > 0 {
		return nil, &NoProblemError{Names: unknown}
	}
	return slices.DeleteFunc(problems, func(p state.Problem) bool { return !slices.Contains(r.asked.Problems, p.Name()) }), nil
}

// run mends the problems. Definitions come last, when what they may need has been given up.
func (r *repair) run(ctx context.Context, problems []state.Problem, count func()) error {
	r.mended = nil
	for _, apply := range []bool{false, true} {
		for _, p := range problems {
			if r.byDefinition(p) != apply {
				continue
			}
			if err := r.one(ctx, p, apply); err != nil {
				return err
			}
			count()
		}
	}
	return r.checkMended(ctx)
}

// checkMended looks again, and says of each problem that was mended whether it is gone: a write that changed
// nothing, or that one of Akash's operators has undone, repairs nothing.
func (r *repair) checkMended(ctx context.Context) error {
	if len(r.mended) == 0 {
		return nil
	}
	var found []state.Problem
	err := r.See(func() (err error) {
		found, err = r.find(ctx)
		return err
	})
	if err != nil {
		return fmt.Errorf("%d problems were worked on, and whether they are gone cannot be seen: %w", len(r.mended), err)
	}
	for _, m := range r.mended {
		p := m.problem
		if i := slices.IndexFunc(found, func(now state.Problem) bool { return now.Same(p) }); i >= 0 {
			r.left++
			m.event.Action, m.event.Next = report.Left, cmp.Or(p.Command, "kubectl akash-net repair "+p.Name())
			m.event.Message = fmt.Sprintf("it is still there after this: %s: %s", m.event.Message, found[i].Message)
		}
		r.Send(m.event)
	}
	return r.forgetEnded(ctx, found)
}

// forgetEnded deletes the definitions that are kept of leases which hold nothing any more, now that what was wrong with
// them is mended.
func (r *repair) forgetEnded(ctx context.Context, found []state.Problem) error {
	for _, p := range found {
		if p.Problem != state.StrayDefinition {
			continue
		}
		if _, err := r.do(ctx, p.Mend); err != nil && !errors.Is(err, report.ErrChanged) {
			return err
		}
	}
	return nil
}

// one mends a problem, or says why it is left. The error is one after which there is no going on.
func (r *repair) one(ctx context.Context, p state.Problem, apply bool) error {
	e := report.Event{Time: time.Now(), Action: report.Repaired, Lease: leaseOf(p), Kind: p.Problem, Namespace: p.Namespace, Name: p.Thing, Message: p.Plan}
	named := len(r.asked.Problems) > 0
	if def := r.defs[groupOf(p.Mend)]; apply && def != nil {
		e.Message = "apply the definition at " + place(def.At) + " again"
	}
	if asked := apply || named && p.Named; p.Manual && !asked {
		if named || !p.Sound {
			r.left++
		}
		e.Action, e.Message, e.Next = report.Left, p.Message+"; "+p.Plan, p.Command
		r.Send(e)
		return nil
	}
	note, err := r.mend(ctx, p, apply)
	switch {
	case err != nil && (ctx.Err() != nil || command.CannotUndo(err)):
		return err
	case err != nil:
		if half, ok := errors.AsType[*report.HalfError](err); ok {
			r.Options.Turn.Leave(half.Lease.Group())
		}
		r.left++
		e.Action, e.Message = report.Left, fmt.Sprintf("%s; this failed: %s: %s", p.Message, e.Message, strings.Join(strings.Fields(err.Error()), " "))
		e.Next = cmp.Or(p.Command, "kubectl akash-net repair "+p.Name())
	default:
		if note != "" {
			e.Message += "; " + note
		}
		r.mended = append(r.mended, mended{p, e})
		return nil
	}
	r.Send(e)
	return nil
}

// mend does what mends a problem. The note is what people have to do beside it.
func (r *repair) mend(ctx context.Context, p state.Problem, apply bool) (note string, err error) {
	if _, ok := p.Mend.(state.DropReservation); ok { // it is no claim on a thing, and pinned
		return r.do(ctx, p.Mend)
	}
	if _, moves := p.Mend.(state.MoveRoutes); !apply && !moves {
		if err := r.unmoved(ctx, p.Thing); err != nil {
			return "", err
		}
		return r.do(ctx, p.Mend)
	}
	definition, _ := p.Mend.(state.ApplyDefinition)
	g := groupOf(p.Mend)
	work := ending{group: g, prune: definition.Prune || r.defs[g] != nil}
	err, ended := r.ended[work]
	switch {
	case ended:
	case apply:
		err = r.define(ctx, g, work.prune)
	default:
		err = r.migrate(ctx, g)
	}
	r.ended[work] = err
	return "", err
}

// leaseOf is the lease of a problem; of a deployment group it has the group alone.
func leaseOf(p state.Problem) lease.ID {
	if id, err := lease.ParseID(p.Lease); err == nil {
		return id
	}
	g, err := lease.ParseGroup(p.Lease)
	if err != nil {
		return lease.ID{}
	}
	return lease.ID{Owner: g.Owner, DSeq: g.DSeq, GSeq: g.GSeq}
}

// place is the file and the line of a definition.
func place(at lease.Place) string {
	if at.Line == 0 {
		return at.File
	}
	return fmt.Sprintf("%s:%d", at.File, at.Line)
}

// mending is the work on the claims and objects of one lease.
type mending struct{ *records.Records }
