package state

import (
	"cmp"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
)

// addressPrefix starts the name of each claim on an address.
const addressPrefix = "ip--"

// AddressName returns the object name of the claim on an address, with dashes for dots and colons. IPv6 addresses are
// fully expanded.
func AddressName(a netip.Addr) string {
	return addressPrefix + strings.NewReplacer(".", "-", ":", "-").Replace(a.StringExpanded())
}

// endpointPrefix starts the name of each claim on an IP endpoint.
const endpointPrefix = "ep--"

// EndpointName returns the object name of the claim on an IP endpoint.
func EndpointName(sharingKey string) string { return endpointPrefix + lease.Hash(sharingKey) }

// wildcardLabel replaces the asterisk of a wildcard in the name of its claim.
const wildcardLabel = "wc--any"

// HostName returns the object name of the claim on a host or wildcard.
func HostName(host string) string {
	if domain, ok := strings.CutPrefix(host, "*."); ok {
		return wildcardLabel + "." + domain
	}
	return host
}

// WildcardOver returns the wildcard that covers the host: it replaces exactly one label and never covers the apex. It
// returns "" for a wildcard and for a host of one label.
func WildcardOver(host string) string {
	first, domain, ok := strings.Cut(host, ".")
	if !ok || first == "*" {
		return ""
	}
	return "*." + domain
}

// parseAddressName returns the address in the name of a claim. It accepts only the name that AddressName makes, so an
// IPv4 address has no second name in IPv6 form.
func parseAddressName(name string) (netip.Addr, bool) {
	text, ok := strings.CutPrefix(name, addressPrefix)
	if !ok {
		return netip.Addr{}, false
	}
	separator := "."
	if strings.Count(text, "-") == 7 {
		separator = ":"
	}
	a, err := netip.ParseAddr(strings.ReplaceAll(text, "-", separator))
	return a, err == nil && !a.Is4In6() && AddressName(a) == name
}

// Kept describes the finalizers that delay the deletion of the claim.
func (c *Claim) Kept() string { return "its finalizers " + strings.Join(c.Finalizers, ", ") }

// Refused returns why the provider does not let the holders have the host, or "". NewRequest has already checked which
// port a generated host belongs to; here any port of the service is allowed.
func (c *Claim) Refused(cfg *config.ProviderConfig) string {
	if c.Kind.HasPorts() {
		return ""
	}
	for _, part := range c.Parts {
		if why := RefusedBackend(cfg, c.Thing, part.Lease, part.Service, part.Port); why != "" {
			return why
		}
	}
	if len(c.Parts) > 0 {
		return ""
	}
	return cfg.Refuse(c.Thing, config.Backend{})
}

// RefusedBackend returns why the lease may not have the host for the backend that a claim or a route names, or "". The
// port may be a container port, so a host that is allowed for any port of the service is allowed.
func RefusedBackend(cfg *config.ProviderConfig, host string, id lease.ID, service string, port uint16) string {
	why := cfg.Refuse(host, config.Backend{Lease: id, Service: service, Port: port})
	if why == "" {
		return ""
	}
	return cfg.Refuse(host, config.Backend{Lease: id, Service: service})
}

// Holders returns the names of the deployment groups that hold parts of the claim.
func Holders(c *Claim) string {
	return cmp.Or(strings.Join(groupTexts(c.Groups()), " and "), c.Owner, "nobody that can be read")
}

// Stamp formats a time for people.
func Stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// Withholder describes who holds the part that is waited for.
func (c *Claim) Withholder(wait Part) string {
	if p := c.Part(wait.For); p != nil {
		return fmt.Sprintf("held by deployment %d", p.Lease.DSeq)
	}
	return "free since; the next apply takes it"
}
