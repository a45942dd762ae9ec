package state

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/layered"
)

// Addresses are the claims on addresses, the Services that use them, and the nodes.
type Addresses struct {
	claims layered.Map[netip.Addr, *Claim]
	byKey  layered.Lists[string, *Claim]
	uses   layered.Lists[netip.Addr, Use]
	nodes  map[netip.Addr][]Use
	// inUse is what InUse has returned, here and where these addresses were shared. A change has another one.
	inUse *atomic.Pointer[[]netip.Addr]
}

// NewAddresses indexes claims and uses by address. It skips claims on hosts.
func NewAddresses(claims []*Claim, uses []Use) *Addresses {
	as := &Addresses{inUse: new(atomic.Pointer[[]netip.Addr])}
	for _, c := range claims {
		as.Claim(c, true)
	}
	for _, u := range uses {
		as.Use(u, true)
	}
	return as
}

// Claim adds a claim, or removes it. It skips one on a host.
func (as *Addresses) Claim(c *Claim, there bool) {
	if c.Kind != Address {
		return
	}
	as.inUse = new(atomic.Pointer[[]netip.Addr])
	byAge := func(a, b *Claim) int { return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.Name(), b.Name())) }
	if as.byKey.Set(c.SharingKey, c, byAge, there); there {
		as.claims.Put(c.Addr(), c)
	} else {
		as.claims.Drop(c.Addr())
	}
}

// Use adds a use of an address by a Service, or removes those that the Service has of it.
func (as *Addresses) Use(u Use, there bool) {
	as.inUse = new(atomic.Pointer[[]netip.Addr])
	as.uses.Set(u.Address, u, Use.Compare, there)
}

// Nodes sets the addresses of the nodes.
func (as *Addresses) Nodes(uses []Use) {
	as.nodes = map[netip.Addr][]Use{}
	for _, u := range uses {
		as.nodes[u.Address] = append(as.nodes[u.Address], u)
	}
}

// Share returns the addresses as they are.
func (as *Addresses) Share() *Addresses {
	return &Addresses{claims: as.claims.Share(), byKey: as.byKey.Share(), uses: as.uses.Share(), nodes: as.nodes, inUse: as.inUse}
}

// InUse returns the addresses that are claimed or granted to a Service, sorted. Nobody changes them: a command asks for each lease.
func (as *Addresses) InUse() []netip.Addr {
	if known := as.inUse.Load(); known != nil {
		return *known
	}
	used := slices.Collect(maps.Keys(as.claims.Map()))
	for a, uses := range as.uses.All() {
		if a.IsValid() && slices.ContainsFunc(uses, func(u Use) bool { return u.Granted }) {
			used = append(used, a)
		}
	}
	slices.SortFunc(used, netip.Addr.Compare)
	used = slices.Compact(used)
	as.inUse.Store(&used)
	return used
}

// Uses returns all uses of the address, by Services and by nodes.
func (as *Addresses) Uses(a netip.Addr) []Use {
	if len(as.nodes[a]) == 0 {
		return as.uses.At(a)
	}
	return slices.Concat(as.uses.At(a), as.nodes[a])
}

// Services returns the uses of addresses by Services.
func (as *Addresses) Services() layered.Lists[netip.Addr, Use] { return as.uses }

// Claimed returns the sharing keys of the claims on addresses.
func (as *Addresses) Claimed() map[netip.Addr]string {
	out := make(map[netip.Addr]string, as.claims.Len())
	for a, c := range as.claims.All() {
		out[a] = c.SharingKey
	}
	return out
}

// Foreign returns the uses of the address by Services with another sharing key. MetalLB never lets such a Service share
// the address, whoever owns it, so the uses name no lease.
func (as *Addresses) Foreign(a netip.Addr, sharingKey string) []Use {
	var out []Use
	for _, u := range as.Uses(a) {
		if u.SharingKey != sharingKey {
			u.HasLease = false
			out = append(out, u)
		}
	}
	return out
}

// Next returns the address that an owner's IP endpoint should get in a family: the one its sharing key already has,
// else one that MetalLB has granted to the key, else the lowest free one of the ranges. It skips the addresses in skip.
// ok is false if none is free.
func (as *Addresses) Next(
	owner, sharingKey string, family config.Family, ranges config.Ranges, skip map[netip.Addr]bool,
) (a netip.Addr, ok bool) {
	for _, c := range as.byKey.At(sharingKey) {
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
	return as.claims.At(a) == nil && len(as.Foreign(a, sharingKey)) == 0
}

// granted returns the addresses in the status of Services with the sharing key, sorted.
func (as *Addresses) granted(sharingKey string) []netip.Addr {
	var out []netip.Addr
	for a, uses := range as.uses.All() {
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
	known.uses, known.nodes = as.uses, as.nodes
	return known
}

// PoolIndex finds pools by address. Dedicated mode has one pool per leased address, so a lookup must not scan all
// pools.
type PoolIndex struct {
	pools  []PoolObject
	byName map[string]int
	// ranges are the ranges of all pools, sorted by first address. They form a binary tree: the root of a slice is its
	// middle element. last has, at the root of each slice, the last address of all its ranges.
	ranges []pooledRange
	last   []netip.Addr
	// visited counts the ranges that lookups visit, for the tests.
	visited atomic.Int64
}

type pooledRange struct {
	config.Range
	pool int
}

// NewPoolIndex indexes pools.
func NewPoolIndex(pools []PoolObject) *PoolIndex {
	x := &PoolIndex{pools: pools, byName: make(map[string]int, len(pools))}
	for i, o := range pools {
		if _, known := x.byName[o.Name]; !known || o.Ours {
			x.byName[o.Name] = i
		}
		for _, r := range o.Ranges {
			x.ranges = append(x.ranges, pooledRange{r, i})
		}
	}
	slices.SortStableFunc(x.ranges, func(a, b pooledRange) int { return a.First.Compare(b.First) })
	x.last = make([]netip.Addr, len(x.ranges))
	x.fillLast(0, len(x.ranges))
	return x
}

// fillLast sets last for the slice from:to and its children, and returns it.
func (x *PoolIndex) fillLast(from, to int) (last netip.Addr) {
	if from >= to {
		return last
	}
	root := (from + to) / 2
	last = x.ranges[root].Last
	for _, a := range []netip.Addr{x.fillLast(from, root), x.fillLast(root+1, to)} {
		if last.Less(a) {
			last = a
		}
	}
	x.last[root] = last
	return last
}

// Overlapping calls do for each range of a pool that overlaps r, in the order of first addresses, until do returns
// false.
func (x *PoolIndex) Overlapping(r config.Range, do func(o *PoolObject, theirs config.Range) bool) {
	x.visit(r, 0, len(x.ranges), do)
}

func (x *PoolIndex) visit(r config.Range, from, to int, do func(*PoolObject, config.Range) bool) bool {
	if from >= to {
		return true
	}
	x.visited.Add(1)
	root := (from + to) / 2
	if x.last[root].Less(r.First) {
		return true
	}
	if !x.visit(r, from, root, do) {
		return false
	}
	at := &x.ranges[root]
	if r.Last.Less(at.First) {
		return true
	}
	if !at.Last.Less(r.First) && !do(&x.pools[at.pool], at.Range) {
		return false
	}
	return x.visit(r, root+1, to, do)
}

// Of returns the pool that has the address, or nil.
func (x *PoolIndex) Of(a netip.Addr) (found *PoolObject) {
	x.Overlapping(config.Range{First: a, Last: a}, func(o *PoolObject, _ config.Range) bool {
		found = o
		return false
	})
	return found
}

// find returns the pool with the name, preferably one of this program, or nil.
func (x *PoolIndex) find(name string) *PoolObject {
	if i, known := x.byName[name]; known {
		return &x.pools[i]
	}
	return nil
}

// sharedWithOther reports whether a pool other than the given one overlaps r.
func (x *PoolIndex) sharedWithOther(r config.Range, than *PoolObject) (other bool) {
	x.Overlapping(r, func(o *PoolObject, _ config.Range) bool {
		other = o != than
		return !other
	})
	return other
}

// Overlap returns a pool, other than the one with the namespace and name, that overlaps one of the ranges, and the
// overlapping range of that pool. ok is false if there is none.
func (x *PoolIndex) Overlap(ranges []config.Range, namespace, name string) (pool PoolObject, theirs config.Range, ok bool) {
	for _, r := range ranges {
		x.Overlapping(r, func(o *PoolObject, has config.Range) bool {
			if ok = o.Name != name || o.Ref.Namespace != namespace; ok {
				pool, theirs = *o, has
			}
			return !ok
		})
		if ok {
			return pool, theirs, true
		}
	}
	return pool, theirs, false
}

// Sharing returns the pools that overlap r, each once.
func (x *PoolIndex) Sharing(r config.Range) (pools []*PoolObject) {
	x.Overlapping(r, func(o *PoolObject, _ config.Range) bool {
		if !slices.Contains(pools, o) {
			pools = append(pools, o)
		}
		return true
	})
	return pools
}

// Has reports whether the pool has the address.
func (o PoolObject) Has(a netip.Addr) bool {
	return slices.ContainsFunc(o.Ranges, func(r config.Range) bool { return r.Contains(a) })
}

// Shares returns the addresses that both pools have.
func (o PoolObject) Shares(other PoolObject) (shared []config.Range) {
	for _, a := range o.Ranges {
		for _, b := range other.Ranges {
			if r, overlap := a.Intersect(b); overlap {
				shared = append(shared, r)
			}
		}
	}
	return shared
}

// Without returns the ranges of the pool minus the given ranges.
func (o PoolObject) Without(ranges []config.Range) (rest []config.Range) {
	for _, r := range o.Ranges {
		rest = append(rest, config.Ranges{Exclude: ranges}.Pieces(r)...)
	}
	return rest
}

// Within reports whether the pool has ranges and all of them are inside in.
func (o PoolObject) Within(in config.Range) bool {
	outside := func(r config.Range) bool { return !in.Contains(r.First) || !in.Contains(r.Last) }
	return len(o.Ranges) > 0 && !slices.ContainsFunc(o.Ranges, outside)
}

// PoolRanges returns the ranges of one of this program's pools, given the ranges that the configuration wants for it.
// It leaves out what other pools of this program have, because an address never moves to another pool. It keeps used
// addresses that the pool serves already and no other pool has. used must be sorted.
func PoolRanges(name string, wanted []config.Range, pools *PoolIndex, used []netip.Addr) []config.Range {
	var elsewhere []config.Range
	for _, r := range wanted {
		pools.Overlapping(r, func(o *PoolObject, theirs config.Range) bool {
			if o.Ours && o.Name != name {
				elsewhere = append(elsewhere, theirs)
			}
			return true
		})
	}
	ranges := PoolObject{Ranges: wanted}.Without(elsewhere)
	live := pools.find(name)
	if live == nil || !live.Ours {
		return ranges
	}
	for _, r := range live.Without(ranges) {
		i, _ := slices.BinarySearchFunc(used, r.First, netip.Addr.Compare)
		for ; i < len(used) && r.Contains(used[i]); i++ {
			if a := (config.Range{First: used[i], Last: used[i]}); !pools.sharedWithOther(a, live) {
				ranges = append(ranges, a)
			}
		}
	}
	return ranges
}

// ServedByOurs reports whether a pool of this program with another name has the address.
func ServedByOurs(a netip.Addr, name string, pools *PoolIndex) (served bool) {
	pools.Overlapping(config.Range{First: a, Last: a}, func(o *PoolObject, _ config.Range) bool {
		served = o.Ours && o.Name != name
		return !served
	})
	return served
}

// Stranded returns the claims on addresses that the new configuration no longer serves, sorted by address: was serves
// them, next does not, and neither does a pool of an administrator. A nil was counts as serving all addresses.
func Stranded(was, next *config.ProviderConfig, claims []*Claim, pools []PoolObject) []*Claim {
	if was != nil && was.IP.Mode == config.ModePool {
		return nil
	}
	stranded := slices.DeleteFunc(slices.Clone(claims), func(c *Claim) bool {
		if c.Kind != Address || c.Unreadable != "" || len(c.Parts) == 0 {
			return true
		}
		if next.IP.Mode == config.ModePool {
			return false
		}
		had := was == nil
		if !had {
			_, had = was.PoolFor(c.Addr())
		}
		_, has := next.PoolFor(c.Addr())
		return has || !had || slices.ContainsFunc(pools, func(o PoolObject) bool { return !o.Ours && o.Has(c.Addr()) })
	})
	slices.SortFunc(stranded, func(a, b *Claim) int { return a.Addr().Compare(b.Addr()) })
	return stranded
}

// AddressesWithout returns the addresses of a pool without ranges, and whether that changes it.
func AddressesWithout(pool *unstructured.Unstructured, ranges []config.Range) (rest []any, changed bool) {
	texts, _, _ := unstructured.NestedStringSlice(pool.Object, "spec", "addresses")
	for _, text := range texts {
		was, err := config.ParseRange(text)
		if err != nil || !slices.ContainsFunc(ranges, was.Overlaps) {
			rest = append(rest, text)
			continue
		}
		changed = true
		for _, piece := range (config.Ranges{Exclude: ranges}).Pieces(was) {
			rest = append(rest, piece.MetalLB())
		}
	}
	return rest, changed
}
