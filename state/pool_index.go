package state

import (
	"net/netip"
	"slices"
	"sync/atomic"

	"github.com/akash-net/kubectl-akash-net/lease/config"
)

// PoolIndex finds pools by addresses. In dedicated mode there are as many pools as leased addresses, so
// what asks for each address must not look at each pool.
type PoolIndex struct {
	pools  []PoolObject
	byName map[string]int
	// ranges are those of all pools by their first address, as a tree: the middle of a part is its root.
	// last is the last address of each part's ranges, at its root.
	ranges []pooledRange
	last   []netip.Addr
	// looked counts the ranges that were looked at, for the test of how many they are.
	looked atomic.Int64
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
	x.grow(0, len(x.ranges))
	return x
}

// grow notes the last addresses of a part of the tree.
func (x *PoolIndex) grow(from, to int) (last netip.Addr) {
	if from >= to {
		return last
	}
	root := (from + to) / 2
	last = x.ranges[root].Last
	for _, a := range []netip.Addr{x.grow(from, root), x.grow(root+1, to)} {
		if last.Less(a) {
			last = a
		}
	}
	x.last[root] = last
	return last
}

// Overlapping hands over the ranges of pools that share addresses with a range, by their first address,
// until do returns false.
func (x *PoolIndex) Overlapping(r config.Range, do func(o *PoolObject, theirs config.Range) bool) {
	x.visit(r, 0, len(x.ranges), do)
}

func (x *PoolIndex) visit(r config.Range, from, to int, do func(*PoolObject, config.Range) bool) bool {
	if from >= to {
		return true
	}
	x.looked.Add(1)
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

// Of is the pool that has the address; nil where none has it.
func (x *PoolIndex) Of(a netip.Addr) (found *PoolObject) {
	x.Overlapping(config.Range{First: a, Last: a}, func(o *PoolObject, _ config.Range) bool {
		found = o
		return false
	})
	return found
}

// named is the pool of a name, ours where there are several; nil where there is none.
func (x *PoolIndex) named(name string) *PoolObject {
	if i, known := x.byName[name]; known {
		return &x.pools[i]
	}
	return nil
}

// other is true where another pool than one shares addresses with a range.
func (x *PoolIndex) other(r config.Range, than *PoolObject) (other bool) {
	x.Overlapping(r, func(o *PoolObject, _ config.Range) bool {
		other = o != than
		return !other
	})
	return other
}

// Overlap is a pool that shares addresses with ranges, beside the one of a namespace and a name, and those
// addresses of it; ok is false where there is none.
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

// Sharing are the pools that share addresses with a range, each once.
func (x *PoolIndex) Sharing(r config.Range) (pools []*PoolObject) {
	x.Overlapping(r, func(o *PoolObject, _ config.Range) bool {
		if !slices.Contains(pools, o) {
			pools = append(pools, o)
		}
		return true
	})
	return pools
}

// Has is true for a pool with the address.
func (o PoolObject) Has(a netip.Addr) bool {
	return slices.ContainsFunc(o.Ranges, func(r config.Range) bool { return r.Contains(a) })
}

// Shares are the addresses that both pools have.
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

// Without is what the pool has beside some addresses.
func (o PoolObject) Without(ranges []config.Range) (rest []config.Range) {
	for _, r := range o.Ranges {
		rest = append(rest, config.Ranges{Exclude: ranges}.Pieces(r)...)
	}
	return rest
}

// Within is true for a pool all of whose addresses are in the range.
func (o PoolObject) Within(in config.Range) bool {
	outside := func(r config.Range) bool { return !in.Contains(r.First) || !in.Contains(r.Last) }
	return len(o.Ranges) > 0 && !slices.ContainsFunc(o.Ranges, outside)
}
