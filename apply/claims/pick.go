package claims

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"time"

	"github.com/akash-net/kubectl-akash-net/apply/reservation"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/state"
)

// LeasedEndpoints returns the IP endpoints for which the run picks addresses.
func (r *Claims) LeasedEndpoints() []state.EndpointWant {
	if r.Options.Config.IP.Mode == config.ModePool {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(r.Request.Endpoints), func(e state.EndpointWant) bool { return len(e.Addresses) > 0 })
}

// leaseAddresses takes an address of each family for each endpoint that names none, and adds the named ones to
// Addresses.
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

// pick returns an address of a family for an endpoint that is not in lost; ok is false if none is left.
func (r *Claims) pick(e state.EndpointWant, family config.Family, lost map[netip.Addr]bool) (netip.Addr, bool) {
	a, _, ok := r.Snapshot.Addresses.Next(r.Group.Owner, e.SharingKey, family, r.Options.Config.IP.Ranges, lost)
	return a, ok
}

// LeaseAddress takes an address of a family for an endpoint, and skips addresses that somebody else has taken
// meanwhile. It returns an ExhaustedError only if a new LIST shows that none is left: others may have released
// addresses while it tried one after the other.
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
		err := r.TakeOnce(ctx, hold, read)
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

// LeaveReserved returns an error if the run has claimed new addresses and too few are left for the orders that have
// reserved some.
func (r *Claims) LeaveReserved(ctx context.Context) error {
	anew := func(h *Held) bool { return h.Anew && (h.Want.Kind == state.Address || h.Want.Kind == state.Endpoint) }
	if !slices.ContainsFunc(r.SortedHolds(), anew) {
		return nil
	}
	return reservation.LeaveAddresses(ctx, r.Cluster, r.Options.Config, reservation.Leasing{
		Lease: r.Request.Lease, Mark: r.Nonce, Ledger: r.Ledger, Waiting: func(what string) {
			r.Send(report.Event{Time: time.Now(), Action: report.Waiting, Lease: r.Request.Lease, Kind: "lease", Name: r.Group.String(), Message: "for " + what})
		},
	})
}
