package engine

import (
	"cmp"
	"fmt"
	"iter"
	"net/netip"
	"slices"

	"github.com/akash-net/kubectl-akash-net/engine/observed"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/render"
	"github.com/akash-net/kubectl-akash-net/state"
)

// addressesOf returns the addresses of an endpoint: those that it names, or those that were picked.
func (v view) addressesOf(e state.EndpointWant) (out []netip.Addr) {
	if len(e.Addresses) > 0 {
		return e.Addresses
	}
	for _, family := range e.Families {
		if a, picked := v.f.picks[slot{e.Name, family}]; picked {
			out = append(out, a)
		}
	}
	return out
}

// isPicked reports whether a claim is on an address that was picked, and that the request does not name.
func (v view) isPicked(h state.Hold) bool {
	for _, a := range v.f.picks {
		if h.Kind == state.Address && h.Claim().Addr() == a {
			return true
		}
	}
	return false
}

// lacking are the addresses that the lease is yet to pick, with the IP endpoints that they are for, and that name none. One that turned out to be somebody
// else's is picked again.
func (v view) lacking(again bool) iter.Seq2[slot, state.EndpointWant] {
	return func(yield func(slot, state.EndpointWant) bool) {
		for _, e := range v.want.Request.Endpoints {
			if v.t.Settings.Config.IP.Mode == config.ModePool || len(e.Addresses) > 0 {
				continue
			}
			for _, family := range e.Families {
				at := slot{e.Name, family}
				a, picked := v.f.picks[at]
				if picked && (!again || len(v.inTheWay(e.Hold(v.id, a))) == 0) {
					continue
				}
				if !yield(at, e) {
					return
				}
			}
		}
	}
}

// pick chooses addresses for the IP endpoints that name none. An address that turns out to be somebody else's is passed.
func (v view) pick() Step {
	for at, e := range v.lacking(true) {
		a, ok := v.nextAddress(e, at)
		if !ok || v.t.inUse[a] != e.SharingKey {
			if s := v.awaitPicks(); !s.idle() {
				return s
			}
		}
		if !ok {
			return v.exhausted()
		}
		return Step{Picks: map[slot]netip.Addr{at: a}}
	}
	return Step{}
}

// awaitPicks waits until the leases that are served before this one have picked their addresses: who gets which does not depend on
// whose answers come first. One for which none is free is not waited for. Nobody is for an address that the IP endpoint had before: the other
// leases of that endpoint that are served before have ended, and nobody else gets it.
func (v view) awaitPicks() Step {
	for _, i := range v.earlier() {
		if !v.f.yields && v.w.leases[i].outcome == nil && v.of(i).picksNext() {
			return Step{Wait: "the addresses of lease " + v.t.Wants[i].Request.Lease.String()}
		}
	}
	return Step{}
}

// picksNext reports whether there is an address that the lease is yet to pick.
func (v view) picksNext() bool {
	for at, e := range v.lacking(false) {
		if _, ok := v.nextAddress(e, at); ok {
			return true
		}
	}
	return false
}

// nextAddress returns the address that an endpoint gets: one that its sharing key has, else the lowest free one that no
// other lease of the transaction is to take. ok is false if none is free. What a refused lease was to take, and what was given up
// since, comes last, once all leases have ended that may give some up: so it does not matter when that was.
func (v view) nextAddress(e state.EndpointWant, at slot) (a netip.Addr, ok bool) {
	if a, ok = v.freeAddress(e, at, false); ok || v.giver() >= 0 || v.isListOld() {
		return a, ok
	}
	return v.freeAddress(e, at, true)
}

// earlier returns the places of the leases that are served before this one.
func (v view) earlier() []int { return v.t.order[:slices.Index(v.t.order, v.place)] }

// freeAddress returns the address that an endpoint gets, one that has become free since the leases are worked on only if all is
// true.
func (v view) freeAddress(e state.EndpointWant, at slot, all bool) (a netip.Addr, ok bool) {
	fits := func(a netip.Addr) bool {
		return config.FamilyOf(a) == at.Family && !v.f.passed[a] && v.f.picks[at] != a
	}
	skip, shared := map[netip.Addr]bool{}, []netip.Addr{}
	for a := range v.f.passed {
		skip[a] = true
	}
	if a, picked := v.f.picks[at]; picked {
		skip[a] = true
	}
	know := func(a netip.Addr, key string, mine bool) {
		switch {
		case key != e.SharingKey || !mine:
			skip[a] = true
		case fits(a):
			shared = append(shared, a)
		}
	}
	for a, key := range v.t.named {
		know(a, key, true)
	}
	for i, f := range v.w.leases {
		if all && f.outcome != nil && f.outcome.Err != nil {
			continue
		}
		for _, other := range v.t.Wants[i].Request.Endpoints {
			for _, family := range other.Families {
				own := i == v.place && slot{other.Name, family} == at
				if a, picked := f.picks[slot{other.Name, family}]; picked && !own {
					know(a, other.SharingKey, true)
				}
			}
		}
	}
	for _, s := range v.w.seen {
		if c := s.Claim; c != nil && c.Kind == state.Address && s.Answered > v.w.listed {
			know(c.Addr(), c.SharingKey, c.Owner == v.group.Owner && !c.Deleting)
		}
	}
	shared = slices.DeleteFunc(shared, func(a netip.Addr) bool { return skip[a] })
	if len(shared) > 0 {
		return slices.MinFunc(shared, netip.Addr.Compare), true
	}
	for {
		a, ok = v.w.addresses.Next(v.group.Owner, e.SharingKey, at.Family, v.t.Settings.Config.IP.Ranges, skip)
		if by, used := v.t.inUse[a]; all || !ok || !used || by == e.SharingKey {
			return a, ok
		}
		skip[a] = true
	}
}

// exhausted is the step of a lease for which too few addresses are left. Other leases of the transaction may not take
// theirs, or give some up; others may have given some up since they were listed.
func (v view) exhausted() Step {
	if i := v.giver(); i >= 0 {
		return Step{Wait: "an address of lease " + v.t.Wants[i].Request.Lease.String()}
	}
	if v.isListOld() {
		return do(Request{Verb: List, On: OfKind(state.Address), Why: "whether an address was given up"})
	}
	return v.giveBack(report.Gather(v.missing()))
}

// isListOld reports whether addresses may have been given up since they were listed.
func (v view) isListOld() bool {
	old := v.w.listed < v.w.Turn.Alone
	for name, s := range v.w.seen {
		c := cmp.Or(s.Claim, v.w.Snapshot.Claim(name)) // one that was given up is not there any more
		old = old || c != nil && c.Kind == state.Address && s.Answered > v.w.listed
	}
	return old
}

// giver returns the place of a lease that has not ended, and may give up an address or not take its own; -1 if there is none.
func (v view) giver() int {
	for i, want := range v.t.Wants {
		if i != v.place && !v.f.yields && v.w.leases[i].outcome == nil && (v.t.gives[i] || len(want.Request.Endpoints) > 0 && slices.Contains(v.earlier(), i)) {
			return i
		}
	}
	return -1
}

// missing returns an error for each IP endpoint for which no address is free.
func (v view) missing() (errs []error) {
	for at, e := range v.lacking(true) {
		if _, ok := v.nextAddress(e, at); !ok {
			errs = append(errs, &report.ExhaustedError{Lease: v.id, Endpoint: e.Name, Ranges: v.t.Settings.Config.IP.Ranges.Texts(at.Family), At: e.At})
		}
	}
	return errs
}

// leaveReserved compares, once the lease has taken addresses, what is left with what orders have reserved.
func (v view) leaveReserved() Step {
	for name, taken := range v.f.taken {
		if c := v.w.Claim(name); taken.Anew && taken.Written > v.did(Leave, nil) && c != nil && c.Kind.HasPorts() {
			return do(Request{Verb: Leave, Why: "the addresses that orders have reserved"})
		}
	}
	return Step{}
}

// Akash's IP operator identifies a leased port without its service. It never deletes the Service of a former service name, and does
// not take over a Service of the same name that it has created for another endpoint (provider: operator/ip). So to point a
// ProviderLeasedIP at another service, it is deleted, the operator's Service has to go, and then it is created again.

// moves reports whether an object is a ProviderLeasedIP whose port moves to another service.
func (v view) moves(o render.Object) bool {
	if o.Kind != kinds.ProviderLeasedIP || !v.w.Snapshot.Operators.IP {
		return false
	}
	return v.w.Snapshot.NamesAnother(v.group, o) || v.w.at(KeyOf(o)) == nil && len(v.w.Snapshot.FormerServices(v.group, o)) > 0
}

// awaited are the objects that the lease wants, but for Services that Akash's IP operator never makes: the ProviderLeasedIP stays as it
// is declared for another service.
func (v view) awaited() []render.Object {
	if !v.w.Snapshot.Operators.IP {
		return v.wanted().objects
	}
	stay := map[string]bool{}
	for _, o := range v.wanted().objects {
		if k := KeyOf(o); v.staysDeclared(k) {
			stay[o.Name] = state.PortObjectOf(v.w.live(k).live).Service != state.PortObjectOf(render.Look(o)).Service
		}
	}
	return slices.DeleteFunc(slices.Clone(v.wanted().objects), func(o render.Object) bool {
		if o.Kind != kinds.Service {
			return false
		}
		s := state.ServiceObjectOf(render.Look(o))
		return stay[lease.LeasedIPName(s.SharingKey, s.Protocol, s.Port)]
	})
}

// movePorts deletes the ProviderLeasedIPs whose ports move, waits until the operator has deleted their Services, and creates them
// again.
func (v view) movePorts() Step {
	if v.want.Apply == nil {
		return Step{}
	}
	var moved []Desired
	for _, o := range v.wanted().objects {
		if v.moves(o) {
			moved = append(moved, Desired{Object: o, Manager: v.manager(o.Kind)})
		}
	}
	var former []observed.Object
	for _, d := range moved {
		if s := v.clearPort(d); !s.idle() {
			return s
		}
		former = append(former, v.w.Snapshot.FormerServices(v.group, d.Object)...)
	}
	if s := v.await(former, func(o observed.Object) string {
		namespace, name := o.Live.GetNamespace(), o.Live.GetName()
		return fmt.Sprintf("Akash's IP operator to remove service %s/%s, whose port moves to another service "+
			"or endpoint; the port stays claimed: the same command goes on. An operator that was down when the ProviderLeasedIP was deleted never removes it: "+
			"kubectl -n %s delete service %s", namespace, name, namespace, name)
	}); !s.idle() {
		return s
	}
	if s := v.orGiveBack(v.writeAll(moved)); !s.idle() {
		return s
	}
	return Step{Tells: v.tell(moved)}
}

// clearPort deletes a ProviderLeasedIP that names another service, if the API server would let this command create it again.
func (v view) clearPort(d Desired) Step {
	k := d.key()
	old := observed.Object{Kind: k.Kind, Live: v.w.at(k), Group: v.group, Ours: true}
	if old.Live == nil || !v.w.Snapshot.NamesAnother(v.group, d.Object) || v.f.objects[old.UID()].deleted > 0 {
		return Step{}
	}
	_, checked := v.f.checked[k]
	switch r, refused := v.f.refusals[k]; {
	case !v.t.Settings.Waits:
	case refused:
		return v.giveBack(r.err)
	case !checked:
		return do(Request{Verb: CheckObject, On: OfRendered{Apply: d.Object, Manager: d.Manager, Makes: true}, Why: "whether it could be created again"})
	}
	return v.removeAs(old, report.Deleted, "")
}
