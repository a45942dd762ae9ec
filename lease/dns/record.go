// Package dns has the rules for the DNS records of hosts: which records a target needs, which records are valid, and
// which zone a name is in. It is pure. Gardener's DNSRecord and external-dns' DNSEndpoint accept every record that it
// accepts, even in clusters without webhooks.
package dns

import (
	"net/netip"
	"slices"
)

// Type is the type of a record.
type Type string

// The types that both Gardener and external-dns support.
const (
	A     Type = "A"
	AAAA  Type = "AAAA"
	CNAME Type = "CNAME"
	TXT   Type = "TXT"
)

// Record has all values of one type for one name.
type Record struct {
	// Name is fully qualified, in lower case, without the trailing dot.
	Name string
	Type Type
	// Values are canonical addresses, one host name (CNAME), or texts of at most 255 bytes.
	Values []string
	// TTL is in seconds; 0 means the default of the record's provider.
	TTL int64
}

// Target is where a host points: addresses of any family or, without addresses, a host name.
type Target struct {
	Addresses []netip.Addr
	Host      string
}

// Empty reports whether the target is unknown.
func (t Target) Empty() bool { return len(t.Addresses) == 0 && t.Host == "" }

// ParseTarget reads addresses, or one host name. It does not validate the host name; Check does.
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

// sorted removes duplicates and puts IPv4 first. The order in the status of an object is arbitrary.
func (t Target) sorted() Target {
	slices.SortFunc(t.Addresses, netip.Addr.Compare)
	t.Addresses = slices.Compact(t.Addresses)
	return t
}

// Records returns the records that point the name at the target: A and AAAA for its addresses, otherwise a CNAME. Like
// Gardener, it prefers addresses to a host name, because they need no second lookup.
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

// Owner returns the TXT record that names the lease of a host, in external-dns' format for ownership.
func Owner(host, lease string, ttl int64) Record {
	return Record{Name: OwnerName(host), Type: TXT, Values: []string{"heritage=akash-net,akash-net/lease=" + lease}, TTL: ttl}
}
