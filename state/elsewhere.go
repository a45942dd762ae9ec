package state

import (
	"slices"

	"github.com/akash-net/kubectl-akash-net/lease"
)

// A deployment group holds claims, and its leases serve them: another order, or the same order at another provider, is
// another lease of the same group, with a namespace of its own. What serves is touched only by an apply, a transfer or a
// release of the lease that serves it.

// Elsewhere returns the lease that has in place of the given one what their deployment group has. live are the leases
// whose objects serve. There is none if nothing is live, or if the given lease is among the live ones. An ID without a
// provider is that of the order at any provider.
func Elsewhere(id lease.ID, live []lease.ID) (other lease.ID, ok bool) {
	is := func(l lease.ID) bool { return l == id || id.Provider == "" && l.Order() == id.Order() }
	if len(live) == 0 || slices.ContainsFunc(live, is) {
		return lease.ID{}, false
	}
	return slices.MinFunc(live, lease.ID.Compare), true
}

// Reserve returns what a reservation makes of a part that its deployment group holds already. live are the leases whose
// objects serve the claim. The part of another lease that serves stays as it is: then by is that lease. A reservation
// that names no backend takes none from what its own lease serves.
func (p Part) Reserve(want Part, live []lease.ID) (part Part, by lease.ID) {
	stays := p
	stays.Run, stays.Expires = want.Run, want.Expires
	if by, elsewhere := Elsewhere(want.Lease, live); elsewhere && p.Lease != want.Lease {
		return stays, by
	}
	if p.Lease == want.Lease && want.Service == "" && len(live) > 0 {
		return stays, lease.ID{}
	}
	return want, lease.ID{}
}
