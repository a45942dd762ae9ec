package state

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
)

// Request is what a lease must hold before its objects may be written.
type Request struct {
	Lease     lease.ID
	Hosts     []HostWant
	Endpoints []EndpointWant
}

// HostWant is a host name, or a wildcard, that a lease must hold, with the path that is its part.
type HostWant struct {
	Host    string
	Path    string
	Service string
	Port    uint16
	// Own is true for a host below a domain of the provider's, which it gives the lease itself.
	Own bool
	At  lease.Place
}

// Refuse says why the provider does not let the lease have the host, or is empty.
func Refuse(host string, to config.Backend, cfg *config.ProviderConfig) string {
	if strings.HasPrefix(host, "*.") && !cfg.Hosts.Wildcards {
		return "is a wildcard, and the provider allows none (hosts.wildcards)"
	}
	return cfg.Refuse(host, to)
}

// EndpointWant is an IP endpoint for which a lease must hold an address, with the ports it takes
// of it.
type EndpointWant struct {
	Name       string
	SharingKey string
	// Addresses are those that the definition asks for; without any, one of each of Families is
	// leased.
	Addresses []netip.Addr
	Families  []config.Family
	Ports     []PortWant
	At        lease.Place
}

// PortWant is one port of an IP endpoint.
type PortWant struct {
	Protocol     lease.Protocol
	ExternalPort uint16
	Service      string
	Port         uint16
	At           lease.Place
}

// Hold is what a deployment group wants, or has, of one claim.
type Hold struct {
	Kind       Kind
	Thing      string
	SharingKey string
	Parts      []Part
	At         lease.Place
}

// NewRequest computes what a lease must hold. Its problems are those that depend on the
// provider's configuration; the definition itself has been checked by lease.Check.
func NewRequest(def *lease.Definition, cfg *config.ProviderConfig) (Request, lease.Problems) {
	problems := overLimits(def, cfg.Limits)
	req := Request{Lease: def.Lease}
	if problems.Failed() {
		return req, problems
	}
	for i := range def.Services {
		s := &def.Services[i]
		for _, e := range s.Expose {
			for _, h := range e.Hosts {
				to := config.Backend{Lease: def.Lease, Service: s.Name, Port: e.ExternalPort()}
				if why := Refuse(h.Name, to, cfg); why != "" {
					problems.Add(h.At, "%s %s", h.Name, why)
				}
				req.Hosts = append(req.Hosts, HostWant{Host: h.Name, Path: e.RoutePath(), Service: s.Name, Port: to.Port, Own: cfg.Gives(h.Name, to), At: h.At})
			}
			if e.IsIngress() && len(e.Hosts) == 0 && !cfg.Ingress.StaticHosts && cfg.Hosts.Generated == "" {
				problems.Add(e.At, "service %s exposes port %d over HTTP without a host name; add one, or let the provider give it one (ingress.staticHosts, hosts.generated)", s.Name, e.ExternalPort())
			}
			if e.IP != "" {
				req.port(def, cfg, e, s.Name)
			}
		}
		for _, own := range cfg.OwnHosts(def.Lease, s) {
			req.Hosts = append(req.Hosts, HostWant{Host: own.Host, Path: own.Path, Service: s.Name, Port: own.Expose.ExternalPort(), Own: true, At: s.At})
		}
	}
	if cfg.IP.Mode != config.ModePool {
		for _, e := range req.Endpoints {
			for _, a := range e.Addresses {
				if _, ok := cfg.IP.Ranges.Find(a); !ok && len(cfg.IP.Ranges.Include) > 0 {
					problems.Add(e.At, "%s is in none of the provider's ranges (ip.ranges)", a)
				}
			}
			if len(e.Addresses) == 0 && len(cfg.IP.Ranges.Include) == 0 {
				problems.Add(e.At, "no address can be leased: the provider's configuration has no ip.ranges")
			}
		}
	}
	slices.SortFunc(req.Hosts, func(a, b HostWant) int { return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.Path, b.Path)) })
	slices.SortFunc(req.Endpoints, func(a, b EndpointWant) int { return cmp.Compare(a.Name, b.Name) })
	return req, append(problems, req.overfull()...)
}

// overfull are the hosts and endpoints of which the lease wants more parts than one claim may have.
func (r Request) overfull() (problems lease.Problems) {
	for _, h := range r.HostHolds() {
		if len(h.Parts) > MaxParts {
			problems.Add(h.At, "%s has %d paths, and a claim has at most %d", h.Thing, len(h.Parts), MaxParts)
		}
	}
	for _, e := range r.Endpoints {
		if len(e.Ports) > MaxParts {
			problems.Add(e.At, "IP endpoint %q has %d ports, and the claim on an address has at most %d", e.Name, len(e.Ports), MaxParts)
		}
	}
	return problems
}

func (r *Request) port(def *lease.Definition, cfg *config.ProviderConfig, e lease.Expose, service string) {
	i := slices.IndexFunc(r.Endpoints, func(w EndpointWant) bool { return w.Name == e.IP })
	if i < 0 {
		want := EndpointWant{Name: e.IP, SharingKey: lease.SharingKey(def.Lease.Owner, e.IP), Families: cfg.IP.Families, At: e.IPAt}
		if endpoint := def.Endpoint(e.IP); endpoint != nil {
			want.Addresses = endpoint.Addresses
		}
		i = len(r.Endpoints)
		r.Endpoints = append(r.Endpoints, want)
	}
	r.Endpoints[i].Ports = append(r.Endpoints[i].Ports, PortWant{
		Protocol: e.Protocol, ExternalPort: e.ExternalPort(), Service: service, Port: e.Port, At: e.IPAt,
	})
}

// Hold is the claim on the host that the lease wants.
func (w HostWant) Hold(id lease.ID) Hold {
	kind, path := Host, cmp.Or(w.Path, "/")
	if strings.HasPrefix(w.Host, "*.") {
		kind = Wildcard
	}
	return Hold{Kind: kind, Thing: w.Host, At: w.At, Parts: []Part{{
		Key: RouteKey(path), Lease: id, Path: path, Service: w.Service, Port: w.Port,
	}}}
}

// Hold is the claim on an address for the endpoint's ports.
func (w EndpointWant) Hold(id lease.ID, a netip.Addr) Hold {
	h := Hold{Kind: Address, Thing: a.String(), SharingKey: w.SharingKey, At: w.At}
	for _, p := range w.Ports {
		h.Parts = append(h.Parts, Part{Key: PortKey(p.Protocol, p.ExternalPort), Lease: id, Service: p.Service, Port: p.Port})
	}
	if len(w.Ports) == 0 {
		h.Parts = []Part{{Key: WholeAddress, Lease: id}}
	}
	slices.SortFunc(h.Parts, func(a, b Part) int { return cmp.Compare(a.Key, b.Key) })
	return h
}

// EndpointHold is the claim on the endpoint itself, where MetalLB chooses its addresses.
func (w EndpointWant) EndpointHold(id lease.ID) Hold {
	h := w.Hold(id, netip.Addr{})
	h.Kind, h.Thing = Endpoint, w.SharingKey
	return h
}

// Name is the name of the claim that is held.
func (h Hold) Name() string { return h.Claim().Name() }

// Claim is the claim as it is when it has just been made and nobody holds a part yet.
func (h Hold) Claim() *Claim {
	owner := ""
	if len(h.Parts) > 0 {
		owner = h.Parts[0].Lease.Owner
	}
	return &Claim{Kind: h.Kind, Thing: h.Thing, SharingKey: h.SharingKey, Owner: owner}
}

// Compare orders holds by kind, then name: the one order in which every run takes them, so that
// of two runs that want the same things one gets them all.
func (h Hold) Compare(other Hold) int {
	return cmp.Or(cmp.Compare(h.Kind, other.Kind), cmp.Compare(h.Name(), other.Name()))
}

// Compare orders claims as holds are ordered.
func (c *Claim) Compare(other *Claim) int {
	return Hold{Kind: c.Kind, Thing: c.Thing}.Compare(Hold{Kind: other.Kind, Thing: other.Thing})
}

// HostHolds are the claims on the hosts that the lease wants, with all paths of each.
func (r Request) HostHolds() []Hold {
	var holds []Hold
	for _, w := range r.Hosts {
		h := w.Hold(r.Lease)
		if last := len(holds) - 1; last >= 0 && holds[last].Thing == h.Thing { // they are sorted
			holds[last].Parts = append(holds[last].Parts, h.Parts...)
			continue
		}
		holds = append(holds, h)
	}
	for _, h := range holds {
		slices.SortFunc(h.Parts, func(a, b Part) int { return cmp.Compare(a.Key, b.Key) })
	}
	return holds
}

// Granted is the definition without the hosts (each with its path, as lease.HostPath calls it) and
// the IP ports that are withheld: what is rendered. The definition's hash stays.
func Granted(def *lease.Definition, withheldHosts map[string]bool, withheldPorts map[string]bool) *lease.Definition {
	if len(withheldHosts) == 0 && len(withheldPorts) == 0 {
		return def
	}
	out := *def
	out.Services = slices.Clone(def.Services)
	for i, s := range out.Services {
		out.Services[i].Expose = slices.Clone(s.Expose)
		for j, e := range s.Expose {
			out.Services[i].Expose[j].Hosts = slices.DeleteFunc(slices.Clone(e.Hosts), func(h lease.Host) bool { return withheldHosts[lease.HostPath(h.Name, e.RoutePath())] })
			out.Services[i].Expose[j].HostsWithheld = len(e.Hosts) > 0 && len(out.Services[i].Expose[j].Hosts) == 0
			if e.IP != "" && withheldPorts[lease.LeasedIPName(lease.SharingKey(def.Lease.Owner, e.IP), e.Protocol, e.ExternalPort())] {
				out.Services[i].Expose[j].IP = ""
			}
		}
	}
	return &out
}
