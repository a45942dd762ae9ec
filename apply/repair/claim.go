package repair

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/akash-net/kubectl-akash-net/apply"
	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/apply/diagnosis"
	"github.com/akash-net/kubectl-akash-net/apply/execute"
	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/apply/reading"
	"github.com/akash-net/kubectl-akash-net/engine"
	"github.com/akash-net/kubectl-akash-net/engine/observed"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/state"
)

// byEngine returns what the engine does for a fix, and for which deployment group; is is false for a fix in another way.
func (r *repair) byEngine(f *state.Fix) (g lease.Group, out engine.Fix, is bool) {
	if g = cmp.Or(f.Parts.Group, f.Group); f.Parts.Claim != nil {
		out.Claim, out.Keys = cmp.Or(r.snapshot.Claim(f.Parts.Claim.Name()), f.Parts.Claim), f.Parts.Keys // as an earlier repair has left it
	}
	for _, ref := range f.Objects {
		live := r.live(ref)
		id := lease.ID{}
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
	switch {
	case f.Do == state.Follow:
		out.Stay = engine.Followed
	case f.Do == state.GiveUp:
		out.Gone = f.Namespace
	case f.Do == state.EndRun:
		out.Stay = engine.Unmarked
	case f.Do == state.DeleteObjects && f.Unserved:
		out.Stay, out.Rest = engine.Reserved, engine.Unserved
	case f.Do == state.DeleteObjects:
		out.Rest = engine.Unentitled
	case f.Do == state.Reject:
		if out.Rest = engine.Unchanged; f.Undeclared != "" {
			ref := state.ObjectRef{Kind: kinds.ProviderHost.Singular, Namespace: r.command.Options.Config.ManifestNamespace, Name: f.Undeclared}
			if f.Object().Kind == kinds.Service.Singular {
				ref.Kind = kinds.ProviderLeasedIP.Singular
			}
			out.Declares = []engine.Declaration{r.declaration(ref)}
		}
	default:
		return g, out, false
	}
	return g, out, true
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
	of, wants := map[lease.Group][]*state.Fix{}, map[lease.Group]*engine.Release{}
	for _, p := range r.problems {
		if p.Fix == nil || !r.willRepair(p) {
			continue
		}
		for _, f := range append(p.Fix.Each, p.Fix) {
			g, fix, is := r.byEngine(f)
			if !is || fix.Claim == nil && len(fix.Objects) == 0 || slices.Contains(of[g], f) {
				continue
			}
			if wants[g] == nil {
				wants[g] = &engine.Release{}
			}
			of[g], wants[g].Fixes = append(of[g], f), append(wants[g].Fixes, fix)
		}
	}
	var all []engine.Want
	for _, g := range slices.SortedFunc(maps.Keys(wants), lease.Group.Compare) {
		all = append(all, engine.Want{Request: state.Request{Lease: lease.ID{Owner: g.Owner, DSeq: g.DSeq, GSeq: g.GSeq}}, Release: wants[g]})
	}
	leases, err := r.work(ctx, all)
	for _, fixes := range of {
		for _, f := range fixes {
			r.fixed[f] = err // of work that did not begin
		}
	}
	for _, one := range leases {
		for name, now := range one.Outcome.Given {
			r.snapshot = r.snapshot.WithClaim(name, now)
		}
		for i, f := range of[one.Want.Request.Lease.Group()] {
			r.fixed[f] = cmp.Or(one.Err(), one.Outcome.Fixed[i])
		}
	}
}

// work lets the engine work on wants, by what the problems were found in, and reads that again only if others may have changed it. It
// returns the leases whose work has ended; each knows its error.
func (r *repair) work(ctx context.Context, wants []engine.Want) (ended []*execute.Lease, err error) {
	opts, first := r.options(), r.snapshot
	opts.Report = func(e report.Event) {
		switch e.Action {
		case report.Waiting:
			r.command.Send(e)
		case report.Skipped:
			r.skipped = e.Message
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
	if failed, ok := errors.AsType[*report.LeaseError](err); ok {
		err = failed.Err // the line of the problem names the lease
	}
	return ended, err
}

// write lets the engine write objects. What it had to skip is an error.
func (r *repair) write(ctx context.Context, want engine.Want) error {
	r.skipped = ""
	if _, err := r.work(ctx, []engine.Want{want}); err != nil || r.skipped == "" {
		return err
	}
	return errors.New(r.skipped)
}

// asChanged returns ErrChanged for an error which says that a claim or an object is not as it was read.
func asChanged(err error) error {
	if errors.Is(err, ledger.ErrAgain) || cluster.IsOvertaken(err) {
		return report.ErrChanged
	}
	return err
}

// checkClaims returns ErrChanged if the claims by which a problem was found have changed.
func (r *repair) checkClaims(ctx context.Context, thing string) error {
	if strings.Contains(thing, "/") { // an object, or a lease
		return nil
	}
	names := []string{state.HostName(thing)}
	if a, err := netip.ParseAddr(thing); err == nil {
		names = []string{state.AddressName(a)}
	} else if over := state.WildcardOver(thing); over != "" && r.snapshot.Claim(names[0]) == nil {
		names = append(names, state.HostName(over))
	}
	if r.snapshot.Claim(state.EndpointName(thing)) != nil {
		names = []string{state.EndpointName(thing)}
	}
	for _, name := range names {
		now, err := reading.ReadClaim(ctx, r.command.Ledger, name)
		if err != nil {
			return err
		}
		if !now.SaysAs(r.snapshot.Claim(name)) {
			return report.ErrChanged
		}
	}
	return nil
}

// release gives up a claim for all its holders, like the release command.
func (r *repair) release(ctx context.Context, f *state.Fix) error {
	c := f.Parts.Claim
	return apply.New(r.command.Cluster, r.options()).Release(ctx, c.Groups(), c.Thing)
}

// discard deletes an object of the ledger that is as it was read.
func (r *repair) discard(ctx context.Context, f *state.Fix) error {
	c := f.Parts.Claim
	err := r.command.Ledger.Delete(ctx, c)
	if !errors.Is(err, ledger.ErrAgain) {
		return err
	}
	now, err := r.command.Ledger.Get(ctx, c.Name())
	switch {
	case err != nil:
		return err
	case now != nil && now.UID == c.UID:
		return report.ErrChanged
	}
	return nil
}

// Follow lets the claims follow that Akash's provider has moved from or to one of these deployment groups: what Repair without names does
// about that, and nothing else. What it could not do it has reported.
func Follow(ctx context.Context, a *apply.Applier, crashedAfter time.Duration, groups []lease.Group) error {
	err := only(ctx, a, crashedAfter, func(p state.Problem) bool {
		return p.Fix.Is(state.Follow) && (slices.Contains(groups, p.Fix.Parts.Group) || slices.Contains(groups, leaseOf(p).Group()))
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
		return (p.Problem == state.CrashedRun || p.Problem == state.NamespaceGone) && slices.Contains(groups, leaseOf(p).Group())
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
		return !chosen(p) || suspended[leaseOf(p).Group()] || p.Fix.Is(state.Follow) && suspended[p.Fix.Parts.Group]
	}))
}

// takeServed claims what a lease already serves. The lease earns it as by an apply: the host is proved if that is required,
// nobody else serves it, and enough addresses are left for the orders that have reserved some.
func (r *repair) takeServed(ctx context.Context, m *state.Fix) error {
	want := engine.Want{Request: m.Hold.Request(), Adopt: r.command.Options.Adopt}
	for _, ref := range m.Objects {
		if live := r.live(ref); live != nil {
			want.Serves = append(want.Serves, observed.Object{Kind: kinds.Of(ref.Kind), Live: live, Group: want.Request.Lease.Group()})
		}
	}
	if len(want.Serves) == 0 {
		return report.ErrChanged
	}
	if err := r.proveServed(ctx, m.Hold); err != nil {
		return err
	}
	_, err := r.work(ctx, []engine.Want{want})
	if now, unread := reading.ReadClaim(ctx, r.command.Ledger, m.Hold.Name()); unread == nil {
		r.snapshot = r.snapshot.WithClaim(m.Hold.Name(), now)
	}
	return err
}

// proveServed asks for the proof of a host, as an apply does, if the command requires proofs.
func (r *repair) proveServed(ctx context.Context, want state.Hold) error {
	if r.command.Options.Prove == nil || want.Kind.HasPorts() || r.command.Options.Config.OwnDomain(want.Thing) != "" {
		return nil // the host is the provider's own, and given to this lease: nothing else is found without a claim
	}
	id := want.Parts[0].Lease
	if _, err := r.command.Options.Prove(ctx, id.Owner, want.Thing); err != nil {
		return &apply.UnprovedError{Lease: id, Hosts: []apply.UnprovedHost{{Host: want.Thing, Err: err}}}
	}
	return nil
}
