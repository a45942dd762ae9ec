// Package render turns a lease definition, the provider's configuration and the leased addresses
// into Kubernetes objects, and writes objects as YAML, JSON or KYAML. It is pure: the same input
// gives the same bytes, whatever the cluster and the time.
package render

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
)

// Addresses are the leased addresses by the name of the IP endpoint, at most one per family.
type Addresses map[string][]netip.Addr

// Lease renders a lease: for each host, in the order of the hosts, the ProviderHost and its route;
// then for each leased port, in the order of the services, the ProviderLeasedIP and its Service,
// or two Services where the port has an address of each family.
// An endpoint that addrs does not have gets the addresses of the definition. The objects share
// their labels and are not to be changed. The error is of type lease.Problems.
func Lease(def *lease.Definition, cfg *config.ProviderConfig, addrs Addresses) ([]Object, error) {
	l := &leased{
		id: def.Lease, cfg: cfg,
		namespace: def.Lease.Namespace(),
		labels:    def.Lease.Labels(),
		hash:      def.Hash,
	}
	var objects []Object
	for _, r := range routes(def, cfg) {
		objects = append(objects, l.providerHost(r), l.route(r))
	}
	var problems lease.Problems
	for _, s := range def.Services {
		for _, e := range s.Expose {
			if e.IP == "" {
				continue
			}
			ports, problem := l.leasedPort(def, s.Name, e, addrs)
			if problem != nil && !slices.Contains(problems, *problem) {
				problems = append(problems, *problem)
			}
			objects = append(objects, ports...)
		}
	}
	if len(problems) > 0 {
		return nil, problems
	}
	return objects, nil
}

// leasedPort renders the ProviderLeasedIP and the Services of one port.
func (l *leased) leasedPort(def *lease.Definition, service string, e lease.Expose, addrs Addresses) ([]Object, *lease.Problem) {
	ips, problem := addressesFor(def, l.cfg, addrs, e)
	if problem != nil {
		return nil, problem
	}
	services, problem := l.services(service, e, ips)
	if problem != nil {
		return nil, problem
	}
	return append([]Object{l.providerLeasedIP(service, e)}, services...), nil
}

// Leased lists the addresses that Lease writes for the definition, sorted and each once: what
// Pools needs of it.
func Leased(def *lease.Definition, addrs Addresses) []netip.Addr {
	var all []netip.Addr
	for _, s := range def.Services {
		for _, e := range s.Expose {
			if e.IP != "" {
				all = append(all, endpointAddresses(def, addrs, e.IP)...)
			}
		}
	}
	slices.SortFunc(all, netip.Addr.Compare)
	return slices.Compact(all)
}

// leased is what all objects of a lease have in common.
type leased struct {
	id        lease.ID
	cfg       *config.ProviderConfig
	namespace string
	labels    map[string]string
	hash      string
}

// route is one host and what the HTTP router is told about it.
type route struct {
	host    string
	service string
	port    uint16
	http    lease.HTTPOptions
}

// routes lists the hosts that are routed, sorted. A service's static host has the options of its
// last ingress expose, as Akash keeps one for each service.
func routes(def *lease.Definition, cfg *config.ProviderConfig) []route {
	var all []route
	for _, s := range def.Services {
		var last *lease.Expose
		for i, e := range s.Expose {
			if !e.IsIngress() {
				continue
			}
			last = &s.Expose[i]
			for _, h := range e.Hosts {
				all = append(all, route{h.Name, s.Name, e.ExternalPort(), e.HTTP.WithDefaults()})
			}
		}
		if last != nil && cfg.Ingress.StaticHosts {
			host := def.Lease.StaticHost(s.Name, cfg.Ingress.Domain)
			all = append(all, route{host, s.Name, last.ExternalPort(), last.HTTP.WithDefaults()})
		}
	}
	slices.SortFunc(all, func(a, b route) int { return strings.Compare(a.host, b.host) })
	return all
}

func (l *leased) route(r route) Object {
	if l.cfg.Target == config.TargetHTTPRoute {
		return l.httpRoute(r)
	}
	return l.ingress(r)
}

// addressesFor lists the addresses that the expose's Services ask for, IPv4 first; none in pool
// mode.
func addressesFor(def *lease.Definition, cfg *config.ProviderConfig, addrs Addresses, e lease.Expose) ([]netip.Addr, *lease.Problem) {
	if cfg.IP.Mode == config.ModePool {
		return nil, nil
	}
	ips := endpointAddresses(def, addrs, e.IP)
	endpoint := def.Endpoint(e.IP)
	at := e.IPAt
	if endpoint != nil {
		at = cmp.Or(endpoint.At, at)
	}
	if len(ips) == 0 {
		return nil, &lease.Problem{At: at, Message: fmt.Sprintf("IP endpoint %q has no address: "+
			"write one into the lease definition (spec.ipEndpoints[].addresses), "+
			"or let the ledger give one with --ledger cluster or --ledger DIR", e.IP)}
	}
	if len(ips) > 2 || len(ips) == 2 && ips[0].BitLen() == ips[1].BitLen() {
		return nil, &lease.Problem{At: at, Message: fmt.Sprintf(
			"IP endpoint %q has several addresses of one family (%v): at most one each of IPv4 and IPv6 can be leased", e.IP, ips)}
	}
	return ips, nil
}

func endpointAddresses(def *lease.Definition, addrs Addresses, name string) []netip.Addr {
	ips := addrs[name]
	if endpoint := def.Endpoint(name); len(ips) == 0 && endpoint != nil {
		ips = endpoint.Addresses
	}
	if slices.IsSortedFunc(ips, netip.Addr.Compare) {
		return ips
	}
	return slices.SortedFunc(slices.Values(ips), netip.Addr.Compare)
}
