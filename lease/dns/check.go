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
