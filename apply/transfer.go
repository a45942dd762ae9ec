package apply

import (
	"cmp"
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/akash-net/kubectl-akash-net/apply/execute"
	"github.com/akash-net/kubectl-akash-net/apply/live"
	"github.com/akash-net/kubectl-akash-net/apply/reading"
	"github.com/akash-net/kubectl-akash-net/engine"
	"github.com/akash-net/kubectl-akash-net/engine/observed"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/kept"
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
			if s, err = reading.ReadAll(ctx, t.applier.Command, t.to.Group()); err == nil {
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
	return state.ClaimsOn(t.to.Owner, thing, s.Claim, s.Claims.Of)
}

// holders returns the other deployment groups for which the transfer may write.
func (t *transfer) holders(s *observed.Snapshot) (groups []lease.Group) {
	for _, thing := range t.things {
		for _, c := range t.claims(s, thing) {
			for _, g := range state.OtherHolders(c, t.to) {
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
	for _, c := range s.Claims.On(strings.ToLower(thing)) {
		if c.Deleting {
			return "its claim is being deleted: kubectl akash-net explain " + thing
		}
		if c.Unreadable != "" {
			return "its claim cannot be read (" + c.Unreadable + "): kubectl akash-net repair " + state.UnreadableClaim + "/" + thing
		}
	}
	if uses := s.HostUses.At(strings.ToLower(thing)); len(uses) > 0 {
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
		one.X.Event(report.Unconfirmed, "dns", "", h.Name, h.Lacks(t.applier.Command.Options.Config))
	}
	if t.def != nil {
		one.X.Command.Send(report.Event{
			Time: time.Now(), Action: report.Done, Lease: t.to, Kind: "lease", Name: t.to.String(), Message: "applied", Summary: appliedSummary(one, nil),
		})
	}
	return nil
}

// A transfer creates routes for what the new lease is known to ask for: by its stored definition, or by the notes of what
// was withheld from it. The definition is more complete: a note has no TLS, weights or headers.

// known is what a lease is known to ask for of the things that are transferred to it, with the definition that the ledger keeps.
type known struct {
	def  *lease.Definition
	kept *kept.Definition
}

// known returns what the lease is known to ask for. A note that disagrees with the stored definition belongs to a later request.
func (t *transfer) known(s *observed.Snapshot) known {
	out := known{&lease.Definition{Lease: t.to}, s.Definitions[kept.Name(t.to.Group())]}
	asked := state.Request{Lease: t.to}
	if def := t.stored(out.kept); def != nil {
		asked, _ = state.NewRequest(def, t.applier.Command.Options.Config)
		out.def = t.named(s, def, asked)
	}
	for _, thing := range t.things {
		for _, c := range t.claims(s, thing) {
			for _, w := range c.Waits {
				part := c.Part(w.For)
				if w.Lease != t.to || w.Definition == "" || w.Service == "" || part == nil || part.Lease.Group() == t.to.Group() ||
					agrees(w, asks(asked, c, w.For), out.def.Hash) {
					continue
				}
				out.def = withService(out.def, serviceOf(c, w))
				out.def.Hash = cmp.Or(out.def.Hash, w.Definition)
			}
		}
	}
	return out
}

// stored decodes the definition that the ledger keeps for the lease; nil if there is none, or it is another order's or provider's.
func (t *transfer) stored(d *kept.Definition) *lease.Definition {
	if d == nil || d.Deleting {
		return nil
	}
	def, err := d.Decode()
	if err != nil {
		t.applier.Command.Send(report.Event{
			Action: report.Skipped, Lease: t.to, Kind: "definition", Name: t.to.String(), Message: "what the ledger keeps cannot be understood: " + err.Error(),
		})
		return nil
	}
	if def.Lease != t.to {
		return nil
	}
	return def
}

// asks returns a part of a claim as a lease asks for it; nil if it does not.
func asks(r state.Request, c *state.Claim, key string) *state.Part {
	var parts []state.Part
	for _, h := range r.Hosts {
		if !c.Kind.HasPorts() && h.Host == c.Thing && !h.Own {
			parts = append(parts, h.Hold(r.Lease).Parts...)
		}
	}
	for _, e := range r.Endpoints {
		if c.Kind.HasPorts() && e.SharingKey == c.SharingKey {
			parts = append(parts, e.EndpointHold(r.Lease).Parts...)
		}
	}
	if i := slices.IndexFunc(parts, func(p state.Part) bool { return p.Key == key }); i >= 0 {
		return &parts[i]
	}
	return nil
}

// agrees reports whether a note says what a definition with a hash says of the same part.
func agrees(note state.Part, want *state.Part, hash string) bool {
	return want != nil && want.Service == note.Service && want.Port == note.Port && (note.Definition == "" || note.Definition == hash)
}

// named returns a definition with the hosts that are transferred alone, and the ports that are or that the lease has: where a host
// is reached may depend on the address of its service.
func (t *transfer) named(s *observed.Snapshot, def *lease.Definition, asked state.Request) *lease.Definition {
	hosts, ports := map[string]bool{}, map[string]bool{}
	stands := func(c *state.Claim, key string) bool {
		part := c.Part(key)
		named := slices.ContainsFunc(t.things, func(thing string) bool { return slices.Contains(t.claims(s, thing), c) })
		if part == nil || !named && (!c.Kind.HasPorts() || part.Lease.Group() != t.to.Group()) {
			return false
		}
		i := slices.IndexFunc(c.Waits, func(w state.Part) bool { return w.For == key && w.Lease == t.to })
		return i < 0 || agrees(c.Waits[i], asks(asked, c, key), def.Hash)
	}
	for _, h := range asked.Hosts {
		if c := s.Claim(state.HostName(h.Host)); c == nil || !stands(c, state.RouteKey(h.Path)) {
			hosts[lease.HostPath(h.Host, h.Path)] = true
		}
	}
	for _, e := range asked.Endpoints {
		for _, p := range e.Ports {
			key := state.PortKey(p.Protocol, p.ExternalPort)
			if !slices.ContainsFunc(s.Claims.Of(e.SharingKey), func(c *state.Claim) bool { return stands(c, key) }) {
				ports[lease.LeasedIPName(e.SharingKey, p.Protocol, p.ExternalPort)] = true
			}
		}
	}
	out := *state.Granted(def, hosts, ports)
	out.Services = slices.Clone(out.Services)
	for i, service := range out.Services {
		out.Services[i].Expose = slices.DeleteFunc(slices.Clone(service.Expose), func(e lease.Expose) bool { return len(e.Hosts) == 0 && e.IP == "" })
	}
	return &out
}

// serviceOf returns the service that a note describes.
func serviceOf(claim *state.Claim, note state.Part) lease.Service {
	e := lease.Expose{Port: note.Port, Protocol: lease.TCP, Global: true}
	if claim.Kind.HasPorts() {
		e.Protocol, e.As = state.Part{Key: note.For}.ProtocolPort()
		e.IP = lease.EndpointOf(claim.Owner, claim.SharingKey)
	} else {
		e.Path = note.Path
		e.Hosts = []lease.Host{{Name: claim.Thing}}
	}
	if note.HTTP != nil {
		e.HTTP = *note.HTTP
	}
	return lease.Service{Name: note.Service, Expose: []lease.Expose{e}}
}

// withService returns a definition with what a service exposes beside the rest of it.
func withService(def *lease.Definition, s lease.Service) *lease.Definition {
	out := *def
	out.Services = slices.Clone(def.Services)
	i := slices.IndexFunc(out.Services, func(other lease.Service) bool { return other.Name == s.Name })
	if i < 0 {
		out.Services = append(out.Services, s)
	} else {
		out.Services[i].Expose = slices.Concat(out.Services[i].Expose, s.Expose)
	}
	return &out
}
