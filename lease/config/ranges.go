package config

import (
	"cmp"
	"encoding/json"
	"fmt"
	"iter"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"go4.org/netipx"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/document"
)

// Ranges are the configured ranges of addresses, in their order, and the excluded ranges.
type Ranges struct {
	Include []Range `json:"-"`
	Exclude []Range `json:"-"`
}

// MarshalJSON returns the ranges as they were configured; a "!" excludes.
func (rs Ranges) MarshalJSON() ([]byte, error) {
	texts := []string{}
	for _, r := range rs.Include {
		texts = append(texts, r.Text)
	}
	for _, r := range rs.Exclude {
		texts = append(texts, "!"+r.Text)
	}
	return json.Marshal(texts)
}

// Decode reads the ranges in their order. It reports overlapping ranges, because their pools would overlap and MetalLB would reject its
// whole configuration, and ranges that begin or end with an address that cannot be leased.
func (rs *Ranges) Decode(c document.Cursor) {
	*rs = Ranges{}
	for item := range c.List() {
		text, ok := item.ValidText()
		if !ok {
			continue
		}
		rest, exclude := strings.CutPrefix(text, "!")
		r, err := ParseRange(strings.TrimSpace(rest))
		overlaps := slices.IndexFunc(rs.Include, r.Overlaps)
		switch {
		case err != nil:
		case exclude:
			rs.Exclude = append(rs.Exclude, r)
		case overlaps >= 0:
			err = fmt.Errorf("%s overlaps with %s", r.Text, rs.Include[overlaps].Text)
		default:
			if err = cmp.Or(lease.CheckAddr(r.First), lease.CheckAddr(r.Last)); err == nil {
				rs.Include = append(rs.Include, r)
			}
		}
		item.Report(err)
	}
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
		return "akash-net-" + Dashed(p.Addr()) + "-" + strconv.Itoa(p.Bits())
	}
	return "akash-net-" + Dashed(r.First) + "-" + Dashed(r.Last)
}

// AddressPoolName returns the name of the pool of one address in dedicated mode: akash-ip-203-0-113-7.
func AddressPoolName(a netip.Addr) string { return "akash-ip-" + Dashed(a) }

// MetalLB returns the range in MetalLB's format: a CIDR if possible, otherwise first-last. A single address is a CIDR
// too, because MetalLB rejects plain addresses.
func (r Range) MetalLB() string {
	if p, ok := r.ips().Prefix(); ok {
		return p.String()
	}
	return r.First.String() + "-" + r.Last.String()
}

// Dashed formats an address for an object's name. IPv6 is fully expanded, because "::" would make the name ambiguous.
func Dashed(a netip.Addr) string { return dashes.Replace(a.StringExpanded()) }

var dashes = strings.NewReplacer(".", "-", ":", "-")

// The types of advertisements.
const (
	// AdvertiseL2 announces addresses by ARP and NDP (L2Advertisement).
	AdvertiseL2 = "l2"
	// AdvertiseBGP announces addresses to BGP peers (BGPAdvertisement).
	AdvertiseBGP = "bgp"
)

// Advertisement says how MetalLB announces a pool. The fields are those of MetalLB's L2Advertisement and BGPAdvertisement; those of the
// other type have their defaults.
type Advertisement struct {
	Type string `json:"type" is:"type of advertisement" oneof:"l2|bgp"`
	// NodeSelectors select the nodes that announce the addresses; all nodes if there are none.
	NodeSelectors []metav1.LabelSelector `json:"nodeSelectors"`
	// Interfaces are the network interfaces from which a node announces; all if there are none. They are L2's.
	Interfaces []string `json:"interfaces" rule:"interface" unique:"interface"`
	// Peers are the names of BGPPeers to announce to; all if there are none. This and the following are BGP's.
	Peers []string `json:"peers" rule:"name" unique:"peer"`
	// Communities are BGP communities, such as 65535:65282 or large:64500:1:2, or names in a Community object.
	Communities []string `json:"communities" rule:"community" unique:"community"`
	// LocalPref is the BGP attribute LOCAL_PREF.
	LocalPref uint32 `json:"localPref" is:"a local preference" max:"4294967295"`
	// AggregationLength and AggregationLengthV6 are the length of the prefixes that are announced, of each family.
	AggregationLength   int `json:"aggregationLength" is:"the length of an IPv4 prefix" min:"1" max:"32"`
	AggregationLengthV6 int `json:"aggregationLengthV6" is:"the length of an IPv6 prefix" min:"1" max:"128"`
}

// aggregation returns the length of the prefixes that are announced for addresses like a, and the configuration's key for it.
func (a Advertisement) aggregation(of netip.Addr) (length int, key string) {
	if of.Is4() {
		return a.AggregationLength, "aggregationLength"
	}
	return a.AggregationLengthV6, "aggregationLengthV6"
}

// Check returns an error if MetalLB rejects its whole configuration when a pool with an address range is advertised like this: the prefixes
// to announce are shorter than those that the range consists of (MetalLB: internal/config, validateBGPAdvPerPool).
func (a Advertisement) Check(r Range) error {
	length, key := a.aggregation(r.First)
	shortest := r.First.BitLen()
	for _, p := range r.ips().Prefixes() {
		shortest = min(shortest, p.Bits())
	}
	if length >= shortest {
		return nil
	}
	return fmt.Errorf("%s %d is shorter than the prefix length %d of %s, for which MetalLB rejects its whole configuration; use %d or more",
		key, length, shortest, r.MetalLB(), shortest)
}
