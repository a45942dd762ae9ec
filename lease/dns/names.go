package dns

import "strings"

// Canonical returns the name as records have it: in lower case and without the trailing dot, with which Gardener finds
// no zone.
func Canonical(name string) string { return strings.ToLower(strings.TrimSuffix(name, ".")) }

// wildcard replaces "*" in names that cannot contain it; no host may begin with it.
const wildcard = "wc--any"

// Plain returns a host without "*": wc--any.example.com for *.example.com. The ledger uses the same form.
func Plain(host string) string {
	if rest, ok := strings.CutPrefix(host, "*."); ok {
		return wildcard + "." + rest
	}
	return host
}

// OwnerName returns the name of the TXT record that names the owner of a host. It never equals a host, because hosts
// have no underscore, and it does not conflict with a CNAME of the host. It differs from _akash-challenge, with which a
// tenant proves control of a domain.
func OwnerName(host string) string { return "_akash-net." + Plain(host) }

// EndsInNumber reports whether the last label of a name is a decimal or hexadecimal number. No top-level domain is a
// number (RFC 3696, 2), and URL parsers read such a name as an IPv4 address or reject it (WHATWG URL, "ends in a number
// checker").
func EndsInNumber(name string) bool {
	label := name[strings.LastIndexByte(name, '.')+1:]
	digits := "0123456789"
	if hex, ok := strings.CutPrefix(label, "0x"); ok {
		label, digits = hex, "0123456789abcdef"
	} else if label == "" {
		return false
	}
	return strings.Trim(label, digits) == ""
}

// InZone reports whether the name is the zone's name or below it. It compares whole labels: testexample.com is not in
// example.com.
func InZone(name, zone string) bool {
	return zone != "" && (name == zone || strings.HasSuffix(name, "."+zone))
}

// Zone returns the index of the longest zone that contains the name, or -1.
func Zone(name string, zones []string) int {
	best := -1
	for i, z := range zones {
		if InZone(name, z) && (best < 0 || len(z) > len(zones[best])) {
			best = i
		}
	}
	return best
}
