package config

import (
	"net/netip"
	"strconv"
	"strings"
)

// PoolFor is the name of the IPAddressPool, and of its L2Advertisement, that serves the address;
// ok is false where the configured mode makes no pool for it: the mode is pool, or the address is
// in none of the ranges or excluded. In dedicated mode without any range every address has a pool.
func (c *ProviderConfig) PoolFor(a netip.Addr) (name string, ok bool) {
	r, inRange := c.IP.Ranges.Find(a)
	switch c.IP.Mode {
	case ModeRange:
		if !inRange {
			return "", false
		}
		return r.PoolName(), true
	case ModeDedicated:
		return AddressPoolName(a), inRange || len(c.IP.Ranges.Include) == 0 && !c.IP.Ranges.Excludes(a)
	}
	return "", false
}

// PoolName is the name of the pool of a configured range: akash-net-203-0-113-0-28, or
// akash-net-203-0-113-8-203-0-113-12 where the range is no network. It follows from the addresses
// alone, so that another spelling of the same range makes no second pool over it.
func (r Range) PoolName() string {
	if p, ok := r.prefix(); ok {
		return "akash-net-" + dashed(p.Addr()) + "-" + strconv.Itoa(p.Bits())
	}
	return "akash-net-" + dashed(r.First) + "-" + dashed(r.Last)
}

// AddressPoolName is the name of the pool of one address in dedicated mode: akash-ip-203-0-113-7.
func AddressPoolName(a netip.Addr) string { return "akash-ip-" + dashed(a) }

// MetalLB is the range as MetalLB reads it: a CIDR where it is one, else first-last. A single
// address is a CIDR too: MetalLB refuses it bare.
func (r Range) MetalLB() string {
	if p, ok := r.prefix(); ok {
		return p.String()
	}
	return r.First.String() + "-" + r.Last.String()
}

// prefix is the range as a network, where it is one.
func (r Range) prefix() (netip.Prefix, bool) {
	for bits := r.First.BitLen(); bits >= 0; bits-- {
		p, err := r.First.Prefix(bits)
		if err != nil || p.Addr() != r.First {
			break
		}
		if lastOf(p) == r.Last {
			return p, true
		}
	}
	return netip.Prefix{}, false
}

// dashed writes an address as a part of an object's name. IPv6 is fully expanded: what "::" left
// out could not be told otherwise.
func dashed(a netip.Addr) string {
	return strings.NewReplacer(".", "-", ":", "-").Replace(a.StringExpanded())
}
