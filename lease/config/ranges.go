package config

import (
	"fmt"
	"iter"
	"net/netip"
	"slices"
	"strings"

	"go4.org/netipx"
)

// Ranges are the configured ranges of addresses, in their order, and the excluded ranges.
type Ranges struct {
	Include []Range
	Exclude []Range
}

// Range is a contiguous range of addresses of one family, including both ends.
type Range struct {
	First, Last netip.Addr
	// Text is the range as it was configured.
	Text string
}

// ParseRange reads "203.0.113.0/28", "203.0.113.8-203.0.113.12" or a single address. It rejects CIDRs with host bits,
// zones, and IPv4-mapped IPv6 addresses.
func ParseRange(text string) (Range, error) {
	r := Range{Text: text}
	var err error
	switch first, last, isRange := strings.Cut(text, "-"); {
	case isRange:
		if r.First, err = ParseAddr(strings.TrimSpace(first)); err != nil {
			return r, err
		}
		if r.Last, err = ParseAddr(strings.TrimSpace(last)); err != nil {
			return r, err
		}
		if r.First.BitLen() != r.Last.BitLen() {
			return r, fmt.Errorf("%q mixes IPv4 and IPv6", text)
		}
		if r.Last.Less(r.First) {
			return r, fmt.Errorf("%q ends before it begins", text)
		}
	case strings.Contains(text, "/"):
		p, err := netip.ParsePrefix(text)
		if err != nil || p.Addr().Is4In6() {
			return r, fmt.Errorf("%q is not a CIDR", text)
		}
		if p != p.Masked() {
			return r, fmt.Errorf("%q has host bits set; the network is %s", text, p.Masked())
		}
		r.First, r.Last = p.Addr(), netipx.PrefixLastIP(p)
	default:
		if r.First, err = ParseAddr(text); err != nil {
			return r, err
		}
		r.Last = r.First
	}
	return r, nil
}

// ParseAddr reads an address. It rejects zones and IPv4-mapped IPv6 addresses.
func ParseAddr(s string) (netip.Addr, error) {
	a, err := netip.ParseAddr(s)
	if err != nil || a.Zone() != "" {
		return a, fmt.Errorf("%q is not an IP address", s)
	}
	if a.Is4In6() {
		return a, fmt.Errorf("%q is an IPv4-mapped IPv6 address; write %s", s, a.Unmap())
	}
	return a, nil
}

// ips returns the range without its text.
func (r Range) ips() netipx.IPRange { return netipx.IPRangeFrom(r.First, r.Last) }

// Contains reports whether the address is in the range.
func (r Range) Contains(a netip.Addr) bool { return r.ips().Contains(a) }

// Overlaps reports whether the ranges share an address.
func (r Range) Overlaps(o Range) bool { return r.ips().Overlaps(o.ips()) }

// Intersect returns the addresses that both ranges contain; ok is false if there are none.
func (r Range) Intersect(o Range) (shared Range, ok bool) {
	shared.First = slices.MaxFunc([]netip.Addr{r.First, o.First}, netip.Addr.Compare)
	shared.Last = slices.MinFunc([]netip.Addr{r.Last, o.Last}, netip.Addr.Compare)
	shared.Text = shared.MetalLB()
	return shared, shared.ips().IsValid()
}

// Excludes reports whether the address is excluded from all ranges.
func (rs Ranges) Excludes(a netip.Addr) bool {
	return slices.ContainsFunc(rs.Exclude, func(r Range) bool { return r.Contains(a) })
}

// Find returns the first range that contains the address, unless the address is excluded.
func (rs Ranges) Find(a netip.Addr) (Range, bool) {
	if rs.Excludes(a) {
		return Range{}, false
	}
	if i := slices.IndexFunc(rs.Include, func(r Range) bool { return r.Contains(a) }); i >= 0 {
		return rs.Include[i], true
	}
	return Range{}, false
}

// Pieces returns the parts of a range that are not excluded, in order.
func (rs Ranges) Pieces(r Range) (pieces []Range) {
	cuts := slices.DeleteFunc(slices.Clone(rs.Exclude), func(x Range) bool { return !r.Overlaps(x) })
	if len(cuts) == 0 {
		return []Range{r}
	}
	var rest netipx.IPSetBuilder
	rest.AddRange(r.ips())
	for _, x := range cuts {
		rest.RemoveRange(x.ips())
	}
	set, _ := rest.IPSet() // ranges that overlap are valid, so there is no error
	for _, p := range set.Ranges() {
		pieces = append(pieces, Range{First: p.From(), Last: p.To()})
	}
	return pieces
}

// Addresses yields the addresses of a family that are not excluded: the ranges in their configured order, each from its
// lowest address.
func (rs Ranges) Addresses(f Family) iter.Seq[netip.Addr] {
	return func(yield func(netip.Addr) bool) {
		for _, r := range rs.Include {
			if FamilyOf(r.First) != f {
				continue
			}
			for _, p := range rs.Pieces(r) {
				for a := p.First; p.Contains(a); a = a.Next() {
					if !yield(a) {
						return
					}
				}
			}
		}
	}
}

// Texts returns the ranges of a family as they were configured.
func (rs Ranges) Texts(f Family) []string {
	var out []string
	for _, r := range rs.Include {
		if FamilyOf(r.First) == f {
			out = append(out, r.Text)
		}
	}
	return out
}
