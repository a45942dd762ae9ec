package state

import (
	"net/netip"
	"slices"
	"sync/atomic"

	"github.com/akash-net/kubectl-akash-net/lease/config"
)

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
