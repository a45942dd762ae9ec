package claims

import (
	"context"
	"errors"
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/akash-net/kubectl-akash-net/apply/report"
	"github.com/akash-net/kubectl-akash-net/apply/reservation"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/state"
)

// LeasedEndpoints are the IP endpoints for which addresses are picked.
func (r *Claims) LeasedEndpoints() []state.EndpointWant {
	if r.Options.Config.IP.Mode == config.ModePool {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(r.Request.Endpoints), func(e state.EndpointWant) bool { return len(e.Addresses) > 0 })
}

// leaseAddresses takes an address of each family for the endpoints that ask for none by name.
func (r *Claims) leaseAddresses(ctx context.Context) error {
	for _, e := range r.LeasedEndpoints() {
		for _, family := range e.Families {
			if err := r.LeaseAddress(ctx, e, family); err != nil {
				return err
			}
		}
	}
	if r.Options.Config.IP.Mode == config.ModePool {
		return nil
	}
	for _, e := range r.Request.Endpoints {
		r.Addresses[e.Name] = append(r.Addresses[e.Name], e.Addresses...)
		slices.SortFunc(r.Addresses[e.Name], netip.Addr.Compare)
	}
	return nil
}

// PickAddresses picks the addresses that the lease is going to take, unless something else is in its way. enough is false where
// too few are left. own is false there too, and where an earlier lease of the command has picked one for the same endpoint, or may
// give up what is in the way: what the lease gets then depends on what becomes of others. The leases of a command pick in the
// order of the input, and take side by side.
func (r *Claims) PickAddresses() (own, enough bool) {
	endpoints := r.LeasedEndpoints()
	if len(endpoints) == 0 {
		return true, true
	}
	if err := r.Precheck(); err != nil && !r.AllTransient(err) {
		return !r.Given, true
	}
	own, enough = true, true
	for _, e := range endpoints {
		for _, family := range e.Families {
			picked := len(r.picked)
			_, ok := r.pick(e, family, nil)
			own, enough = own && ok && len(r.picked) > picked, enough && ok
		}
	}
	return own, enough
}

// pick picks an address of a family for an endpoint, other than those that were lost to somebody else.
func (r *Claims) pick(e state.EndpointWant, family config.Family, lost map[netip.Addr]bool) (netip.Addr, bool) {
	a, anew, ok := r.Snapshot.Addresses.Next(r.Group.Owner, e.SharingKey, family, r.Options.Config.IP.Ranges, lost)
	if anew {
		r.picked = append(r.picked, a)
	}
	return a, ok
}

// DropAddresses leaves the addresses that the lease picked to the other leases of the command.
func (r *Claims) DropAddresses() {
	for _, a := range r.picked {
		r.Snapshot.Addresses.Drop(a)
	}
	r.picked = nil
}

// LeaseAddress takes an address of a family for an endpoint. An address that was lost to somebody else is
// passed over. That none is left is only said when one fresh list says so: while addresses were tried
// one by one, others may have been given back.
func (r *Claims) LeaseAddress(ctx context.Context, e state.EndpointWant, family config.Family) error {
	lost, read, tries := map[netip.Addr]bool{}, false, 0
	ranges := r.Options.Config.IP.Ranges
	for {
		a, ok := r.pick(e, family, lost)
		if !ok {
			if read && len(lost) == 0 || tries == r.Cluster.Retries.Steps {
				return &report.ExhaustedError{Lease: r.Request.Lease, Endpoint: e.Name, Ranges: ranges.Texts(family), At: e.At}
			}
			claims, err := r.Ledger.List(ctx, state.Address)
			if err != nil {
				return err
			}
			r.Snapshot.Addresses.Update(claims)
			lost, read = map[netip.Addr]bool{}, true
			tries++
			continue
		}
		hold := e.Hold(r.Request.Lease, a)
		r.expire([]state.Hold{hold})
		err := r.TakeOnce(ctx, hold, read || r.Late)
		if r.heldBySibling(err) {
			err = r.Take(ctx, hold)
		}
		if _, ok := errors.AsType[*report.HeldError](err); ok {
			lost[a] = true
			r.Snapshot.Addresses.Drop(a)
			continue
		}
		if err == nil {
			r.Addresses[e.Name] = append(r.Addresses[e.Name], a)
		}
		return err
	}
}

// LeaveReserved looks, where addresses were claimed anew, whether those are left that orders have reserved.
func (r *Claims) LeaveReserved(ctx context.Context) error {
	anew := func(h *Held) bool { return h.Anew && (h.Want.Kind == state.Address || h.Want.Kind == state.Endpoint) }
	if !slices.ContainsFunc(slices.Collect(maps.Values(r.Holds)), anew) {
		return nil
	}
	return reservation.LeaveAddresses(ctx, r.Cluster, r.Options.Config, reservation.Leasing{
		Lease: r.Request.Lease, Mark: r.Nonce, Ledger: r.Ledger, Waiting: func(what string) {
			r.Send(report.Event{Time: time.Now(), Action: report.Waiting, Lease: r.Request.Lease, Kind: "lease", Name: r.Group.String(), Message: "for " + what})
		},
	})
}
