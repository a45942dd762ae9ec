// Package dns holds the rules for the DNS records of hosts: which records a value makes, which are
// valid, and in which zone a name is. It is pure, and strict: what it passes, Gardener's DNSRecord
// and external-dns' DNSEndpoint take, also where nothing in the cluster checks them.
package dns

import (
	"net/netip"
	"slices"
	"strings"
)

// Type is the type of a record.
type Type string

// The types that both Gardener and external-dns know.
const (
	A     Type = "A"
	AAAA  Type = "AAAA"
	CNAME Type = "CNAME"
	TXT   Type = "TXT"
)

// Record is all values of one type at one name.
type Record struct {
	// Name is fully qualified, in lower case, without the trailing dot.
	Name string
	Type Type
	// Values are addresses in their canonical form, one host name (CNAME), or texts of at most 255
	// bytes.
	Values []string
	// TTL is in seconds; 0 leaves it to whoever serves the record.
	TTL int64
}

// Target is where a host leads: addresses of any family or, without any, a host name.
type Target struct {
	Addresses []netip.Addr
	Host      string
}

// Empty is true where nothing is known of the target.
func (t Target) Empty() bool { return len(t.Addresses) == 0 && t.Host == "" }

// ParseTarget reads addresses, or one host name. What is neither is taken for a host name: Check
// finds out.
func ParseTarget(values []string) Target {
	var t Target
	for _, v := range values {
		if a, err := netip.ParseAddr(v); err == nil {
			t.Addresses = append(t.Addresses, a.Unmap())
		} else if t.Host == "" {
			t.Host = Canonical(v)
		}
	}
	return t.sorted()
}

// sorted has each address once, IPv4 first: a status lists them in no certain order.
func (t Target) sorted() Target {
	slices.SortFunc(t.Addresses, netip.Addr.Compare)
	t.Addresses = slices.Compact(t.Addresses)
	return t
}

// Records are the records by which the name leads to the target: A and AAAA for its addresses,
// else a CNAME. Addresses beat a host name, as with Gardener: an address needs no second look-up.
func (t Target) Records(name string, ttl int64) []Record {
	t = t.sorted()
	var v4, v6 []string
	for _, a := range t.Addresses {
		if a.Is4() {
			v4 = append(v4, a.String())
		} else {
			v6 = append(v6, a.String())
		}
	}
	var out []Record
	if len(v4) > 0 {
		out = append(out, Record{Name: name, Type: A, Values: v4, TTL: ttl})
	}
	if len(v6) > 0 {
		out = append(out, Record{Name: name, Type: AAAA, Values: v6, TTL: ttl})
	}
	if out == nil && t.Host != "" {
		out = append(out, Record{Name: name, Type: CNAME, Values: []string{t.Host}, TTL: ttl})
	}
	return out
}

// Canonical is a name as records have it here: in lower case and without the trailing dot, with
// which Gardener finds no zone.
func Canonical(name string) string { return strings.ToLower(strings.TrimSuffix(name, ".")) }

// wildcard stands for "*" where a name cannot have it; no host may begin with it.
const wildcard = "wc--any"

// Plain is a host without "*": wc--any.example.com for *.example.com, as the ledger writes it too.
func Plain(host string) string {
	if rest, ok := strings.CutPrefix(host, "*."); ok {
		return wildcard + "." + rest
	}
	return host
}

// OwnerName is the name of the TXT record that says whose a host is. No host is named so, for none
// has an underscore, and a CNAME at the host does not shut it out. It is not _akash-challenge, with
// which a tenant proves that a domain is the tenant's.
func OwnerName(host string) string { return "_akash-net." + Plain(host) }

// Owner is the TXT record that names the lease of a host, in the way in which external-dns marks
// what it owns.
func Owner(host, lease string, ttl int64) Record {
	return Record{Name: OwnerName(host), Type: TXT, Values: []string{"heritage=akash-net,akash-net/lease=" + lease}, TTL: ttl}
}
