package render

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
)

// poolSpec has the fields of an IPAddressPool's spec that are written. AutoAssign is false, so that only Services that
// request an address get one.
type poolSpec struct {
	Addresses  []string `json:"addresses"`
	AutoAssign bool     `json:"autoAssign"`
}

// advertisementSpec has the fields of the specs of both kinds of advertisements. The configuration has only those of one kind.
type advertisementSpec struct {
	IPAddressPools      []string               `json:"ipAddressPools"`
	NodeSelectors       []metav1.LabelSelector `json:"nodeSelectors,omitempty"`
	Interfaces          []string               `json:"interfaces,omitempty"`
	Peers               []string               `json:"peers,omitempty"`
	Communities         []string               `json:"communities,omitempty"`
	LocalPref           uint32                 `json:"localPref,omitempty"`
	AggregationLength   int                    `json:"aggregationLength,omitempty"`
	AggregationLengthV6 int                    `json:"aggregationLengthV6,omitempty"`
}

// Pools renders the IPAddressPools that serve the addresses, each followed by its advertisement: one pair per
// configured range in range mode, one per address in dedicated mode, none in pool mode. Leases share them, so they
// belong to no lease. It returns an error for an address that no pool can serve.
func Pools(cfg *config.ProviderConfig, addrs []netip.Addr) ([]Object, error) {
	if cfg.IP.Mode == config.ModePool {
		return nil, nil
	}
	addrs = slices.SortedFunc(slices.Values(addrs), netip.Addr.Compare)
	var objects []Object
	done := map[string]bool{}
	for _, a := range addrs {
		name, ok := cfg.PoolFor(a)
		if !ok {
			return nil, fmt.Errorf("address %s is in none of the provider's ranges: "+
				"add it to spec.ip.ranges of the configuration, or lease another (configured: %s)", a, describe(cfg.IP.Ranges))
		}
		if done[name] {
			continue
		}
		done[name] = true
		ranges := []config.Range{{First: a, Last: a}}
		if cfg.IP.Mode == config.ModeRange {
			configured, _ := cfg.IP.Ranges.Find(a)
			ranges = cfg.IP.Ranges.Pieces(configured)
		}
		objects = append(objects, PoolPair(cfg, name, ranges)...)
	}
	return objects, nil
}

// RangePools renders the pools of all configured ranges, except ranges that are excluded completely.
func RangePools(cfg *config.ProviderConfig) ([]Object, error) {
	var addresses []netip.Addr
	for _, r := range cfg.IP.Ranges.Include {
		if pieces := cfg.IP.Ranges.Pieces(r); len(pieces) > 0 {
			addresses = append(addresses, pieces[0].First)
		}
	}
	return Pools(cfg, addresses)
}

// Pool renders an IPAddressPool with the addresses of ranges.
func Pool(cfg *config.ProviderConfig, name string, ranges []config.Range) Object {
	return NewCustom(kinds.IPAddressPool, poolMeta(cfg, name), poolSpec{Addresses: texts(ranges)})
}

// PoolPair renders an IPAddressPool with the addresses of ranges, and its advertisement.
func PoolPair(cfg *config.ProviderConfig, name string, ranges []config.Range) []Object {
	a := cfg.IP.Advertisement
	spec := advertisementSpec{
		IPAddressPools: []string{name}, NodeSelectors: a.NodeSelectors, Interfaces: a.Interfaces, Peers: a.Peers, Communities: a.Communities,
		LocalPref: a.LocalPref,
	}
	if a.Type == config.AdvertiseBGP {
		spec.AggregationLength, spec.AggregationLengthV6 = a.AggregationLength, a.AggregationLengthV6
	}
	return []Object{Pool(cfg, name, ranges), NewCustom(kinds.AdvertisementOf(cfg), poolMeta(cfg, name), spec)}
}

func poolMeta(cfg *config.ProviderConfig, name string) Meta {
	return Meta{Labels: map[string]string{lease.LabelOurs: "true"}, Name: name, Namespace: cfg.IP.MetalLBNamespace}
}

// texts returns ranges in MetalLB's format.
func texts(ranges []config.Range) (out []string) {
	for _, r := range ranges {
		out = append(out, r.MetalLB())
	}
	return out
}

// describe lists the configured ranges for a message.
func describe(ranges config.Ranges) string {
	all := texts(ranges.Include)
	for _, text := range texts(ranges.Exclude) {
		all = append(all, "!"+text)
	}
	return cmp.Or(strings.Join(all, ", "), "none")
}
