package repair

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/akash-net/kubectl-akash-net/apply"
	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/apply/diagnosis"
	"github.com/akash-net/kubectl-akash-net/apply/execute"
	"github.com/akash-net/kubectl-akash-net/apply/migrate"
	"github.com/akash-net/kubectl-akash-net/apply/reading"
	"github.com/akash-net/kubectl-akash-net/apply/records"
	"github.com/akash-net/kubectl-akash-net/engine"
	"github.com/akash-net/kubectl-akash-net/engine/observed"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/kept"
)

// byEngine is what the engine does for a fix: as what allocations stay, and on what it rests that objects go.
var byEngine = map[state.Way]engine.Fix{
	state.Follow:        {Stay: engine.Followed},
	state.GiveUp:        {Stay: engine.GivenUp},
	state.EndRun:        {Stay: engine.Unmarked},
	state.DeleteObjects: {Rest: engine.Unentitled},
	state.Reject:        {Stay: engine.Reserved, Rest: engine.Unchanged},
}

// engineFix returns what the engine does for a fix, and for which deployment group.
func (r *repair) engineFix(f *state.Fix) (g lease.Group, out engine.Fix) {
	out = byEngine[f.Do]
	if out.Gone = f.Namespace; f.Unserved {
		out.Stay, out.Rest = engine.Reserved, engine.Unserved
	}
	if g = cmp.Or(f.Parts.Group, f.Group); f.Parts.Claim != nil {
		out.Claim, out.Keys = cmp.Or(r.snapshot.Claim(f.Parts.Claim.Name()), f.Parts.Claim), f.Parts.Keys // as an earlier repair has left it
	}
	for _, ref := range f.Objects {
		live, id := r.live(ref), lease.ID{}
		if live != nil {
			id = r.snapshot.Ownership(live).Lease
		}
		switch {
		case f.Do == state.Follow:
			g, out.Declares = id.Group(), append(out.Declares, r.declaration(ref))
		case live != nil:
			out.Objects = append(out.Objects, observed.Object{Kind: kinds.Of(ref.Kind), Live: live, Group: id.Group(), Lease: id})
			g = cmp.Or(g, id.Group())
		}
	}
	if ref := f.Undeclared; ref.Name != "" {
		ref.Namespace = r.command.Options.Config.ManifestNamespace
		out.Declares = []engine.Declaration{r.declaration(ref)}
	}
	return g, out
}

// declaration returns an object of Akash's as it was read.
func (r *repair) declaration(ref state.ObjectRef) engine.Declaration {
	return engine.Declaration{Key: engine.Key{Kind: kinds.Of(ref.Kind), Namespace: ref.Namespace, Name: ref.Name}, Seen: r.live(ref)}
}

// fixByEngine does what the engine does for a fix: for those of all problems of the run at once, the first time that it is called.
func (r *repair) fixByEngine(ctx context.Context, f *state.Fix) error {
	if r.fixed == nil {
		r.fixed = map[*state.Fix]error{}
		r.fixAll(ctx)
	}
	var errs []error
	for _, each := range append(f.Each, f) {
		errs = append(errs, r.fixed[each])
	}
	return report.Gather(errs)
}

// fixAll lets the engine do what it does for the problems of the run.
func (r *repair) fixAll(ctx context.Context) {
	of, wants := map[lease.Group][]*state.Fix{}, []engine.Want{}
	for _, p := range r.problems {
		if !r.willRepair(p) {
			continue
		}
		for _, f := range append(p.Fix.Each, p.Fix) {
			g, fix := r.engineFix(f)
			if _, is := byEngine[f.Do]; !is || fix.Claim == nil && len(fix.Objects) == 0 || slices.Contains(of[g], f) {
				continue
			}
			if fix.Claim == nil { // else the engine looks at it
				if err := r.checkClaims(ctx, p.Thing); err != nil {
					r.fixed[f] = err
					continue
				}
			}
			i := slices.IndexFunc(wants, func(w engine.Want) bool { return w.Request.Lease.Group() == g })
			if i < 0 {
				id := lease.ID{Owner: g.Owner, DSeq: g.DSeq, GSeq: g.GSeq}
				i, wants = len(wants), append(wants, engine.Want{Request: state.Request{Lease: id}, Release: &engine.Release{}})
			}
			of[g], wants[i].Release.Fixes = append(of[g], f), append(wants[i].Release.Fixes, fix)
		}
	}
	leases, err := r.work(ctx, wants...)
	for _, fixes := range of {
		for _, f := range fixes {
			r.fixed[f] = err // of work that did not begin
		}
	}
	for _, one := range leases {
		for i, f := range of[one.Want.Request.Lease.Group()] {
			r.fixed[f] = resultOf(one.Outcome.Fixed, i, one.Err())
		}
	}
}

// resultOf is why a fix was not done, nil if it was: whatever has ended the work on its lease later changes nothing of what was done.
func resultOf(fixed []error, i int, ended error) error {
	if i < len(fixed) && (ended == nil || !errors.Is(fixed[i], report.ErrChanged)) { // else nothing was read, or done
		return fixed[i]
	}
	return ended
}

// options are those of a command that is a part of the repair. The line of the problem tells of it.
func (r *repair) options() command.Options {
	opts := r.command.Options
	opts.Turn, opts.Report, opts.Progress = r.turn, nil, nil
	return opts
}

// work lets the engine work on wants, by what the problems were found in, and reads that again only if others may have changed it. It
// returns the leases whose work has ended; each knows its error. What it had to skip is an error.
func (r *repair) work(ctx context.Context, wants ...engine.Want) (ended []*execute.Lease, err error) {
	first, opts, skipped := r.snapshot, r.options(), error(nil)
	opts.Report = func(e report.Event) {
		switch e.Action {
		case report.Waiting:
			r.command.Send(e)
		case report.Skipped:
			skipped = errors.New(e.Message)
		}
	}
	c := command.New(r.command.Cluster, opts)
	err = execute.Work{
		Command: c,
		Read: func(ctx context.Context) (s *observed.Snapshot, err error) {
			if s, first = first, nil; s == nil {
				s, err = reading.ReadWithOperators(ctx, c, diagnosis.Reading)
			}
			return s, err
		},
		Wants: func() []engine.Want { return wants },
		Ended: func(_ context.Context, leases []*execute.Lease) { ended = append(ended, leases...) },
	}.Run(ctx)
	for _, one := range ended { // what repairs that follow are to find
		for _, claims := range []map[string]*state.Claim{one.Outcome.Given, one.Outcome.Claims} {
			for name, now := range claims {
				r.snapshot = r.snapshot.WithClaim(name, now)
			}
		}
	}
	if failed, ok := errors.AsType[*report.LeaseError](err); ok {
		err = failed.Err // the line of the problem names the lease
	}
	return ended, cmp.Or(err, skipped)
}

// writeRecords writes the DNS records of a host anew, whoever has changed them.
func (r *repair) writeRecords(ctx context.Context, f *state.Fix) error {
	wanted, err := records.Wanted(ctx, r.command, r.snapshot, f.Value, f.Part)
	if err != nil {
		return err
	}
	_, err = r.work(ctx, engine.Want{Request: state.Request{Lease: f.Part.Lease}, Write: &engine.Write{Records: wanted.Objects}})
	return err
}

// takeServed claims what a lease already serves. The lease earns it as by an apply: the host is proved if that is required,
// nobody else serves it, and enough addresses are left for the orders that have reserved some.
func (r *repair) takeServed(ctx context.Context, f *state.Fix) error {
	want := engine.Want{Request: f.Hold.Request(), Adopt: r.command.Options.Adopt}
	_, serving := r.engineFix(f)
	if want.Serves = serving.Objects; len(want.Serves) == 0 {
		return report.ErrChanged
	}
	if r.command.Options.Config.OwnDomain(f.Hold.Thing) == "" { // else it is given to this lease: nothing else is found without a claim
		if err := apply.New(r.command.Cluster, r.options()).Prove(ctx, []state.Request{want.Request})[0]; err != nil {
			return err
		}
	}
	_, err := r.work(ctx, want)
	return err
}

// release gives up a claim for all its holders, like the release command.
func (r *repair) release(ctx context.Context, f *state.Fix) error {
	return apply.New(r.command.Cluster, r.options()).Release(ctx, f.Parts.Claim.Groups(), f.Parts.Claim.Thing)
}

// groupRun is an apply of a deployment group's definition, or a move of its routes: of the kept one, heal is true.
type groupRun struct {
	group                lease.Group
	prune, reclaim, heal bool
}

// groupRunOf returns what fixes a problem of a deployment group as a whole.
func (r *repair) groupRunOf(p state.Problem) groupRun {
	g := groupOf(p)
	return groupRun{g, p.Fix.Prune || r.defs[g] != nil, p.Fix.Reclaim, r.defs[g] == nil}
}

// runGroup applies the definition of a problem's deployment group or moves its routes, unless that was done.
func (r *repair) runGroup(ctx context.Context, p state.Problem) error {
	work := r.groupRunOf(p)
	if _, done := r.groupRuns[work]; !done && r.byDefinition(p) {
		r.applyDefinitions(ctx)
	} else if !done {
		r.groupRuns[work] = r.migrateRoutes(ctx, work.group)
	}
	return r.groupRuns[work]
}

// applyDefinitions applies the definitions that fix problems of the run: the given ones, and the stored ones, limited to what the leases
// hold. Those that are to be applied in the same way are applied at once, since an apply reads the whole cluster.
func (r *repair) applyDefinitions(ctx context.Context) {
	of, order := map[groupRun][]*lease.Definition{}, []groupRun{}
	for _, p := range r.problems {
		if !r.byDefinition(p) {
			continue
		}
		work := r.groupRunOf(p)
		if _, known := r.groupRuns[work]; known {
			continue
		}
		def, err := r.defs[work.group], error(nil)
		if work.heal {
			if def, err = r.snapshot.Definitions[kept.Name(work.group)].Decode(); err == nil { // one that is refused is no matter of the others
				err = apply.New(r.command.Cluster, r.options()).Validate([]*lease.Definition{def})
			}
		}
		if r.groupRuns[work] = err; err != nil {
			continue
		}
		if work.group = (lease.Group{}); of[work] == nil {
			order = append(order, work)
		}
		of[work] = append(of[work], def)
	}
	for _, work := range order {
		opts := r.options()
		if opts.Prune, opts.Reclaim, opts.Heal = work.prune, work.reclaim || opts.Reclaim, work.heal; work.heal {
			opts.Prove = nil // nothing is claimed
		}
		failed, others := report.ByLease(apply.New(r.command.Cluster, opts).Apply(ctx, of[work]))
		for _, def := range of[work] {
			work.group = def.Lease.Group()
			r.groupRuns[work] = report.Gather(slices.Concat(failed[work.group], others))
		}
	}
}

// migrateRoutes moves the routes of a deployment group to the configured kind, and reports what the new routes lack.
func (r *repair) migrateRoutes(ctx context.Context, g lease.Group) error {
	opts := r.options()
	opts.Report = func(e report.Event) {
		if e.Action == report.Lacks || e.Action.Undone() {
			r.command.Send(e)
		}
	}
	return migrate.Group(ctx, command.New(r.command.Cluster, opts), g)
}
