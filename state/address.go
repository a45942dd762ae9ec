package state

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"
	"sync"

	"github.com/akash-net/kubectl-akash-net/lease/config"
)

// Addresses is a snapshot of the claims on addresses and of the Services that use them.
type Addresses struct {
	claims map[netip.Addr]*Claim
	byKey  map[string][]*Claim
	uses   map[netip.Addr][]Use
}

// NewAddresses indexes claims and uses by address. It skips claims on hosts.
func NewAddresses(claims []*Claim, uses []Use) *Addresses {
	as := &Addresses{claims: map[netip.Addr]*Claim{}, byKey: map[string][]*Claim{}, uses: map[netip.Addr][]Use{}}
	for _, c := range claims {
		if c.Kind == Address {
			as.claims[c.Addr()] = c
			as.byKey[c.SharingKey] = append(as.byKey[c.SharingKey], c)
		}
	}
	for _, key := range as.byKey {
		slices.SortFunc(key, func(a, b *Claim) int {
			return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.Name(), b.Name()))
		})
	}
	for _, u := range uses {
		as.uses[u.Address] = append(as.uses[u.Address], u)
	}
	return as
}

// InUse returns the addresses that are claimed or granted to a Service, sorted.
func (as *Addresses) InUse() []netip.Addr {
	used := slices.Collect(maps.Keys(as.claims))
	for a, uses := range as.uses {
		if a.IsValid() && slices.ContainsFunc(uses, func(u Use) bool { return u.Granted }) {
			used = append(used, a)
		}
	}
	slices.SortFunc(used, netip.Addr.Compare)
	return slices.Compact(used)
}

// Uses returns all uses of the address by Services.
func (as *Addresses) Uses(a netip.Addr) []Use { return as.uses[a] }

// Foreign returns the uses of the address by Services with another sharing key. MetalLB never lets such a Service share
// the address, whoever owns it, so the uses name no lease.
func (as *Addresses) Foreign(a netip.Addr, sharingKey string) []Use {
	var out []Use
	for _, u := range as.uses[a] {
		if u.SharingKey != sharingKey {
			u.HasLease = false
			out = append(out, u)
		}
	}
	return out
}

// Next returns the address that an owner's IP endpoint should get in a family: the one its sharing key already has,
// else one that MetalLB has granted to the key, else the lowest free one of the ranges. It skips the addresses in skip.
// ok is false if none is left.
func (as *Addresses) Next(
	owner, sharingKey string, family config.Family, ranges config.Ranges, skip map[netip.Addr]bool,
) (a netip.Addr, ok bool) {
	for _, c := range as.byKey[sharingKey] {
		if a := c.Addr(); c.Owner == owner && !c.Deleting && config.FamilyOf(a) == family && !skip[a] {
			return a, true
		}
	}
	for _, a := range as.granted(sharingKey) {
		if _, leased := ranges.Find(a); leased && config.FamilyOf(a) == family && !skip[a] && as.free(a, sharingKey) {
			return a, true
		}
	}
	for a := range ranges.Addresses(family) {
		if !skip[a] && as.free(a, sharingKey) {
			return a, true
		}
	}
	return netip.Addr{}, false
}

func (as *Addresses) free(a netip.Addr, sharingKey string) bool {
	return as.claims[a] == nil && len(as.Foreign(a, sharingKey)) == 0
}

// granted returns the addresses in the status of Services with the sharing key, sorted.
func (as *Addresses) granted(sharingKey string) []netip.Addr {
	var out []netip.Addr
	for a, uses := range as.uses {
		if slices.ContainsFunc(uses, func(u Use) bool { return u.Granted && u.SharingKey == sharingKey }) {
			out = append(out, a)
		}
	}
	slices.SortFunc(out, netip.Addr.Compare)
	return out
}

// Picker assigns addresses to the leases of one run, which choose concurrently. An address that it assigned to one
// sharing key is not available to another. Its methods are safe for concurrent use.
type Picker struct {
	mu     sync.Mutex
	known  *Addresses
	picked map[netip.Addr]string
}

// NewPicker returns a Picker that starts from a snapshot.
func NewPicker(known *Addresses) *Picker {
	return &Picker{known: known, picked: map[netip.Addr]string{}}
}

// Next picks an address by the rules of Addresses.Next. lost are addresses that turned out to be taken. anew is true if
// no lease of the run has picked the address before.
func (p *Picker) Next(
	owner, sharingKey string, family config.Family, ranges config.Ranges, lost map[netip.Addr]bool,
) (a netip.Addr, anew, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	skip := map[netip.Addr]bool{}
	maps.Copy(skip, lost)
	var shared netip.Addr
	for a, key := range p.picked {
		if key == sharingKey && config.FamilyOf(a) == family && !skip[a] && (!shared.IsValid() || a.Less(shared)) {
			shared = a
		}
		skip[a] = skip[a] || key != sharingKey
	}
	if shared.IsValid() {
		return shared, false, true
	}
	if a, ok = p.known.Next(owner, sharingKey, family, ranges, skip); ok {
		p.picked[a] = sharingKey
	}
	return a, ok, ok
}

// Name keeps the addresses that a request names for the request's sharing keys.
func (p *Picker) Name(request Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, e := range request.Endpoints {
		for _, a := range e.Addresses {
			if _, picked := p.picked[a]; !picked {
				p.picked[a] = e.SharingKey
			}
		}
	}
}

// With returns an index of claims, and of the uses that this one knows.
func (as *Addresses) With(claims []*Claim) *Addresses {
	known := NewAddresses(claims, nil)
	known.uses = as.uses
	return known
}
