package apply

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
)

// moveRoutes moves the routes after the claims.
func (r *transfer) moveRoutes(ctx context.Context, moves []*move, def *lease.Definition) error {
	if def != nil {
		next := newRun(r.Command, def, state.Request{})
		next.req, _ = state.NewRequest(def, r.opts.Config)
		next.group, next.routesOnly = def.Lease.Group(), true
		// What was read is older than what was moved.
		snapshot, err := readAll(ctx, r.Command, r.group)
		if err != nil {
			return r.keepMoved(ctx, moves, err)
		}
		next.snapshot, next.pools, next.nonce = snapshot, newPools(r.opts.Config, snapshot), r.nonce
		for _, m := range moves { // should it fail, the claims stay where they are now
			next.before[m.claim.Name()] = unmarked(m.claim.Entries(r.group))
		}
		r.next = next
		err = next.apply(ctx)
		r.changes, r.changed = append(r.changes, next.changes...), r.changed || next.changed
		if errors.Is(err, next.successors.err()) { // its claims are settled
			r.closed = next.closed
			return err
		}
		if err != nil {
			return r.keepMoved(ctx, moves, err)
		}
		return nil
	}
	known := r.knownDefinitions(moves)
	r.routeless = r.unroutedParts(moves)
	if len(known) > 0 {
		desired, err := r.renderKnown(known, moves)
		if err != nil {
			return r.keepMoved(ctx, moves, err)
		}
		r.addresses = r.movedAddresses(moves)
		if err := r.switchRoutes(ctx, desired); err != nil {
			return err
		}
		if !r.successors.stay {
			if err := r.writeKnownRecords(ctx, known, moves); err != nil {
				return err
			}
		}
		r.standFor(desired)
		r.tellUnknown()
	}
	if err := r.settle(ctx); err != nil {
		return err
	}
	for _, m := range moves {
		switch keys := r.routeless[m.claim.Name()]; {
		case len(keys) == 0:
		case slices.ContainsFunc(m.new, func(p state.Part) bool { return p.From != "" && slices.Contains(keys, p.Key) }):
			r.event(Left, string(m.claim.Kind), "", m.claim.Thing, "its routes follow with the next apply of the lease; until then the old ones serve")
		default:
			r.event(Left, string(m.claim.Kind), "", m.claim.Thing, "nothing serves it; its routes come with the next apply of the lease")
		}
	}
	return r.successors.err()
}

// writeKnownRecords writes the DNS records of the hosts that are moved.
func (r *transfer) writeKnownRecords(ctx context.Context, known []*lease.Definition, moves []*move) error {
	r.addresses = r.heldAddresses(moves)
	isMoved := func(host string) bool {
		return slices.ContainsFunc(moves, func(m *move) bool { return m.claim.Name() == state.HostName(host) })
	}
	for _, def := range known {
		dns, err := r.renderRecords(ctx, def, false)
		if err != nil {
			return err
		}
		r.dns.unknown = append(r.dns.unknown, slices.DeleteFunc(dns.Unknown, func(h render.UnknownHost) bool { return !isMoved(h.Name) })...)
		if err := r.putRecords(ctx, slices.DeleteFunc(dns.Objects, func(o render.Object) bool { return !isMoved(hostOf(o)) })); err != nil {
			return err
		}
	}
	return nil
}

// serviceOf is the service that a note asks a part for.
func serviceOf(claim *state.Claim, p state.Part, owner string) lease.Service {
	e := lease.Expose{Port: p.Port, Protocol: lease.TCP, Global: true}
	if claim.Kind.HasPorts() {
		e.Protocol, e.As = p.ProtocolPort()
		e.IP = strings.TrimPrefix(claim.SharingKey, owner+"-ip-")
	} else {
		e.Path = p.Path
		e.Hosts = []lease.Host{{Name: claim.Thing}}
	}
	if p.HTTP != nil {
		e.HTTP = *p.HTTP
	}
	return lease.Service{Name: p.Service, Expose: []lease.Expose{e}}
}

// unroutedParts are the parts, by the name of their claim, of which it is not known how they are to be
// routed.
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

// switchRoutes writes the new routes, and removes the old when those serve: a write that is refused leaves the old.
func (r *transfer) switchRoutes(ctx context.Context, desired []render.Object) error {
	if err := r.write(ctx, desired); err != nil {
		return err
	}
	if err := r.successors.await(ctx, desired); err != nil {
		return err
	}
	return r.removeStrays(ctx, desired)
}

// settled are parts as they are when the run has ended.
func settled(parts []state.Part) []state.Part {
	out := slices.Clone(parts)
	for i := range out {
		out[i].Run, out[i].Expires, out[i].HTTP, out[i].Definition = "", "", nil, ""
	}
	return out
}

// unmarked are parts and notes without the mark of a run.
func unmarked(parts []state.Part) []state.Part {
	out := slices.Clone(parts)
	for i, p := range out {
		if p.Run != "" {
			out[i].Run, out[i].HTTP, out[i].Definition = "", nil, ""
		}
	}
	return out
}
