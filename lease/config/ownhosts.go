package config

import (
	"fmt"
	"slices"
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
			return fmt.Sprintf("is below the provider's own domain %s (%s), whose names the provider gives to leases itself",
				d.name, d.key)
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

// OwnHost is a host name below the provider's own domains that leads to a port of a lease.
type OwnHost struct {
	Host, Path string
	Expose     *lease.Expose
}

// OwnHosts are the host names that the provider gives a service beside those of its definition:
// Akash's static host, which leads to the last of its routed ports, as Akash keeps one for each
// service; and a generated one for each routed port without hosts. Of two such ports that are one
// outside, the last has it. A host that the definition names for the service is left to it.
func (c *ProviderConfig) OwnHosts(id lease.ID, s *lease.Service) []OwnHost {
	if !c.Ingress.StaticHosts && c.Hosts.Generated == "" {
		return nil
	}
	var hosts []OwnHost
	var last *lease.Expose
	for i := range s.Expose {
		e := &s.Expose[i]
		if !e.IsIngress() {
			continue
		}
		last = e
		if len(e.Hosts) > 0 || e.HostsWithheld || c.Hosts.Generated == "" {
			continue
		}
		own := OwnHost{hosttemplate.Host(id, c.Hosts.Generated, s.Name, e.ExternalPort()), e.RoutePath(), e}
		hosts = slices.DeleteFunc(hosts, func(h OwnHost) bool { return h.Host == own.Host && h.Path == own.Path })
		hosts = append(hosts, own)
	}
	if last != nil && c.Ingress.StaticHosts {
		hosts = append(hosts, OwnHost{id.StaticHost(s.Name, c.Ingress.Domain), "/", last})
	}
	return slices.DeleteFunc(hosts, func(h OwnHost) bool { return names(s, h.Host, h.Path) })
}

// names is true where the definition itself says to which port of the service a host leads.
func names(s *lease.Service, host, path string) bool {
	return slices.ContainsFunc(s.Expose, func(e lease.Expose) bool {
		return e.RoutePath() == path && slices.ContainsFunc(e.Hosts, func(h lease.Host) bool { return h.Name == host })
	})
}
