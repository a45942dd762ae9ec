package state

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"
	"sync"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
)

// Addresses is what is known of addresses at one moment: who claimed them and which Services use
// them.
type Addresses struct {
	claims map[netip.Addr]*Claim
	byKey  map[string][]*Claim
	uses   map[netip.Addr][]Use
}

// NewAddresses indexes claims and uses by address; claims on hosts are passed over.
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

// InUse are the addresses that are claimed or that a Service was granted.
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

// Uses are all uses of the address by Services.
func (as *Addresses) Uses(a netip.Addr) []Use { return as.uses[a] }

// Foreign are the uses of the address by Services that do not carry the sharing key: whoever they
// belong to, MetalLB will not let the two share.
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

// Next is the address that an IP endpoint of an owner is to have in a family: the one its sharing
// key has already, else one that MetalLB has given the key, else the lowest free one of the
// ranges. skip are addresses that were lost to others meanwhile. ok is false when none is left.
func (as *Addresses) Next(owner, sharingKey string, family config.Family, ranges config.Ranges, skip map[netip.Addr]bool) (a netip.Addr, ok bool) {
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

// granted are the addresses that stand in the status of Services with the key, in order.
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

// Picker gives addresses to the leases of one run, which take theirs at the same time: what one
// of them has picked the others leave alone, unless they share its key. It may be used by several
// goroutines.
type Picker struct {
	mu     sync.Mutex
	known  *Addresses
	picked map[netip.Addr]string
}

// NewPicker makes a picker on top of what is known.
func NewPicker(known *Addresses) *Picker {
	return &Picker{known: known, picked: map[netip.Addr]string{}}
}

// Next picks as Addresses.Next does. lost are addresses that turned out to be taken. anew is true for an address that no
// lease of the run has picked before.
func (p *Picker) Next(owner, sharingKey string, family config.Family, ranges config.Ranges, lost map[netip.Addr]bool) (a netip.Addr, anew, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	skip := map[netip.Addr]bool{}
	for a := range lost {
		skip[a] = true
	}
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

// Name keeps the addresses that a lease of the run asks for by name: no other is given them, unless it
// shares the key.
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

// Update replaces the claims that are known by those of a later moment; the uses stay.
func (p *Picker) Update(claims []*Claim) {
	p.mu.Lock()
	defer p.mu.Unlock()
	known := NewAddresses(claims, nil)
	known.uses = p.known.uses
	p.known = known
}

// Renew replaces what is known by what a picker of a later moment knows; what was picked stays.
func (p *Picker) Renew(later *Picker) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.known = later.known
}

// Uses are all uses of the address by Services.
func (p *Picker) Uses(a netip.Addr) []Use {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.known.Uses(a)
}

// Foreign are the uses of the address by Services that do not carry the sharing key.
func (p *Picker) Foreign(a netip.Addr, sharingKey string) []Use {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.known.Foreign(a, sharingKey)
}

// InUse are the addresses that are claimed or that a Service was granted.
func (p *Picker) InUse() []netip.Addr {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.known.InUse()
}

// Drop forgets an address that was lost to somebody else, or that its lease does not take.
func (p *Picker) Drop(a netip.Addr) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.picked, a)
}

// LeaseNamespaceLabels are the labels of a lease's namespace as Akash's provider makes it.
func LeaseNamespaceLabels(id lease.ID) map[string]string {
	labels := id.Labels()
	labels[lease.LabelNamespace] = id.Namespace()
	return labels
}
