// Package apply implements the commands: it takes and releases claims, writes objects by server-side apply, prunes,
// waits, repairs, and reports its progress as events. Package state decides what a command does, and package render
// what it writes; packages cluster and ledger talk to the API server.
package apply

import (
	"context"
	"slices"
	"time"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/apply/execute"
	"github.com/akash-net/kubectl-akash-net/apply/live"
	"github.com/akash-net/kubectl-akash-net/apply/reading"
	"github.com/akash-net/kubectl-akash-net/apply/records"
	"github.com/akash-net/kubectl-akash-net/engine"
	"github.com/akash-net/kubectl-akash-net/engine/observed"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
)

// Applier runs commands on a cluster.
type Applier struct {
	// Command is the command that it runs.
	Command *command.Command
	// seen is what was read of the cluster for it; nil if it has to read.
	seen *observed.Snapshot
}

// New returns an Applier for a cluster.
func New(c *cluster.Cluster, opts command.Options) *Applier {
	return &Applier{Command: command.New(c, opts)}
}

// Invalid returns what is wrong with a definition by itself.
func Invalid(def *lease.Definition, cfg *config.ProviderConfig) lease.Problems {
	_, _, problems := requestOf(def, cfg)
	return problems
}

// Repeated returns a problem if a definition before this one defines the same deployment group. first has where each is defined.
func Repeated(first map[lease.Group]lease.Place, def *lease.Definition) (problems lease.Problems) {
	group := def.Lease.Group()
	if at, twice := first[group]; twice {
		problems.Add(def.At, "deployment group %s is defined twice in one run (first in %s)", group, at)
	}
	first[group] = def.At
	return problems
}

// requestOf returns what a definition routes, what it asks for, and what is wrong with that.
func requestOf(def *lease.Definition, cfg *config.ProviderConfig) (*lease.Definition, state.Request, lease.Problems) {
	routes := def.Routes()
	req, problems := state.NewRequest(routes, cfg)
	return routes, req, append(problems, records.RecordProblems(routes, cfg)...)
}

// Apply claims what each lease must hold, writes its objects, prunes, and waits. A lease that is refused before its first object keeps
// nothing; the failure of one does not stop the others. The error joins those of all leases.
func (a *Applier) Apply(ctx context.Context, defs []*lease.Definition) error {
	applies, err := a.prepare(defs)
	if err != nil {
		return err
	}
	requests := make([]state.Request, len(applies))
	for i, one := range applies {
		requests[i] = one.request
	}
	unproved := a.Prove(ctx, requests)
	work := a.applying(applies)
	work.Barred = func(i int, _ *observed.Snapshot) error { return unproved[i] }
	work.Done = func(ctx context.Context, one *execute.Lease) error {
		return a.awaitLive(ctx, one, applies[one.Place])
	}
	return work.Run(ctx)
}

// applied is a definition that is applied: what it routes, and what it asks for.
type applied struct {
	def, routes *lease.Definition
	request     state.Request
}

// prepare validates all definitions before the command reads or writes anything.
func (a *Applier) prepare(defs []*lease.Definition) ([]applied, error) {
	var problems lease.Problems
	out := make([]applied, 0, len(defs))
	seen := map[lease.Group]lease.Place{}
	for _, def := range defs {
		routes, request, found := requestOf(def, a.Command.Options.Config)
		problems = append(append(problems, found...), Repeated(seen, def)...)
		out = append(out, applied{def, routes, request})
	}
	if errs := problems.Errors(); len(errs) > 0 {
		return nil, errs
	}
	return out, nil
}

// Validate returns what is wrong with definitions by themselves.
func (a *Applier) Validate(defs []*lease.Definition) error {
	_, err := a.prepare(defs)
	return err
}

// applying is the work on definitions.
func (a *Applier) applying(applies []applied) execute.Work {
	groups, endpoints := make([]lease.Group, len(applies)), false
	for i, one := range applies {
		groups[i] = one.request.Lease.Group()
		endpoints = endpoints || len(one.request.Endpoints) > 0
	}
	return execute.Work{
		Command: a.Command,
		Read: func(ctx context.Context) (*observed.Snapshot, error) {
			if a.seen != nil {
				return a.seen, nil
			}
			return reading.ReadWithOperators(ctx, a.Command, reading.Reading{
				Addresses: endpoints, Pools: a.Command.Options.Config.IP.Mode == config.ModeDedicated,
				Further: kinds.RecordsOf(a.Command.Options.Config), Definitions: groups, Holders: !a.Command.Options.Heal,
			})
		},
		Wants: func() []engine.Want {
			wants := make([]engine.Want, len(applies))
			for i, one := range applies {
				wants[i] = a.wantOf(one)
			}
			return wants
		},
		Ended: func(_ context.Context, leases []*execute.Lease) {
			for _, one := range leases {
				reportServed(one)
			}
		},
	}
}

// wantOf returns what a lease wants.
func (a *Applier) wantOf(one applied) engine.Want {
	apply := &engine.Apply{
		Definition: one.routes, Kinds: render.Kinds(one.routes, a.Command.Options.Config), Heal: a.Command.Options.Heal,
		Source: a.Command.Options.Source, Target: a.Command.Options.Target, Only: a.Command.Options.ChangesOf(one.request.Lease),
	}
	if a.Command.Options.Workloads != nil && one.def.Workloads != nil {
		apply.Workloads = one.def
	}
	return engine.Want{Request: one.request, Prune: a.Command.Options.Prune, Adopt: a.Command.Options.Adopt, Owned: a.Command.Options.Owned, Obeys: a.Command.Options.Obeys, Manifest: one.def.Manifest, Apply: apply}
}

// reportServed reports the notes that could not be written, and the things that a lease did not give up, because something still serves
// them.
func reportServed(one *execute.Lease) {
	reportUnnoted(one)
	for _, thing := range one.Outcome.Left.Served {
		one.X.Event(report.Kept, string(thing.Kind), "", thing.Thing, thing.Why())
	}
}

// awaitLive waits, after the claims are final, until the written objects serve.
func (a *Applier) awaitLive(ctx context.Context, one *execute.Lease, of applied) error {
	x, done := one.X, one.Outcome.Applied
	status, waits := "applied", a.Command.Options.Wait > 0 && !done.Stays
	var granted []string
	if !done.Began.IsZero() {
		x.WaitAnew(max(a.Command.Options.Wait-time.Since(done.Began), 0))
	}
	if waits {
		known, err := false, error(nil)
		if granted, known, err = a.awaitAll(ctx, one, of); err != nil {
			return err
		}
		if serves := len(done.Desired) > 0 || one.Work != nil; known && !done.Unlike && serves {
			status = "live"
		}
	}
	if status == "applied" {
		for _, h := range done.Unknown {
			x.Event(report.Unconfirmed, "dns", "", h.Name, h.Lacks(a.Command.Options.Config))
		}
	}
	x.Command.Send(report.Event{
		Time: time.Now(), Action: report.Done, Lease: x.Request.Lease, Kind: "lease", Name: x.Request.Lease.String(),
		Message: status, Summary: appliedSummary(one, granted),
	})
	return nil
}

// awaitAll waits for operators, routers, addresses, records and workloads. known is true if a controller reports on all routes.
func (a *Applier) awaitAll(ctx context.Context, one *execute.Lease, of applied) (granted []string, known bool, err error) {
	done := one.Outcome.Applied
	l := &live.Lease{X: one.X, Definition: of.routes, Desired: done.Desired, Claims: claimsOf(one), Work: one.Work}
	if err = l.Operators(ctx); err != nil {
		return nil, false, err
	}
	if known, err = l.Accepted(ctx); err == nil {
		granted, err = l.Granted(ctx)
	}
	if err == nil && len(done.Stuck) > 0 {
		err = &report.TimeoutError{After: a.Command.Options.Wait.Round(time.Millisecond), Waiting: done.Stuck}
	}
	if l.Records = done.Records; err == nil && len(done.Unknown) > 0 {
		l.Records, err = a.applyLate(ctx, one, of)
	}
	if err == nil {
		err = l.Served(ctx)
	}
	if err == nil && one.Work != nil {
		err = l.RolledOut(ctx)
	}
	return granted, known, err
}

// applyLate waits until the cluster publishes where hosts are reached, and applies the lease again, with the records that are known by
// then. It returns the records.
func (a *Applier) applyLate(ctx context.Context, one *execute.Lease, of applied) ([]render.Object, error) {
	x, done := one.X, one.Outcome.Applied
	missing := len(done.Unknown)
	waited := x.Await(ctx, "the cluster to publish where "+lease.Count(missing, "host")+" is reached", func(ctx context.Context) (waiting []string, _ error) {
		targets, err := records.Targets(ctx, x.Snapshot, a.Command.Cluster, a.Command.Options.Config, x.Request.Lease, done.Unknown, true)
		if err != nil {
			return nil, err
		}
		for _, h := range done.Unknown {
			if targets[h.Name].Empty() {
				waiting = append(waiting, "host "+h.Name+": "+h.Lacks(a.Command.Options.Config))
			}
		}
		missing = len(waiting)
		return waiting, nil
	})
	if missing == len(done.Unknown) {
		return done.Records, waited
	}
	opts := a.Command.Options
	opts.Progress = nil
	opts.Report = func(e report.Event) {
		if e.Action != report.Unchanged && e.Action != report.Withheld && !e.Action.Undone() && e.Action != report.Failed {
			x.Event(e.Action, e.Kind, e.Namespace, e.Name, e.Message)
		}
	}
	handled := done.Records
	late := New(a.Command.Cluster, opts).applying([]applied{of})
	late.Fresh = true
	late.Done = func(_ context.Context, again *execute.Lease) error {
		handled = again.Outcome.Applied.Records
		return nil
	}
	if err := late.Run(ctx); err != nil {
		return handled, err
	}
	return handled, waited
}

// claimsOf returns the claims on which a lease relies.
func claimsOf(one *execute.Lease) (claims []*state.Claim) {
	for _, h := range one.Outcome.Things {
		claims = append(claims, one.Outcome.Claims[h.Name()])
	}
	return claims
}

// appliedSummary counts what a lease holds; granted are the addresses that MetalLB has chosen.
func appliedSummary(one *execute.Lease, granted []string) *report.Summary {
	s := summaryOf(one)
	for _, host := range s.Hosts {
		if slices.ContainsFunc(one.Want.Apply.Definition.Unrouted(), func(h lease.Host) bool { return h.Name == host }) {
			s.Unrouted++
		}
	}
	s.Addresses = append(s.Addresses, granted...)
	slices.Sort(s.Addresses)
	s.Addresses = slices.Compact(s.Addresses)
	return s
}
