package config

import (
	"fmt"
	"strings"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/hosttemplate"
)

// Backend is the port of a lease's service to which a host leads, as far as it is known.
type Backend struct {
	Lease   lease.ID
	Service string
	// Port is the external port; 0 stands for any.
	Port uint16
}

// ownDomain is a domain of the provider's, with the key of the configuration that says so.
type ownDomain struct{ name, key string }

// ownDomains are the provider's own domains: hosts in them are given to leases, or are not theirs.
func (c *ProviderConfig) ownDomains() []ownDomain {
	return []ownDomain{
		{c.Ingress.Domain, "ingress.domain"},
		{hosttemplate.Domain(c.Hosts.Generated), "hosts.generated"},
		{c.Workloads.PublicHostname, "workloads.publicHostname"},
	}
}

// Refuse says why the provider does not let the lease have the host for a service, or is empty: it is
// the provider's own, or one that no lease gets. A host that the provider gives the service itself is
// never refused, whatever is blocked or denied. With the zero Backend it judges a host for nobody.
func (c *ProviderConfig) Refuse(host string, to Backend) string {
	if c.Gives(host, to) {
		return ""
	}
	if why := c.OwnDomain(host); why != "" {
		return why
	}
	return c.Hosts.Refuse(host)
}

// OwnDomain says how a host, or a wildcard, is in the provider's own domains, or is empty. A wildcard
// covers a domain from any height: the Gateway API's covers several labels.
func (c *ProviderConfig) OwnDomain(host string) string {
	parent, wildcard := strings.CutPrefix(host, "*.")
	for _, d := range c.ownDomains() {
		switch {
		case d.name == "":
		case wildcard && (below(parent, d.name) || below(d.name, parent)):
			return fmt.Sprintf("covers names of the provider's own domain %s (%s)", d.name, d.key)
		case strings.EqualFold(host, d.name):
			return fmt.Sprintf("is the provider's own domain %s (%s)", d.name, d.key)
		case below(host, d.name):
			return fmt.Sprintf("is below the provider's own domain %s (%s), whose names the provider gives to leases itself", d.name, d.key)
		}
	}
	return ""
}

// Gives is true for a host that the provider gives the service itself: the static one, or the one that
// is generated for its port.
func (c *ProviderConfig) Gives(host string, to Backend) bool {
	if to.Service == "" {
		return false
	}
	if d := c.Ingress.Domain; d != "" && below(host, d) && host == to.Lease.StaticHost(to.Service, d) {
		return true
	}
	if c.Hosts.Generated == "" || !below(host, hosttemplate.Domain(c.Hosts.Generated)) {
		return false
	}
	first, last := to.Port, to.Port
	if to.Port == 0 {
		first, last = 1, 65535
	}
	for port := int(first); port <= int(last); port++ {
		if host == hosttemplate.Host(to.Lease, c.Hosts.Generated, to.Service, uint16(port)) {
			return true
		}
	}
	return false
}
