package config

import (
	"fmt"
	"net/netip"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

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
	Type string
	// NodeSelectors select the nodes that announce the addresses; all nodes if there are none.
	NodeSelectors []metav1.LabelSelector
	// Interfaces are the network interfaces from which a node announces; all if there are none. They are L2's.
	Interfaces []string
	// Peers are the names of BGPPeers to announce to; all if there are none. This and the following are BGP's.
	Peers []string
	// Communities are BGP communities, such as 65535:65282 or large:64500:1:2, or names in a Community object.
	Communities []string
	// LocalPref is the BGP attribute LOCAL_PREF.
	LocalPref uint32
	// AggregationLength and AggregationLengthV6 are the length of the prefixes that are announced, of each family.
	AggregationLength, AggregationLengthV6 int
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
