package config

import (
	"net/netip"
	"strconv"
	"strings"
)

// PoolFor returns the name of the IPAddressPool, and of its advertisement, for an address. ok is false if there is no
// pool for it: the mode is pool, or the address is excluded or in none of the ranges. In dedicated mode without ranges
// every address has a pool.
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

// PoolName returns the name of the pool of a configured range: akash-net-203-0-113-0-28, or
// akash-net-203-0-113-8-203-0-113-12 if the range is not a CIDR. It depends only on the addresses, so another spelling
// of the same range does not create a second pool.
func (r Range) PoolName() string {
	if p, ok := r.ips().Prefix(); ok {
		return "akash-net-" + dashed(p.Addr()) + "-" + strconv.Itoa(p.Bits())
	}
	return "akash-net-" + dashed(r.First) + "-" + dashed(r.Last)
}

// AddressPoolName returns the name of the pool of one address in dedicated mode: akash-ip-203-0-113-7.
func AddressPoolName(a netip.Addr) string { return "akash-ip-" + dashed(a) }

// MetalLB returns the range in MetalLB's format: a CIDR if possible, otherwise first-last. A single address is a CIDR
// too, because MetalLB rejects plain addresses.
func (r Range) MetalLB() string {
	if p, ok := r.ips().Prefix(); ok {
		return p.String()
	}
	return r.First.String() + "-" + r.Last.String()
}

// dashed formats an address for an object's name. IPv6 is fully expanded, because "::" would make the name ambiguous.
func dashed(a netip.Addr) string {
	return strings.NewReplacer(".", "-", ":", "-").Replace(a.StringExpanded())
}
