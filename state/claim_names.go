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

// startOfAddress begins the name of the claim on an address.
const startOfAddress = "ip--"

// AddressName is the name of the claim on an address: dashes for dots and colons, IPv6 in full.
func AddressName(a netip.Addr) string {
	return startOfAddress + strings.NewReplacer(".", "-", ":", "-").Replace(a.StringExpanded())
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

// parseAddressName is the address of a claim's name. One of IPv4 has one name, and not a second one as IPv6.
func parseAddressName(name string) (netip.Addr, bool) {
	text, ok := strings.CutPrefix(name, startOfAddress)
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

// Kept are the finalizers of a claim that is being deleted.
func (c *Claim) Kept() string { return "its finalizers " + strings.Join(c.Finalizers, ", ") }

// Refused says why the provider does not let those who hold a host have it, or is empty. Whose the
// port of a generated host is was judged when it was claimed: here any port of the service will do.
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

// RefusedBackend says why a lease may not have a host for the backend that a claim or a route names.
// The port that it names may be that of the containers.
func RefusedBackend(cfg *config.ProviderConfig, host string, id lease.ID, service string, port uint16) string {
	why := cfg.Refuse(host, config.Backend{Lease: id, Service: service, Port: port})
	if why == "" {
		return ""
	}
	return cfg.Refuse(host, config.Backend{Lease: id, Service: service})
}

// Holders are the deployment groups that hold parts of a claim, in words.
func Holders(c *Claim) string {
	groups := c.Groups()
	texts := make([]string, len(groups))
	for i, g := range groups {
		texts[i] = g.String()
	}
	return cmp.Or(strings.Join(texts, " and "), c.Owner, "nobody that can be read")
}

// Stamp is a time as people read it.
func Stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// Withholder says who holds the part that is waited for.
func (c *Claim) Withholder(wait Part) string {
	if p := c.Part(wait.For); p != nil {
		return fmt.Sprintf("held by deployment %d", p.Lease.DSeq)
	}
	return "free since; the next apply takes it"
}
