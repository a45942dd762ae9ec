package config

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"golang.org/x/net/publicsuffix"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/dns"
	"github.com/akash-net/kubectl-akash-net/lease/document"
	"github.com/akash-net/kubectl-akash-net/lease/hosttemplate"
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

// Backend is the port of a lease's service that serves a host, as far as it is known.
type Backend struct {
	Lease   lease.ID
	Service string
	// Port is the external port; 0 means any.
	Port uint16
}

// ownDomain is a domain of the provider, with its key in the configuration.
type ownDomain struct{ name, key string }

// ownDomains returns the provider's own domains. Leases get only those hosts in them that the provider gives them.
func (c *ProviderConfig) ownDomains() []ownDomain {
	return []ownDomain{
		{c.Ingress.Domain, "ingress.domain"},
		{hosttemplate.Domain(c.Hosts.Generated), "hosts.generated"},
		{c.Workloads.PublicHostname, "workloads.publicHostname"},
	}
}

// Refuse returns the reason why the provider refuses a host for a service of a lease, or "". It refuses hosts in the
// provider's own domains, and hosts that no lease may have. It never refuses a host that the provider itself gives the
// service, even if that host is blocked or denied. The zero Backend matches no service.
func (c *ProviderConfig) Refuse(host string, to Backend) string {
	if c.Gives(host, to) {
		return ""
	}
	if why := c.OwnDomain(host); why != "" {
		return why
	}
	return c.Hosts.Refuse(host)
}

// OwnDomain describes how a host or a wildcard is in the provider's own domains, or returns "". A wildcard covers a
// domain at any depth, because the Gateway API's wildcards cover several labels.
func (c *ProviderConfig) OwnDomain(host string) string {
	parent, wildcard := strings.CutPrefix(host, "*.")
	if target := dns.ParseTarget(c.DNS.Targets).Host; target != "" {
		switch {
		case strings.EqualFold(host, target):
			return "is the name to which the provider's DNS records point (dns.targets)"
		case wildcard && below(target, parent) && !strings.EqualFold(target, parent):
			return fmt.Sprintf("covers %s, the name to which the provider's DNS records point (dns.targets)", target)
		}
	}
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

// Gives reports whether the provider itself gives the service the host: as its static host, or as the generated host of
// its port.
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
		if first, last = 1, 65535; !hosttemplate.MayBeOf(to.Lease, c.Hosts.Generated, to.Service, host) {
			return false
		}
	}
	for port := int(first); port <= int(last); port++ {
		if host == hosttemplate.Host(to.Lease, c.Hosts.Generated, to.Service, uint16(port)) {
			return true
		}
	}
	return false
}

// OwnHost is a host name in the provider's own domains that routes to a port of a lease.
type OwnHost struct {
	Host, Path string
	Expose     *lease.Expose
}

// OwnHosts returns the host names that the provider gives a service in addition to those of its definition. Akash's
// static host routes to the first routed port, as Akash's hostname operator takes the first one that is port 80 outside.
// Each routed port without hosts gets a generated host; if two of them have the same external port and path, the last one
// gets it. Hosts that the definition itself names for the service are left out.
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

// names reports whether the definition itself routes the path of the host to a port of the service.
func names(s *lease.Service, host, path string) bool {
	return slices.ContainsFunc(s.Expose, func(e lease.Expose) bool {
		return e.RoutePath() == path && slices.ContainsFunc(e.Hosts, func(h lease.Host) bool { return h.Name == host })
	})
}

// Exclude adds excluded ranges to the text of a ProviderConfig and keeps its comments. It does not add ranges that are
// already excluded.
func Exclude(text []byte, ranges []Range) ([]byte, error) {
	cfg, problems, err := Read(bytes.NewReader(text), "")
	switch {
	case err != nil:
		return nil, err
	case cfg == nil:
		return nil, problems
	}
	ranges = slices.DeleteFunc(slices.Clone(ranges), func(r Range) bool {
		return slices.ContainsFunc(cfg.IP.Ranges.Exclude, func(x Range) bool { return x.Contains(r.First) && x.Contains(r.Last) })
	})
	if len(ranges) == 0 {
		return text, nil
	}
	if text, err = document.YAML(text); err != nil {
		return nil, err
	}
	var root yaml.Node
	if err := yaml.Unmarshal(text, &root); err != nil {
		return nil, err
	}
	if len(root.Content) == 0 {
		return nil, errors.New("it is empty")
	}
	list := root.Content[0]
	for _, key := range []string{"spec", "ip", "ranges"} {
		if list = valueOf(list, key); list == nil {
			return nil, fmt.Errorf("it has no %s", key)
		}
	}
	if list.Kind != yaml.SequenceNode {
		return nil, errors.New("ranges is not a plain list")
	}
	for _, r := range ranges {
		list.Content = append(list.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: "!" + r.MetalLB(), Style: yaml.DoubleQuotedStyle})
	}
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	if err := encoder.Encode(&root); err != nil {
		return nil, err
	}
	return out.Bytes(), encoder.Close()
}

// valueOf returns the value of a key of a mapping, or nil.
func valueOf(mapping *yaml.Node, key string) *yaml.Node {
	for i := 0; mapping.Kind == yaml.MappingNode && i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			return mapping.Content[i+1]
		}
	}
	return nil
}
