package state

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
)

// Request is what a lease must hold before its objects may be written.
type Request struct {
	Lease     lease.ID
	Hosts     []HostWant
	Endpoints []EndpointWant
}

// HostWant is a host or wildcard that a lease must hold, and the path that is its part of the claim.
type HostWant struct {
	Host    string
	Path    string
	Service string
	Port    uint16
	// Own is true for a host that the provider gives the lease, below a domain of its own.
	Own bool
	At  lease.Place
}

func (w HostWant) compare(other HostWant) int {
	return cmp.Or(cmp.Compare(w.Host, other.Host), cmp.Compare(w.Path, other.Path))
}

// Refuse returns why the provider does not let the lease have the host, or "".
func Refuse(host string, to config.Backend, cfg *config.ProviderConfig) string {
	if strings.HasPrefix(host, "*.") && !cfg.Hosts.Wildcards {
		return "is a wildcard, and the provider allows none (hosts.wildcards)"
	}
	return cfg.Refuse(host, to)
}

// EndpointWant is an IP endpoint for which a lease must hold addresses, and the ports that it uses.
type EndpointWant struct {
	Name       string
	SharingKey string
	// Addresses are the addresses that the definition names. If it names none, the lease gets one address of each
	// family in Families.
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

// Key returns the annotation key of the port.
func (w PortWant) Key() string { return PortKey(w.Protocol, w.ExternalPort) }

// Hold is what a deployment group holds, or wants to hold, of one claim.
type Hold struct {
	Kind       Kind
	Thing      string
	SharingKey string
	Parts      []Part
	At         lease.Place
}

// NewRequest computes what a lease must hold. It returns the problems that depend on the provider's configuration.
// lease.Check has checked the definition itself.
func NewRequest(def *lease.Definition, cfg *config.ProviderConfig) (Request, lease.Problems) {
	problems := checkLimits(def, cfg.Limits)
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
				req.Hosts = append(req.Hosts, HostWant{
					Host: h.Name, Path: e.RoutePath(), Service: s.Name, Port: to.Port, Own: cfg.Gives(h.Name, to), At: h.At,
				})
			}
			if e.IsIngress() && len(e.Hosts) == 0 && !cfg.Ingress.StaticHosts && cfg.Hosts.Generated == "" {
				problems.Add(e.At, "service %s exposes port %d over HTTP without a host name; add one, or let the provider "+
					"give it one (ingress.staticHosts, hosts.generated)", s.Name, e.ExternalPort())
			}
			if e.IP != "" {
				req.addPort(def, cfg, e, s.Name)
			}
		}
		for _, own := range cfg.OwnHosts(def.Lease, s) {
			req.Hosts = append(req.Hosts, HostWant{
				Host: own.Host, Path: own.Path, Service: s.Name, Port: own.Expose.ExternalPort(), Own: true, At: s.At,
			})
		}
	}
	if cfg.IP.Mode != config.ModePool {
		for _, e := range req.Endpoints {
			for _, a := range e.Addresses {
				checkInRanges(&problems, e.At, a, cfg)
			}
			if len(e.Addresses) == 0 {
				checkHasRanges(&problems, e.At, cfg)
			}
		}
	}
	slices.SortFunc(req.Hosts, HostWant.compare)
	slices.SortFunc(req.Endpoints, func(a, b EndpointWant) int { return cmp.Compare(a.Name, b.Name) })
	return req, append(problems, req.checkParts()...)
}

// checkInRanges adds a problem if the provider has ranges and the address is in none of them.
func checkInRanges(problems *lease.Problems, at lease.Place, a netip.Addr, cfg *config.ProviderConfig) {
	if _, ok := cfg.IP.Ranges.Find(a); !ok && len(cfg.IP.Ranges.Include) > 0 {
		problems.Add(at, "%s is in none of the provider's ranges (ip.ranges)", a)
	}
}

// checkHasRanges adds a problem if the provider has no ranges to lease an address from.
func checkHasRanges(problems *lease.Problems, at lease.Place, cfg *config.ProviderConfig) {
	switch {
	case len(cfg.IP.Ranges.Include) > 0:
	case cfg.Missing != "":
		problems.Add(at, "no address can be leased: %s", cfg.Missing)
	default:
		problems.Add(at, "no address can be leased: the provider's configuration has no ip.ranges")
	}
}

// checkParts returns a problem for each host and endpoint with more parts than one claim may have.
func (r Request) checkParts() (problems lease.Problems) {
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

func (r *Request) addPort(def *lease.Definition, cfg *config.ProviderConfig, e lease.Expose, service string) {
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

// Hold returns the hold on the claim for the host.
func (w HostWant) Hold(id lease.ID) Hold {
	kind, path := Host, cmp.Or(w.Path, "/")
	if strings.HasPrefix(w.Host, "*.") {
		kind = Wildcard
	}
	return Hold{Kind: kind, Thing: w.Host, At: w.At, Parts: []Part{{
		Key: RouteKey(path), Lease: id, Path: path, Service: w.Service, Port: w.Port,
	}}}
}

// Hold returns the hold on the claim for an address of the endpoint.
func (w EndpointWant) Hold(id lease.ID, a netip.Addr) Hold {
	h := Hold{Kind: Address, Thing: a.String(), SharingKey: w.SharingKey, At: w.At}
	for _, p := range w.Ports {
		h.Parts = append(h.Parts, Part{Key: p.Key(), Lease: id, Service: p.Service, Port: p.Port})
	}
	if len(w.Ports) == 0 {
		h.Parts = []Part{{Key: WholeAddress, Lease: id}}
	}
	slices.SortFunc(h.Parts, Part.compareKeys)
	return h
}

func (p Part) compareKeys(q Part) int { return cmp.Compare(p.Key, q.Key) }

// EndpointHold returns the hold on the claim for the endpoint itself, for pool mode, in which MetalLB chooses its
// addresses.
func (w EndpointWant) EndpointHold(id lease.ID) Hold {
	h := w.Hold(id, netip.Addr{})
	h.Kind, h.Thing = Endpoint, w.SharingKey
	return h
}

// Request returns the request for a hold alone.
func (h Hold) Request() Request {
	r := Request{Lease: h.Parts[0].Lease}
	if !h.Kind.HasPorts() {
		for _, p := range h.Parts {
			r.Hosts = append(r.Hosts, HostWant{Host: h.Thing, Path: p.Path, Service: p.Service, Port: p.Port, At: h.At})
		}
		return r
	}
	e := EndpointWant{SharingKey: h.SharingKey, At: h.At}
	if h.Kind == Address {
		e.Addresses = []netip.Addr{h.Claim().Addr()}
	}
	for _, p := range h.Parts {
		if protocol, port := p.ProtocolPort(); port != 0 { // else it is the whole address
			e.Ports = append(e.Ports, PortWant{Protocol: protocol, ExternalPort: port, Service: p.Service, Port: p.Port})
		}
	}
	r.Endpoints = []EndpointWant{e}
	return r
}

// Name returns the name of the claim.
func (h Hold) Name() string { return h.Claim().Name() }

// Claim returns the claim as it is when it is new and nobody holds a part yet.
func (h Hold) Claim() *Claim {
	owner := ""
	if len(h.Parts) > 0 {
		owner = h.Parts[0].Lease.Owner
	}
	return &Claim{Kind: h.Kind, Thing: h.Thing, SharingKey: h.SharingKey, Owner: owner}
}

// Compare orders holds by kind, then by name. Every run takes its claims in this order, so of two runs that want the
// same things one gets them all.
func (h Hold) Compare(other Hold) int {
	return cmp.Or(cmp.Compare(h.Kind, other.Kind), cmp.Compare(h.Name(), other.Name()))
}

// Compare orders claims by the rule of Hold.Compare.
func (c *Claim) Compare(other *Claim) int {
	return Hold{Kind: c.Kind, Thing: c.Thing}.Compare(Hold{Kind: other.Kind, Thing: other.Thing})
}

// HostHolds returns the holds on hosts, one per host with all its paths.
func (r Request) HostHolds() []Hold {
	var holds []Hold
	for _, w := range r.Hosts {
		h := w.Hold(r.Lease)
		if last := len(holds) - 1; last >= 0 && holds[last].Thing == h.Thing { // r.Hosts is sorted
			holds[last].Parts = append(holds[last].Parts, h.Parts...)
			continue
		}
		holds = append(holds, h)
	}
	for _, h := range holds {
		slices.SortFunc(h.Parts, Part.compareKeys)
	}
	return holds
}

// Granted returns the definition to render: without the hosts (keyed by lease.HostPath) and IP ports (keyed by
// lease.LeasedIPName) that are withheld. Its hash stays the same.
func Granted(def *lease.Definition, withheldHosts, withheldPorts map[string]bool) *lease.Definition {
	if len(withheldHosts) == 0 && len(withheldPorts) == 0 {
		return def
	}
	out := *def
	out.Services = slices.Clone(def.Services)
	for i, s := range out.Services {
		exposes := slices.Clone(s.Expose)
		out.Services[i].Expose = exposes
		for j, e := range exposes {
			exposes[j].Hosts = slices.DeleteFunc(slices.Clone(e.Hosts), func(h lease.Host) bool {
				return withheldHosts[lease.HostPath(h.Name, e.RoutePath())]
			})
			exposes[j].HostsWithheld = len(e.Hosts) > 0 && len(exposes[j].Hosts) == 0
			key := lease.SharingKey(def.Lease.Owner, e.IP)
			if e.IP != "" && withheldPorts[lease.LeasedIPName(key, e.Protocol, e.ExternalPort())] {
				exposes[j].IP = ""
			}
		}
	}
	return &out
}

// At returns where the input asks for the first thing.
func (r Request) At() lease.Place {
	for _, w := range r.Hosts {
		return w.At
	}
	for _, e := range r.Endpoints {
		return e.At
	}
	return lease.Place{}
}

// PlaceOf returns where the input asks for a part of a claim: the place of its path or port, otherwise that of the thing.
func (r Request) PlaceOf(h Hold, p Part) lease.Place {
	for _, w := range r.Hosts {
		if !h.Kind.HasPorts() && w.Host == h.Thing && cmp.Or(w.Path, "/") == cmp.Or(p.Path, "/") {
			return w.At
		}
	}
	for _, e := range r.Endpoints {
		for _, w := range e.Ports {
			if h.Kind.HasPorts() && e.SharingKey == h.SharingKey && w.Key() == p.Key {
				return w.At
			}
		}
	}
	return h.At
}

// WrongWalletOf says which owner or provider of a ProviderHost or a ProviderLeasedIP is not the address of a wallet; "" if
// both are. Akash's operators decode those of the spec, and stop at the first object that has another.
func WrongWalletOf(o *unstructured.Unstructured) string {
	path := []string{"spec"}
	switch o.GetKind() {
	case "ProviderHost":
	case "ProviderLeasedIP":
		path = append(path, "lease_id")
	default:
		return ""
	}
	for _, key := range []string{"owner", "provider"} {
		if err := lease.CheckWallet(fmt.Sprint(Field(Field(o.Object, path...), key))); err != nil {
			return key + ": " + err.Error()
		}
	}
	return ""
}
