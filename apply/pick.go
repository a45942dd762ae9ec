package apply

import (
	"context"
	"errors"
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/akash-net/kubectl-akash-net/apply/reservation"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/state"
)

// leasedEndpoints are the IP endpoints for which addresses are picked.
func (r *claims) leasedEndpoints() []state.EndpointWant {
	if r.opts.Config.IP.Mode == config.ModePool {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(r.req.Endpoints), func(e state.EndpointWant) bool { return len(e.Addresses) > 0 })
}

// leaseAddresses takes an address of each family for the endpoints that ask for none by name.
func (r *claims) leaseAddresses(ctx context.Context) error {
	for _, e := range r.leasedEndpoints() {
		for _, family := range e.Families {
			if err := r.lease(ctx, e, family); err != nil {
				return err
			}
		}
	}
	if r.opts.Config.IP.Mode == config.ModePool {
		return nil
	}
	for _, e := range r.req.Endpoints {
		r.addresses[e.Name] = append(r.addresses[e.Name], e.Addresses...)
		slices.SortFunc(r.addresses[e.Name], netip.Addr.Compare)
	}
	return nil
}

// lease takes an address of a family for an endpoint. An address that was lost to somebody else is
// passed over. That none is left is only said when one fresh list says so: while addresses were tried
// one by one, others may have been given back.
func (r *claims) lease(ctx context.Context, e state.EndpointWant, family config.Family) error {
	lost, read, tries := map[netip.Addr]bool{}, false, 0
	ranges := r.opts.Config.IP.Ranges
	for {
		a, ok := r.snapshot.addresses.Next(r.group.Owner, e.SharingKey, family, ranges, lost)
		if !ok {
			if read && len(lost) == 0 || tries == r.cluster.Retries.Steps {
				return &ExhaustedError{Lease: r.req.Lease, Endpoint: e.Name, Ranges: ranges.Texts(family), At: e.At}
			}
			claims, err := r.ledger.List(ctx, state.Address)
			if err != nil {
				return err
			}
			r.snapshot.addresses.Update(claims)
			lost, read = map[netip.Addr]bool{}, true
			tries++
			continue
		}
		hold := e.Hold(r.req.Lease, a)
		r.expire([]state.Hold{hold})
		err := r.takeOnce(ctx, hold, read)
		if r.heldBySibling(err) {
			err = r.take(ctx, hold)
		}
		if _, ok := errors.AsType[*HeldError](err); ok {
			lost[a] = true
			r.snapshot.addresses.Drop(a)
			continue
		}
		if err == nil {
			r.addresses[e.Name] = append(r.addresses[e.Name], a)
		}
		return err
	}
}

// leaveReserved looks, where addresses were claimed anew, whether those are left that orders have reserved.
func (r *claims) leaveReserved(ctx context.Context) error {
	anew := func(h *held) bool { return h.anew && (h.want.Kind == state.Address || h.want.Kind == state.Endpoint) }
	if !slices.ContainsFunc(slices.Collect(maps.Values(r.holds)), anew) {
		return nil
	}
	return reservation.LeaveAddresses(ctx, r.cluster, r.opts.Config, reservation.Leasing{
		Lease: r.req.Lease, Mark: r.nonce, Ledger: r.ledger, Waiting: func(what string) {
			r.send(Event{Time: time.Now(), Action: Waiting, Lease: r.req.Lease, Kind: "lease", Name: r.group.String(), Message: "for " + what})
		},
	})
}
