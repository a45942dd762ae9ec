package config

import (
	"slices"
	"strings"
)

// BlockedBy is the entry of the blocklist that forbids a host, if one does. An entry ".x.com"
// forbids x.com and every host below it, an entry "x.com" that host alone; exact entries are
// looked at first (provider: cluster/hostname.go). Unlike Akash, entries match in any case.
func (h Hosts) BlockedBy(host string) (entry string, blocked bool) {
	host = strings.ToLower(host)
	for _, e := range h.Blocked {
		if host == strings.TrimPrefix(strings.ToLower(e), ".") {
			return e, true
		}
	}
	for _, e := range h.Blocked {
		if strings.HasPrefix(e, ".") && strings.HasSuffix(host, strings.ToLower(e)) {
			return e, true
		}
	}
	return "", false
}

// Refuse says why the provider gives no lease the host, or is empty: the blocklist, then the
// denied domains, then the allowed ones where there are any. A domain stands for itself and all
// below it; deny goes before allow (OpenShift's router: --denied-domains, --allowed-domains). A
// wildcard is refused with its domain, and where it covers a host that is refused by its name, at any
// height: the Gateway API's wildcards cover several labels.
func (h Hosts) Refuse(host string) string {
	if domain, wildcard := strings.CutPrefix(host, "*."); wildcard {
		return h.refuseWildcard(domain)
	}
	if entry, blocked := h.BlockedBy(host); blocked {
		return "is blocked by this provider (" + entry + ")"
	}
	for _, d := range h.DeniedDomains {
		if below(host, d) {
			return "is in a domain that this provider denies (" + d + ")"
		}
	}
	for _, d := range h.AllowedDomains {
		if below(host, d) {
			return ""
		}
	}
	if len(h.AllowedDomains) > 0 {
		return "is in none of the domains that this provider allows (" + strings.Join(h.AllowedDomains, ", ") + ")"
	}
	return ""
}

func (h Hosts) refuseWildcard(domain string) string {
	if why := h.Refuse(domain); why != "" {
		return why
	}
	for _, e := range slices.Concat(h.Blocked, h.DeniedDomains) {
		if below(strings.TrimPrefix(e, "."), domain) {
			return "covers a host that this provider refuses (" + e + ")"
		}
	}
	return ""
}

// below is true for the domain itself and every host below it.
func below(host, domain string) bool {
	host, domain = strings.ToLower(host), strings.ToLower(strings.TrimPrefix(domain, "."))
	return host == domain || strings.HasSuffix(host, "."+domain)
}
