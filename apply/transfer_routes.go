package apply

import (
	"context"
	"errors"
	"slices"

	"github.com/akash-net/kubectl-akash-net/apply/live"
	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/apply/pools"
	"github.com/akash-net/kubectl-akash-net/apply/records"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/state"
)

// moveRoutes moves the routes after the claims.
func (r *transfer) moveRoutes(ctx context.Context, moves []*move, def *lease.Definition) error {
	if def != nil {
		next := newRun(r.Command, def, state.Request{})
		next.Request, _ = state.NewRequest(def, r.Options.Config)
		next.Group = def.Lease.Group()
		// The snapshot is older than the moved claims.
		snapshot, err := observed.ReadAll(ctx, r.Command, r.Group)
		if err != nil {
			return r.keepMoved(ctx, moves, err)
		}
		next.Snapshot, next.Pools, next.Nonce = snapshot, pools.New(r.Options.Config, snapshot), r.Nonce
		for _, m := range moves { // if the apply fails, the claims stay with the new lease
			next.Before[m.claim.Name()] = unmarked(m.claim.Entries(r.Group))
		}
		r.next = next
		err = next.apply(ctx)
		r.Include(next.Executor)
		if errors.Is(err, next.Successors.Err()) { // the apply has settled its claims
			r.Closed = next.Closed
			return err
		}
		if err != nil {
			return r.keepMoved(ctx, moves, err)
		}
		return nil
	}
	known := r.knownDefinitions(moves)
	r.Routeless = r.unroutedParts(moves)
	if len(known) > 0 {
		desired, err := r.renderKnown(known, moves)
		if err != nil {
			return r.keepMoved(ctx, moves, err)
		}
		r.Addresses = r.movedAddresses(moves)
		if err := r.switchRoutes(ctx, desired); err != nil {
			if _, overtaken := errors.AsType[*report.OvertakenError](err); overtaken {
				return r.GiveUp(ctx, err)
			}
			return err
		}
		if !r.Successors.Stay {
			if err := r.writeKnownRecords(ctx, known, moves); err != nil {
				return err
			}
		}
		r.StandFor(desired)
		r.TellUnknown()
	}
	if err := r.Settle(ctx); err != nil {
		return err
	}
	r.reportRouteless(moves)
	return r.Successors.Err()
}

// reportRouteless reports the moved claims whose routes the transfer could not create.
func (r *transfer) reportRouteless(moves []*move) {
	for _, m := range moves {
		keys := r.Routeless[m.claim.Name()]
		if len(keys) == 0 {
			continue
		}
		why := "nothing serves it; its routes come with the next apply of the lease"
		if slices.ContainsFunc(m.new, func(p state.Part) bool { return p.From != "" && slices.Contains(keys, p.Key) }) {
			why = "its routes follow with the next apply of the lease; until then the old ones serve"
		}
		r.Event(report.Left, string(m.claim.Kind), "", m.claim.Thing, why)
	}
}

// writeKnownRecords writes the DNS records of the moved hosts.
func (r *transfer) writeKnownRecords(ctx context.Context, known []*lease.Definition, moves []*move) error {
	r.Addresses = r.heldAddresses(moves)
	isMoved := func(host string) bool {
		return slices.ContainsFunc(moves, func(m *move) bool { return m.claim.Name() == state.HostName(host) })
	}
	for _, def := range known {
		dns, err := r.RenderRecords(ctx, def, false)
		if err != nil {
			return err
		}
		unknown := slices.DeleteFunc(dns.Unknown, func(h render.UnknownHost) bool { return !isMoved(h.Name) })
		r.DNS.Unknown = append(r.DNS.Unknown, unknown...)
		moved := slices.DeleteFunc(dns.Objects, func(o render.Object) bool { return !isMoved(records.HostOf(o)) })
		if err := r.PutRecords(ctx, moved); err != nil {
			return err
		}
	}
	return nil
}

// serviceOf returns the service that a note describes.
func serviceOf(claim *state.Claim, p state.Part) lease.Service {
	e := lease.Expose{Port: p.Port, Protocol: lease.TCP, Global: true}
	if claim.Kind.HasPorts() {
		e.Protocol, e.As = p.ProtocolPort()
		e.IP = endpointOf(claim)
	} else {
		e.Path = p.Path
		e.Hosts = []lease.Host{{Name: claim.Thing}}
	}
	if p.HTTP != nil {
		e.HTTP = *p.HTTP
	}
	return lease.Service{Name: p.Service, Expose: []lease.Expose{e}}
}

// unroutedParts returns the keys of parts without a known route, by the name of their claim.
func (r *transfer) unroutedParts(moves []*move) map[string][]string {
	keys := map[string][]string{}
	for _, m := range moves {
		for _, p := range m.new {
			if !isNoted(p) && !r.asked.routes(m.claim, p) {
				keys[m.claim.Name()] = append(keys[m.claim.Name()], p.Key)
			}
		}
	}
	return keys
}

// switchRoutes writes the new routes and deletes the old ones once the new ones serve. If a write is refused, the old
// routes stay.
func (r *transfer) switchRoutes(ctx context.Context, desired []render.Object) error {
	if err := r.Write(ctx, desired); err != nil {
		return err
	}
	if err := r.Successors.Await(ctx, desired); err != nil {
		return err
	}
	return r.RemoveStrays(ctx, desired)
}

// awaitRouted waits until Akash's operators have created what the lease's claims on the things say, also if an earlier
// transfer moved them. It does not wait for what the former lease serves until the next apply.
func (r *transfer) awaitRouted(ctx context.Context) error {
	if !r.Snapshot.Operators.Hostname && !r.Snapshot.Operators.IP {
		return nil
	}
	held := &lease.Definition{Lease: r.Request.Lease}
	for _, m := range r.moves {
		for _, p := range m.claim.PartsOf(r.Group) {
			moved := slices.ContainsFunc(m.new, func(q state.Part) bool { return q.Key == p.Key })
			if p.Service == "" || moved && slices.Contains(r.Routeless[m.claim.Name()], p.Key) || !moved && p.From != "" {
				continue
			}
			held.Services = append(held.Services, serviceOf(m.claim, p))
		}
	}
	cfg := *r.Options.Config
	cfg.Ingress.StaticHosts, cfg.Hosts.Generated = false, "" // hosts that the provider generates are not moved
	desired, err := render.Lease(held, &cfg, r.heldAddresses(r.moves))
	if err != nil {
		return err
	}
	return (&live.Lease{X: r.Executor, Desired: desired}).Operators(ctx)
}

// settled returns the parts as they are after the run has ended.
func settled(parts []state.Part) []state.Part {
	out := slices.Clone(parts)
	for i := range out {
		out[i].Run, out[i].Expires, out[i].HTTP, out[i].Definition = "", "", nil, ""
	}
	return out
}

// unmarked returns parts and notes without the marks of runs.
func unmarked(parts []state.Part) []state.Part {
	out := slices.Clone(parts)
	for i, p := range out {
		if p.Run != "" {
			out[i].Run, out[i].HTTP, out[i].Definition = "", nil, ""
		}
	}
	return out
}
