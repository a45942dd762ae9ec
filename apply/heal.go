package apply

import (
	"context"
	"errors"
	"slices"

	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/kept"
)

// A lease is healed by the definition that the ledger keeps. The lease may have given up something of it since, or
// handed it to another, and may hold something that it does not name. So nothing is claimed anew, and nothing is
// given up that was not applied.

// narrow leaves of what the run asks for by the definition that the ledger keeps what its lease holds by now.
func (r *run) narrow(s *snapshot) error {
	if !s.definitions[kept.Name(r.group)].Says(r.def) {
		return errChanged
	}
	holds := func(c *state.Claim, key string) bool {
		part := c.Part(key)
		return part != nil && part.Lease.Group() == r.group
	}
	r.req.Hosts = slices.DeleteFunc(r.req.Hosts, func(h state.HostWant) bool {
		gone := !h.Own && !holds(s.claims[state.HostName(h.Host)], state.RouteKey(h.Path))
		if gone {
			r.withheldHosts[lease.HostPath(h.Host, h.Path)] = true
		}
		return gone
	})
	for i, e := range r.req.Endpoints {
		r.req.Endpoints[i].Ports = slices.DeleteFunc(e.Ports, func(p state.PortWant) bool {
			key := state.PortKey(p.Protocol, p.ExternalPort)
			gone := !slices.ContainsFunc(s.byClaim().endpoints[e.SharingKey], func(c *state.Claim) bool { return holds(c, key) })
			if gone {
				r.withheldPorts[lease.LeasedIPName(e.SharingKey, p.Protocol, p.ExternalPort)] = true
			}
			return gone
		})
	}
	r.req.Endpoints = slices.DeleteFunc(r.req.Endpoints, func(e state.EndpointWant) bool { return len(e.Ports) == 0 })
	return nil
}

// forgetStray deletes a kept definition as it was read. One of a lease that holds something by now stays.
func (r *repair) forgetStray(ctx context.Context, m state.Mend) error {
	d := r.snapshot.definitions[m.Forget.Name]
	if m.Group != (lease.Group{}) {
		claims, err := r.ledger.ListOwner(ctx, m.Group.Owner)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(claims, func(c *state.Claim) bool { return len(c.Entries(m.Group)) > 0 }) {
			return errChanged
		}
		now, err := readDefinition(ctx, r.ledger, m.Group)
		if now == nil || err != nil {
			return err
		}
		if now.ResourceVersion != d.ResourceVersion {
			return errChanged
		}
	}
	err := untilKept(ctx, r.ledger, m.Group, func(ctx context.Context) error { return r.ledger.Forget(ctx, d) })
	if errors.Is(err, ledger.ErrAgain) {
		return errChanged
	}
	return err
}
