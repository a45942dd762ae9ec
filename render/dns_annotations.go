package render

import (
	"slices"
	"strconv"
	"strings"

	coreac "k8s.io/client-go/applyconfigurations/core/v1"
	netac "k8s.io/client-go/applyconfigurations/networking/v1"
	gwac "sigs.k8s.io/gateway-api/applyconfiguration/apis/v1"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/dns"
)

// annotateDNS annotates the objects that serve hosts for external-dns, if the configuration uses annotations. Routes
// already contain their hosts, and their status has the target unless another source is configured. Services get the
// hosts that have no route.
func annotateDNS(objects []Object, def *lease.Definition, cfg *config.ProviderConfig, addrs Addresses) {
	if cfg.DNS.Form != config.DNSAnnotations {
		return
	}
	hosts := namedHosts(def, cfg)
	for _, o := range objects {
		switch c := o.Config.(type) {
		case *netac.IngressApplyConfiguration:
			a := external(cfg)
			i := slices.IndexFunc(hosts, func(h namedHost) bool { return slices.ContainsFunc(c.Spec.Rules, servesHost(h.Name)) })
			if i >= 0 && hosts[i].source != config.FromStatus {
				if values := targetText(hosts[i].target(def, cfg, addrs, nil)); values != "" {
					a.set("target", values)
				}
			}
			c.WithAnnotations(a.entries)
		case *gwac.HTTPRouteApplyConfiguration:
			c.WithAnnotations(external(cfg).entries)
		case *coreac.ServiceApplyConfiguration:
			if names := hostsOf(o.Name, def, hosts); len(names) > 0 {
				a := external(cfg)
				a.set("hostname", strings.Join(names, ","))
				c.WithAnnotations(a.entries)
			}
		}
	}
}

func servesHost(host string) func(netac.IngressRuleApplyConfiguration) bool {
	return func(r netac.IngressRuleApplyConfiguration) bool { return r.Host != nil && *r.Host == host }
}

// hostsOf returns the hosts without a route that the Service of a leased port serves.
func hostsOf(service string, def *lease.Definition, hosts []namedHost) []string {
	var names []string
	for _, s := range def.Services {
		for _, e := range s.Expose {
			if e.IP == "" || strings.TrimSuffix(service, lease.SecondFamilySuffix) != lease.IPServiceName(s.Name, e.ExternalPort(), e.Protocol) {
				continue
			}
			for _, h := range e.Hosts {
				if slices.ContainsFunc(hosts, func(n namedHost) bool { return n.Name == h.Name && !n.routed }) {
					names = append(names, h.Name)
				}
			}
		}
	}
	slices.Sort(names)
	return names
}

// externalAnnotations are annotations with external-dns' prefix.
type externalAnnotations struct {
	prefix  string
	entries map[string]string
}

// external returns the annotations of every annotated object.
func external(cfg *config.ProviderConfig) externalAnnotations {
	a := externalAnnotations{cfg.DNS.AnnotationPrefix + "/", map[string]string{}}
	if cfg.DNS.TTL > 0 {
		a.set("ttl", strconv.FormatInt(cfg.DNS.TTL, 10))
	}
	return a
}

func (a externalAnnotations) set(name, value string) { a.entries[a.prefix+name] = value }

// targetText lists a target's values. external-dns creates A, AAAA and CNAME records from them.
func targetText(t dns.Target) string {
	var values []string
	for _, r := range t.Records("", 0) {
		values = append(values, r.Values...)
	}
	return strings.Join(values, ",")
}
