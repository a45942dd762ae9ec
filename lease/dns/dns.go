// Package dns has the rules for the DNS records of hosts: which records a target needs, which records are valid, and
// which zone a name is in. It is pure. Gardener's DNSRecord and external-dns' DNSEndpoint accept every record that it
// accepts, even in clusters without webhooks.
package dns

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/validation"
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

// maxTTL is the largest TTL of DNS (RFC 2181), Gardener and external-dns.
const maxTTL = 1<<31 - 1

// maxText is the length of one string of a TXT record in bytes (RFC 1035).
const maxText = 255

// Check returns all errors of a record. The rules are those of Gardener's webhook for DNSRecords, and stricter:
// addresses match the record's family and are canonical, values are distinct, a CNAME points at another host name, and
// a text fits into one string.
func Check(r Record) error {
	errs := []error{checkName(r), checkTTL(r.TTL)}
	if len(r.Values) == 0 {
		errs = append(errs, fmt.Errorf("the %s record of %q has no value", r.Type, r.Name))
	}
	for i, v := range r.Values {
		if slices.Contains(r.Values[:i], v) {
			errs = append(errs, fmt.Errorf("the value %q stands twice in the %s record of %q", v, r.Type, r.Name))
			continue
		}
		errs = append(errs, checkValue(r, v))
	}
	if r.Type == CNAME && len(r.Values) > 1 {
		errs = append(errs, fmt.Errorf("a CNAME record has one value; %q has %d", r.Name, len(r.Values)))
	}
	return errors.Join(errs...)
}

// CheckAll checks each record and their combination: a name has one record per type, and no other record if it has a
// CNAME.
func CheckAll(records []Record) error {
	var errs []error
	types := map[string][]Type{}
	for _, r := range records {
		errs = append(errs, Check(r))
		for _, t := range types[r.Name] {
			switch {
			case t == r.Type:
				errs = append(errs, fmt.Errorf("%q has two %s records", r.Name, t))
			case t == CNAME || r.Type == CNAME:
				errs = append(errs, fmt.Errorf("%q has a CNAME record, beside which no %s record may stand", r.Name, other(t, r.Type)))
			}
		}
		types[r.Name] = append(types[r.Name], r.Type)
	}
	return errors.Join(errs...)
}

// CheckTargets returns an error, or nil, for each of the configured targets. Targets are addresses, or a single host
// name.
func CheckTargets(values []string) []error {
	errs := make([]error, len(values))
	for i, v := range values {
		switch name := Canonical(v); {
		case slices.Contains(values[:i], v):
			errs[i] = fmt.Errorf("%q stands twice", v)
		case isAddress(v):
			a, _ := netip.ParseAddr(v)
			kind := AAAA
			if a.Is4() {
				kind = A
			}
			errs[i] = checkAddress(kind, v)
		case EndsInNumber(name):
			errs[i] = fmt.Errorf("%q ends in a number, and is not an address: name addresses, or one host name", v)
		case len(values) > 1:
			errs[i] = fmt.Errorf("%q is not an address: name addresses, or one host name alone", v)
		default:
			errs[i] = checkDomain(name)
		}
	}
	return errs
}

// other returns the type that is not CNAME.
func other(a, b Type) Type {
	if a == CNAME {
		return b
	}
	return a
}

func checkTTL(ttl int64) error {
	if ttl < 0 || ttl > maxTTL {
		return fmt.Errorf("the TTL %d is not between 0 and %d seconds", ttl, maxTTL)
	}
	return nil
}

// checkName validates the name of a record: addresses and CNAMEs may be for a wildcard, a text may have a name with a
// leading underscore.
func checkName(r Record) error {
	name := r.Name
	switch r.Type {
	case A, AAAA, CNAME:
		name = strings.TrimPrefix(name, "*.")
	case TXT:
		name = strings.TrimPrefix(name, "_")
	default:
		return fmt.Errorf("%q is not a type of record; %s, %s, %s and %s are known", r.Type, A, AAAA, CNAME, TXT)
	}
	if len(r.Name) > validation.DNS1123SubdomainMaxLength {
		return fmt.Errorf("the name %q has %d characters; at most %d are allowed", r.Name, len(r.Name),
			validation.DNS1123SubdomainMaxLength)
	}
	if err := checkDomain(name); err != nil {
		return fmt.Errorf("the name of the %s record: %w", r.Type, err)
	}
	return nil
}

// checkDomain validates a name with at least two labels.
func checkDomain(name string) error {
	switch {
	case name == "":
		return errors.New("it is empty")
	case strings.HasSuffix(name, "."):
		return fmt.Errorf("%q ends with a dot; write %q", name, strings.TrimSuffix(name, "."))
	case isAddress(name):
		return fmt.Errorf("%q is an address, not a host name", name)
	case EndsInNumber(name):
		return fmt.Errorf("%q ends in a number, so it is not a host name", name)
	case strings.ToLower(name) != name && len(validation.IsDNS1123Subdomain(strings.ToLower(name))) == 0:
		return fmt.Errorf("%q is not lower case; write %q", name, strings.ToLower(name))
	case len(validation.IsDNS1123Subdomain(name)) > 0:
		return fmt.Errorf("%q is not a host name (lower-case letters, digits and \"-\" in labels joined by \".\")", name)
	case !strings.Contains(name, "."):
		return fmt.Errorf("%q has one label; a record is for a name in a zone, such as %s.example.com", name, name)
	}
	for label := range strings.SplitSeq(name, ".") {
		if len(label) > validation.DNS1123LabelMaxLength {
			return fmt.Errorf("%q has a label of %d characters; at most %d are allowed", name, len(label),
				validation.DNS1123LabelMaxLength)
		}
	}
	return nil
}

func isAddress(s string) bool {
	_, err := netip.ParseAddr(s)
	return err == nil
}

func checkValue(r Record, value string) error {
	switch r.Type {
	case A, AAAA:
		return checkAddress(r.Type, value)
	case CNAME:
		if err := checkDomain(value); err != nil {
			return fmt.Errorf("the value of the CNAME record of %q: %w", r.Name, err)
		}
		if value == r.Name {
			return fmt.Errorf("the CNAME record of %q leads to itself", r.Name)
		}
	case TXT:
		return checkText(r.Name, value)
	}
	return nil
}

// checkAddress requires a canonical address of the record's family. Gardener accepts IPv6 addresses in A records, and
// compares addresses as text.
func checkAddress(t Type, value string) error {
	a, err := netip.ParseAddr(value)
	switch {
	case err != nil || a.Zone() != "":
		return fmt.Errorf("%q is not an address; the values of an %s record are", value, t)
	case a.Is4In6():
		return fmt.Errorf("%q is an IPv4 address written as IPv6; write %q in an A record", value, a.Unmap())
	case a.Is4() != (t == A):
		return fmt.Errorf("%q does not belong into an %s record: IPv4 addresses have A records, IPv6 addresses AAAA", value, t)
	case a.IsUnspecified() || a.IsMulticast():
		return fmt.Errorf("%q is not an address of a host", value)
	case a.String() != value:
		return fmt.Errorf("%q is not in its canonical form; write %q", value, a)
	}
	return nil
}

func checkText(name, value string) error {
	switch {
	case value == "":
		return fmt.Errorf("a value of the TXT record of %q is empty", name)
	case len(value) > maxText:
		return fmt.Errorf("a value of the TXT record of %q has %d bytes; at most %d fit into one string", name, len(value), maxText)
	case !utf8.ValidString(value) || strings.ContainsFunc(value, unicode.IsControl):
		return fmt.Errorf("the value %q of the TXT record of %q has characters that cannot be printed", value, name)
	}
	return nil
}
