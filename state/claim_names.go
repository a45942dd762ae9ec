package state

import (
	"net/netip"
	"strings"

	"github.com/akash-net/kubectl-akash-net/lease"
)

// AddressName is the name of the claim on an address: dashes for dots and colons, IPv6 in full.
func AddressName(a netip.Addr) string {
	return "ip--" + strings.NewReplacer(".", "-", ":", "-").Replace(a.StringExpanded())
}

// startOfEndpoint begins the name of the claim on an IP endpoint.
const startOfEndpoint = "ep--"

// EndpointName is the name of the claim on an IP endpoint.
func EndpointName(sharingKey string) string { return startOfEndpoint + lease.Hash(sharingKey) }

// wildcardLabel stands for the asterisk in the name of a claim.
const wildcardLabel = "wc--any"

// HostName is the name of the claim on a host or on a wildcard.
func HostName(host string) string {
	if domain, ok := strings.CutPrefix(host, "*."); ok {
		return wildcardLabel + "." + domain
	}
	return host
}

// WildcardOver is the wildcard that covers the host: one label, never the apex. It is empty for a
// host of one label and for a wildcard.
func WildcardOver(host string) string {
	first, domain, ok := strings.Cut(host, ".")
	if !ok || first == "*" {
		return ""
	}
	return "*." + domain
}

// parseAddressName is the address of a claim's name.
func parseAddressName(name string) (netip.Addr, bool) {
	text, ok := strings.CutPrefix(name, "ip--")
	if !ok {
		return netip.Addr{}, false
	}
	separator := "."
	if strings.Count(text, "-") == 7 {
		separator = ":"
	}
	a, err := netip.ParseAddr(strings.ReplaceAll(text, "-", separator))
	return a, err == nil && AddressName(a) == name
}
