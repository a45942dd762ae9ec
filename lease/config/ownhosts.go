package config

import (
	"slices"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/hosttemplate"
)

// OwnHost is a host name below the provider's own domains that leads to a port of a lease.
type OwnHost struct {
	Host, Path string
	Expose     *lease.Expose
}

// OwnHosts are the host names that the provider gives a service beside those of its definition:
// Akash's static host, which leads to the first of its routed ports, as with Akash's hostname operator,
// which looks for the first port that is reached from outside as 80; and a generated one for each routed port without hosts. Of two such ports that are one
// outside, the last has it. A host that the definition names for the service is left to it.
func (c *ProviderConfig) OwnHosts(id lease.ID, s *lease.Service) []OwnHost {
	if !c.Ingress.StaticHosts && c.Hosts.Generated == "" {
		return nil
	}
	var hosts []OwnHost
	var first *lease.Expose
	for i := range s.Expose {
		e := &s.Expose[i]
		if !e.IsIngress() {
			continue
		}
		if first == nil {
			first = e
		}
		if len(e.Hosts) > 0 || e.HostsWithheld || c.Hosts.Generated == "" {
			continue
		}
		own := OwnHost{hosttemplate.Host(id, c.Hosts.Generated, s.Name, e.ExternalPort()), e.RoutePath(), e}
		hosts = slices.DeleteFunc(hosts, func(h OwnHost) bool { return h.Host == own.Host && h.Path == own.Path })
		hosts = append(hosts, own)
	}
	if first != nil && c.Ingress.StaticHosts {
		hosts = append(hosts, OwnHost{id.StaticHost(s.Name, c.Ingress.Domain), "/", first})
	}
	return slices.DeleteFunc(hosts, func(h OwnHost) bool { return names(s, h.Host, h.Path) })
}

// names is true where the definition itself says to which port of the service a host leads.
func names(s *lease.Service, host, path string) bool {
	return slices.ContainsFunc(s.Expose, func(e lease.Expose) bool {
		return e.RoutePath() == path && slices.ContainsFunc(e.Hosts, func(h lease.Host) bool { return h.Name == host })
	})
}
