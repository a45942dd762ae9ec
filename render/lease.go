// Package render turns a lease definition, the provider's configuration and the leased addresses
// into Kubernetes objects, and writes objects as YAML, JSON or KYAML. It is pure: the same input
// gives the same bytes, whatever the cluster and the time.
package render

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
)

// Addresses are the leased addresses by the name of the IP endpoint, at most one per family.
type Addresses map[string][]netip.Addr

// Lease renders a lease: for each host and path, in their order, the ProviderHost where Akash's
// operators know the route, and the route with the objects that it needs; then for each leased
// port, in the order of the services, the ProviderLeasedIP and its Service, or two Services where
// the port has an address of each family.
// An endpoint that addrs does not have gets the addresses of the definition. The objects share
// their labels and are not to be changed. The error is of type lease.Problems: what the definition
// lacks, and what it says of a route that the route's target cannot express.
func Lease(def *lease.Definition, cfg *config.ProviderConfig, addrs Addresses) ([]Object, error) {
	l := newLeased(def, cfg)
	objects := l.routeObjects()
	for _, s := range def.Services {
		for _, e := range s.Expose {
			if e.IP == "" {
				continue
			}
			ports, problem := l.leasedPort(def, s.Name, e, addrs)
			if problem != nil {
				l.problems = append(l.problems, *problem)
			}
			objects = append(objects, ports...)
		}
	}
	if l.problems.Failed() {
		return nil, l.problems.Errors().Sorted()
	}
	annotateDNS(objects, def, cfg, addrs)
	return objects, nil
}

// Warnings are what a user should know of the routes that Lease makes: where a target takes what
// the definition says for something a little different. Plain definitions have none, save for
// wildcards and the options of the Gateway API.
func Warnings(def *lease.Definition, cfg *config.ProviderConfig) lease.Problems {
	all, warnings := routes(def, cfg), lease.Warnings(def)
	warns := func(r route) bool {
		return r.routing != nil || r.target == config.TargetHTTPRoute &&
			(r.wildcard() || cfg.Gateway.Implementation == config.GatewayStandard)
	}
	if !slices.ContainsFunc(all, warns) {
		return warnings
	}
	l := newLeased(def, cfg)
	l.findBackends(all)
	for _, r := range all {
		l.appendRoute(nil, r)
	}
	return append(warnings, l.problems.Warnings()...).Sorted()
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

// leased is what all objects of a lease have in common, and what is found on the way.
type leased struct {
	def       *lease.Definition
	id        lease.ID
	cfg       *config.ProviderConfig
	namespace string
	labels    map[string]string
	hash      string
	// beside are the labels of routes that Akash's operators do not know; made when needed.
	beside map[string]string
	// backends says how the Gateway is to reach each Service; nil where no route asks for TLS.
	backends map[string]backendTLS
	// issued are the Secrets of the definition into which cert-manager writes for some Ingress.
	issued   map[string]bool
	problems lease.Problems
}

func newLeased(def *lease.Definition, cfg *config.ProviderConfig) *leased {
	return &leased{
		def: def, id: def.Lease, cfg: cfg,
		namespace: def.Lease.Namespace(),
		labels:    def.Lease.Labels(),
		hash:      def.Hash,
		issued:    map[string]bool{},
	}
}

// addressesFor lists the addresses that the expose's Services ask for, IPv4 first; none in pool
// mode.
func addressesFor(def *lease.Definition, cfg *config.ProviderConfig, addrs Addresses, e lease.Expose) ([]netip.Addr,
	*lease.Problem) {
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
