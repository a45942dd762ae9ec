package apply

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/akash-net/kubectl-akash-net/apply/execute"
	"github.com/akash-net/kubectl-akash-net/apply/live"
	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/apply/published"
	"github.com/akash-net/kubectl-akash-net/engine"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/state"
)

// KindThing is the kind in events about a name that nobody holds, so that it is unknown whether it is a host or an
// address.
const KindThing = "thing"

// Transfer moves hosts and addresses from the deployment groups of an owner to a lease of the same owner, all or none.
// The things are never free meanwhile: each claim changes hands by one forced write, pinned to what was read. Transfer
// skips things that nobody holds, as Akash does, and fails for things of another owner.
//
// It creates routes for what the lease is known to want, with the options that it asked for: by its stored definition,
// or by the notes of what was withheld from it. If def is not nil, Transfer applies it instead. Routes that nobody
// asked for stay until the lease's next apply.
func (a *Applier) Transfer(ctx context.Context, to lease.ID, things []string, def *lease.Definition) error {
	const looks = 10
	for n := range looks {
		opts := a.Command.Options
		opts.Report = func(e report.Event) {
			// What it was to move has changed hands before it moved anything: it looks at that again.
			if e.Action != report.Failed || !errors.Is(e.Err, report.ErrChanged) || n == looks-1 {
				a.Command.Send(e)
			}
		}
		opts.Prune = def != nil && opts.Prune
		t := &transfer{applier: New(a.Command.Cluster, opts), to: to, things: things, def: def}
		if err := t.run(ctx); !errors.Is(err, report.ErrChanged) || n == looks-1 {
			return err
		}
	}
	return nil
}

// transfer is one try to move things to a lease.
type transfer struct {
	applier  *Applier
	to       lease.ID
	things   []string
	def      *lease.Definition
	snapshot *observed.Snapshot
}

func (t *transfer) run(ctx context.Context) error {
	want, err := t.want()
	if err != nil {
		return err
	}
	work := execute.Work{
		Command: t.applier.Command,
		Read: func(ctx context.Context) (s *observed.Snapshot, err error) {
			if s, err = observed.ReadAll(ctx, t.applier.Command, t.to.Group()); err == nil {
				t.snapshot = s
			}
			return s, err
		},
		Wants: func() []engine.Want { return []engine.Want{want(t.snapshot)} },
		Ended: func(_ context.Context, leases []*execute.Lease) { t.reportMissing(leases) },
		Done:  t.await,
	}
	if t.def == nil {
		work.GoesOn = "the next apply of the lease"
	}
	return work.Run(ctx)
}

// want returns what the lease wants, by what was read.
func (t *transfer) want() (func(*observed.Snapshot) engine.Want, error) {
	if t.def != nil {
		applies, err := t.applier.prepare([]*lease.Definition{t.def})
		if err != nil {
			return nil, err
		}
		return func(s *observed.Snapshot) engine.Want {
			want := t.applier.wantOf(applies[0])
			want.Apply.Workloads = nil
			want.Transfer = &engine.Transfer{Things: t.things, From: t.holders(s), Whole: true}
			return want
		}, nil
	}
	cfg := *t.applier.Command.Options.Config
	cfg.Ingress.StaticHosts = false // hosts that the provider gives the lease are not moved
	t.applier.Command.Options.Config = &cfg
	return func(s *observed.Snapshot) engine.Want {
		known := t.known(s)
		request, _ := state.NewRequest(known.def, &cfg) // what the configuration does not allow is looked for in what moves
		return engine.Want{
			Request:  request,
			Apply:    &engine.Apply{Definition: known.def, Kinds: render.Kinds(known.def, &cfg)},
			Transfer: &engine.Transfer{Things: t.things, From: t.holders(s), Kept: known.kept},
		}
	}, nil
}

// claims returns the claims on a thing.
func (t *transfer) claims(s *observed.Snapshot, thing string) []*state.Claim {
	return engine.ClaimsOn(t.to.Owner, thing, s.Claim, func(key string) []*state.Claim { return s.ByClaim().Endpoints[key] })
}

// holders returns the other deployment groups for which the transfer may write.
func (t *transfer) holders(s *observed.Snapshot) (groups []lease.Group) {
	for _, thing := range t.things {
		for _, c := range t.claims(s, thing) {
			for _, g := range engine.Holders(c, t.to) {
				if !slices.Contains(groups, g) {
					groups = append(groups, g)
				}
			}
		}
	}
	return groups
}

// reportMissing reports the things that nobody holds.
func (t *transfer) reportMissing(leases []*execute.Lease) {
	for _, one := range leases {
		for _, thing := range t.things {
			if len(t.claims(one.X.Snapshot, thing)) == 0 && !errors.Is(one.Err(), report.ErrChanged) {
				one.X.Event(report.Skipped, KindThing, "", thing, t.whyNotFound(one.X.Snapshot, thing))
			}
		}
	}
}

// whyNotFound says why no claim on a thing can be moved, and what to do.
func (t *transfer) whyNotFound(s *observed.Snapshot, thing string) string {
	if a, err := netip.ParseAddr(thing); err == nil {
		if endpoint := s.EndpointWith(a); endpoint != nil {
			return chosenFor(endpoint)
		}
	}
	for _, c := range s.ByClaim().Things[strings.ToLower(thing)] {
		if c.Deleting {
			return "its claim is being deleted: kubectl akash-net explain " + thing
		}
		if c.Unreadable != "" {
			return "its claim cannot be read (" + c.Unreadable + "): kubectl akash-net repair " + state.UnreadableClaim + "/" + thing
		}
	}
	if uses := s.HostUses[strings.ToLower(thing)]; len(uses) > 0 {
		return "nobody has claimed it, but objects use it: kubectl akash-net explain " + thing
	}
	return "nobody holds it; reserve it or apply a definition that names it"
}

// await waits until Akash's operators have created what was left to them.
func (t *transfer) await(ctx context.Context, one *execute.Lease) error {
	done := one.Outcome.Applied
	if t.applier.Command.Options.Wait > 0 && !done.Stays {
		l := &live.Lease{X: one.X, Definition: one.Want.Apply.Definition, Desired: done.Desired, Claims: claimsOf(one)}
		if err := l.Operators(ctx); err != nil {
			return err
		}
	}
	for _, h := range done.Unknown {
		one.X.Event(report.Unconfirmed, "dns", "", h.Name, published.Missing(t.applier.Command.Options.Config, h))
	}
	if t.def != nil {
		one.X.Command.Send(report.Event{
			Time: time.Now(), Action: report.Done, Lease: t.to, Kind: "lease", Name: t.to.String(), Message: "applied", Summary: appliedSummary(one, nil),
		})
	}
	return nil
}
