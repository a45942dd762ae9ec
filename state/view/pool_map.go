package view

import (
	"encoding/binary"
	"math"
	"net/netip"
	"slices"

	"go4.org/netipx"

	"github.com/akash-net/kubectl-akash-net/lease/config"
)

// AddressUse is what an address of a pool is used for.
type AddressUse int

// The uses, the most notable last.
const (
	// UseFree is an address that a lease can get.
	UseFree AddressUse = iota
	// UseNode is an address of a node.
	UseNode
	// UseUsed is claimed, and granted by MetalLB.
	UseUsed
	// UseHeld is claimed and not used, also where the hold has expired.
	UseHeld
	// UsePending is an address that comes or goes: it is Pending, Claiming, Transferring or Terminating.
	UsePending
	// UseUnclaimed is in use without a claim.
	UseUnclaimed
	// uses is how many uses there are.
	uses
)

// UseOf returns the use of an address with a row of the book.
func UseOf(r *IPRow) AddressUse {
	switch {
	case r.State == StateActive && !r.Claimed:
		return UseUnclaimed
	case r.State == StateActive:
		return UseUsed
	case r.State == StateReserved, r.State == StateExpired, r.State == StateWithheld, r.State == StateUnreadable:
		return UseHeld
	}
	return UsePending
}

// Users returns the row of each address: an Active one, if there are several.
func Users(rows []IPRow) map[netip.Addr]*IPRow {
	by := map[netip.Addr]*IPRow{}
	for i, r := range rows {
		if r.Address.IsValid() && (by[r.Address] == nil || r.State == StateActive) {
			by[r.Address] = &rows[i]
		}
	}
	return by
}

// PoolMap is a map of the addresses of a pool that are of one family.
type PoolMap struct {
	Blocks []Block
	// Bits is the length of the prefix of a block.
	Bits int
	// Single is true if each block is an address.
	Single bool
	// OnlyUsed is true if only the blocks that are in use are in the map, because there are so many.
	OnlyUsed bool
	// Counts are how many addresses have each use but UseFree.
	Counts [uses]int
}

// Block is an address or a block of addresses of a pool.
type Block struct {
	netip.Prefix
	// Total is how many addresses of the pool are in the block, at most the largest number. Counts are how many of them have each use but
	// UseFree.
	Total  uint64
	Counts [uses]int
	// First is the first address in use, or the zero Addr.
	First netip.Addr
}

// InUse returns how many of the addresses are in use.
func (b *Block) InUse() (n int) {
	for _, count := range b.Counts {
		n += count
	}
	return n
}

// Use returns the most notable use in the block.
func (b *Block) Use() AddressUse {
	for u := uses - 1; u > UseFree; u-- {
		if b.Counts[u] > 0 {
			return u
		}
	}
	return UseFree
}

// Level returns how much of the block is in use: 0 for nothing, else 1 to levels, which stands for all or nearly all.
func (b *Block) Level(levels int) int {
	n := b.InUse()
	if n == 0 {
		return 0
	}
	return min(levels, 1+int(float64(n)/float64(max(b.Total, 1))*float64(levels)))
}

const (
	// manyAddresses is from how many addresses on a map has only the blocks that are in use. Nobody fills more.
	manyAddresses = 1 << 24
	// leastSparse is the least length, in bits, of the blocks of a map with only those in use: blocks of fewer addresses say little.
	leastSparse = 8
)

// Maps returns the maps of a pool, of at most so many blocks each: that of its IPv4 addresses, then that of its IPv6 addresses. users are
// the rows of addresses, as Users returns them.
func (r *PoolRow) Maps(users map[netip.Addr]*IPRow, most int) (maps []PoolMap) {
	for _, family := range []config.Family{config.IPv4, config.IPv6} {
		pieces := slices.DeleteFunc(slices.Clone(r.Pieces), func(p config.Range) bool { return config.FamilyOf(p.First) != family })
		slices.SortFunc(pieces, func(a, b config.Range) int { return a.First.Compare(b.First) })
		if len(pieces) > 0 {
			maps = append(maps, mapOf(pieces, usesWithin(pieces, r.Nodes, users), most))
		}
	}
	return maps
}

// usedAddress is an address in use.
type usedAddress struct {
	netip.Addr
	use AddressUse
}

// usesWithin returns the addresses of sorted pieces that are in use, sorted.
func usesWithin(pieces []config.Range, nodes []netip.Addr, users map[netip.Addr]*IPRow) (used []usedAddress) {
	in := func(a netip.Addr) bool {
		i, found := slices.BinarySearchFunc(pieces, a, func(p config.Range, a netip.Addr) int { return p.First.Compare(a) })
		return found || i > 0 && pieces[i-1].Contains(a)
	}
	for a, r := range users {
		if in(a) {
			used = append(used, usedAddress{a, UseOf(r)})
		}
	}
	for _, a := range nodes {
		if users[a] == nil && in(a) {
			used = append(used, usedAddress{a, UseNode})
		}
	}
	slices.SortFunc(used, func(a, b usedAddress) int { return a.Compare(b.Addr) })
	return used
}

// mapOf returns the map of sorted pieces of one family, with the smallest blocks of which there are not too many.
func mapOf(pieces []config.Range, used []usedAddress, most int) PoolMap {
	total, width := totalOf(pieces), pieces[0].First.BitLen()
	m := PoolMap{OnlyUsed: total > manyAddresses}
	for _, a := range used {
		m.Counts[a.use]++
	}
	shift := 0
	if m.OnlyUsed {
		shift = leastSparse
	}
	for ; ; shift++ {
		blocks := prefixesOf(pieces, width-shift, most)
		if m.OnlyUsed {
			blocks = prefixesOfUsed(used, width-shift)
		}
		if len(blocks) <= most || shift == width {
			m.Bits, m.Single = width-shift, shift == 0
			for _, b := range blocks {
				m.Blocks = append(m.Blocks, blockOf(b, pieces, used))
			}
			return m
		}
	}
}

// blockOf counts the addresses of a block.
func blockOf(prefix netip.Prefix, pieces []config.Range, used []usedAddress) Block {
	b := Block{Prefix: prefix}
	for _, p := range pieces {
		first, last := prefix.Addr(), netipx.PrefixLastIP(prefix)
		if first.Less(p.First) {
			first = p.First
		}
		if p.Last.Less(last) {
			last = p.Last
		}
		if !last.Less(first) {
			b.Total = addSaturated(b.Total, distance(first, last))
		}
	}
	from, _ := slices.BinarySearchFunc(used, prefix.Addr(), func(u usedAddress, a netip.Addr) int { return u.Compare(a) })
	for _, a := range used[from:] {
		if !prefix.Contains(a.Addr) {
			break
		}
		if !b.First.IsValid() {
			b.First = a.Addr
		}
		b.Counts[a.use]++
	}
	return b
}

// prefixesOf returns all blocks of a length that the pieces touch, or one more than there may be at most.
func prefixesOf(pieces []config.Range, length, most int) (out []netip.Prefix) {
	for _, p := range pieces {
		for a := p.First; a.IsValid() && !p.Last.Less(a) && len(out) <= most; {
			b := netip.PrefixFrom(a, length).Masked()
			if len(out) == 0 || out[len(out)-1] != b {
				out = append(out, b)
			}
			a = netipx.PrefixLastIP(b).Next()
		}
	}
	return out
}

// prefixesOfUsed returns the blocks of a length that are in use.
func prefixesOfUsed(used []usedAddress, length int) (out []netip.Prefix) {
	for _, a := range used {
		out = append(out, netip.PrefixFrom(a.Addr, length).Masked())
	}
	return slices.Compact(out)
}

// totalOf counts the addresses, up to the largest number.
func totalOf(pieces []config.Range) (n uint64) {
	for _, p := range pieces {
		n = addSaturated(n, distance(p.First, p.Last))
	}
	return n
}

// addSaturated returns n and one more than a distance, up to the largest number.
func addSaturated(n, distance uint64) uint64 {
	if distance >= math.MaxUint64-n {
		return math.MaxUint64
	}
	return n + distance + 1
}

// distance returns how far two addresses are apart, up to the largest number.
func distance(a, b netip.Addr) uint64 {
	x, y := a.As16(), b.As16()
	if [8]byte(x[:8]) != [8]byte(y[:8]) {
		return math.MaxUint64
	}
	return binary.BigEndian.Uint64(y[8:]) - binary.BigEndian.Uint64(x[8:])
}
