package lease

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/akash-net/kubectl-akash-net/lease/dns"
)

// CheckHost returns an error if a host name cannot be claimed. It applies Akash's rule (a lower-case DNS-1123
// subdomain) and rejects what the cluster would reject later: labels over 63 characters, IPv4 literals, and first
// labels that this program uses for other claims and for routes of further paths and redirects. It also rejects a name
// that ends in a number, because clients read it as an address.
func CheckHost(host string) error {
	if !isSubdomain(host) {
		return badHost(host)
	}
	if _, err := netip.ParseAddr(host); err == nil {
		return fmt.Errorf("%q is an IP address, not a host name", Clip(host))
	}
	if dns.EndsInNumber(host) {
		return fmt.Errorf("%q ends in a number: clients take such a name for an IP address", host)
	}
	if first, _, _ := strings.Cut(host, "."); IsReserved(first) {
		return fmt.Errorf("%q is reserved: no host name may begin with the label %q", Clip(host), Clip(first))
	}
	if n := longestLabel(host); n > validation.DNS1123LabelMaxLength {
		return fmt.Errorf("%q has a label of %d characters; at most %d are allowed", Clip(host), n, validation.DNS1123LabelMaxLength)
	}
	return nil
}

// CheckHostOrWildcard is CheckHost for a name that may also be a wildcard. *.example.com covers names one label below
// example.com, and not example.com itself.
func CheckHostOrWildcard(host string) error {
	domain, wildcard := strings.CutPrefix(host, "*.")
	if !wildcard {
		return CheckHost(host)
	}
	if err := CheckHost(domain); err != nil {
		return err
	}
	if !strings.Contains(domain, ".") {
		return fmt.Errorf("%q covers a whole top-level domain", Clip(host))
	}
	return checkRouteName(host, "/", false)
}

// reservedLabels are the prefixes of object names that do not stand for a host: those of other claims, kept
// definitions, announcements, the reconcilers' elections and records, and routes of further paths and redirects.
var reservedLabels = []string{"ip--", "ep--", "rs--", "df--", "run--", "el--", "fl--", "pt--", "rd--"}

// IsReserved reports whether the label cannot be the first label of a host.
func IsReserved(label string) bool {
	return label == "wc--any" || slices.ContainsFunc(reservedLabels,
		func(prefix string) bool { return strings.HasPrefix(label, prefix) })
}

// IsHostName reports whether s is a DNS-1123 subdomain with labels of at most 63 characters.
func IsHostName(s string) bool {
	return isSubdomain(s) && longestLabel(s) <= validation.DNS1123LabelMaxLength
}

// longestLabel returns the length of the longest label of the name.
func longestLabel(name string) (longest int) {
	for label := range strings.SplitSeq(name, ".") {
		longest = max(longest, len(label))
	}
	return longest
}

// badHost returns the error for a name that is not a DNS-1123 subdomain.
func badHost(host string) error {
	switch {
	case host == "":
		return fmt.Errorf("the host name is empty")
	case len(host) > validation.DNS1123SubdomainMaxLength:
		return fmt.Errorf("the host name has %d characters; at most %d are allowed", len(host), validation.DNS1123SubdomainMaxLength)
	case strings.HasPrefix(host, "*."):
		return fmt.Errorf("%q is a wildcard where a host name is expected", Clip(host))
	case isSubdomain(strings.ToLower(host)):
		return fmt.Errorf("%q is not lower case; write %q", Clip(host), strings.ToLower(host))
	case isSubdomain(strings.ToLower(strings.TrimSuffix(host, "."))):
		return fmt.Errorf("%q ends with a dot; write %q", Clip(host), strings.ToLower(strings.TrimSuffix(host, ".")))
	case strings.Contains(host, "://"):
		return fmt.Errorf("%q is a URL, not a host name", Clip(host))
	}
	if ascii, err := idna.Lookup.ToASCII(strings.TrimSuffix(host, ".")); err == nil && utf8.ValidString(host) && IsHostName(ascii) && !dns.EndsInNumber(ascii) {
		return fmt.Errorf("%q has letters that are not ASCII; write %q", Clip(host), ascii)
	}
	return fmt.Errorf("%q is not a host name (lower-case letters, digits and \"-\" in labels joined by \".\")", Clip(host))
}

// isSubdomain is validation.IsDNS1123Subdomain without a regular expression: it runs for every host of 100,000 leases.
func isSubdomain(s string) bool {
	if len(s) > validation.DNS1123SubdomainMaxLength {
		return false
	}
	start := 0
	for i := 0; i <= len(s); i++ {
		if i < len(s) && s[i] != '.' {
			continue
		}
		if !isLabel(s[start:i]) {
			return false
		}
		start = i + 1
	}
	return true
}

// isLabel reports whether s has only lower-case letters, digits and inner dashes. The length may be any but 0.
func isLabel(s string) bool {
	for i := range len(s) {
		c := s[i]
		if ('a' > c || c > 'z') && ('0' > c || c > '9') && (c != '-' || i == 0 || i == len(s)-1) {
			return false
		}
	}
	return s != ""
}
