package config

import (
	"slices"
	"strings"

	"golang.org/x/net/publicsuffix"
)

// BlockedBy returns the entry of the blocklist that blocks a host, if any. An entry ".x.com" blocks x.com and every
// host below it, an entry "x.com" only that host; exact entries take precedence (provider: cluster/hostname.go). Unlike
// in Akash, entries match case-insensitively.
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

// Refuse returns the reason why the provider refuses the host, or "". It checks the blocklist, then the denied domains,
// then the allowed domains if there are any. A domain includes all hosts below it, and denying takes precedence over
// allowing (OpenShift's router: --denied-domains, --allowed-domains). A wildcard is refused if its domain is refused,
// or if it covers a refused host at any depth, because the Gateway API's wildcards cover several labels.
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
	if suffix, _ := publicsuffix.PublicSuffix(domain); suffix == domain && len(h.AllowedDomains) == 0 {
		return "covers a public suffix, below which anybody registers names (publicsuffix.org; hosts.allowedDomains allows it)"
	}
	return ""
}

// below reports whether the host is the domain or below it.
func below(host, domain string) bool {
	host, domain = strings.ToLower(host), strings.ToLower(strings.TrimPrefix(domain, "."))
	return host == domain || strings.HasSuffix(host, "."+domain)
}
