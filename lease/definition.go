// Package lease has the vocabulary of the project: leases and deployment groups, the names, labels and hashes that
// Akash's provider gives them, and the definition of what a lease exposes. It is pure: it uses no cluster, no files and
// no clock.
package lease

import (
	"cmp"
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"time"
)

// Protocol is a transport protocol in Kubernetes' spelling.
type Protocol string

// The protocols that Akash supports.
const (
	TCP Protocol = "TCP"
	UDP Protocol = "UDP"
)

// Definition is what one lease exposes. All input formats are read into it, and all objects are rendered from it. After
// Check, services and exposes are sorted.
type Definition struct {
	// Name is the document's metadata.name. It has no meaning in the cluster.
	Name string
	// Lease identifies the lease.
	Lease ID
	// Services are sorted by name. Without workloads they are the services that expose something; with workloads they
	// are all services, including the ports that only other services of the lease reach.
	Services []Service
	// IPEndpoints are the leased addresses that the exposes refer to by name.
	IPEndpoints []IPEndpoint
	// Workloads is what the lease runs; nil unless the reader was asked for it (input.Options).
	Workloads *Workloads
	// Hash identifies what the definition routes, as it was read (see Sum). It does not change when parts of the definition are
	// withheld, nor with what the lease runs.
	Hash string
	// Manifest is the version of the Manifest of Akash's provider that says it; nil for a definition from elsewhere.
	Manifest *Manifest
	// At is the position of the document.
	At Place
}

// Manifest is a version of the Manifest object of a lease; the zero Manifest is that there is none.
type Manifest struct{ UID, ResourceVersion string }

// Service is one service of a lease and the ports that it exposes.
type Service struct {
	// Name is the name of the workload and of its Kubernetes Service.
	Name string `doc:"name" read:"required"`
	// Target is the kind of route for this service's hosts: config.TargetIngress, config.TargetHTTPRoute or
	// config.TargetRoute. Empty means the configuration's target.
	Target string `doc:"target,omitempty" is:"target" oneof:"ingress|httproute|route"`
	// Expose lists the ports in the order of Akash's manifest: port, protocol, global before internal.
	Expose []Expose `doc:"expose,omitempty"`
	At     Place    `at:"name"`
}

// Expose is one port of a service and how it is reached.
type Expose struct {
	// Port is the container's port.
	Port uint16 `doc:"port" read:"required" is:"a port" min:"1"`
	// As is the external port; 0 means the same as Port.
	As       uint16   `doc:"as,omitempty" is:"a port" min:"1"`
	Protocol Protocol `doc:"protocol,omitempty" is:"protocol" oneof:"TCP|UDP" default:"TCP"`
	// Global is true if the port is reachable from outside the lease.
	Global bool `doc:"global,omitempty"`
	// Peer is the service of the lease that may connect; empty means all. Sequence is the number of the IP endpoint in
	// the deployment. SaysAs is true if As was written although it equals Port; Akash's manifest keeps that. All three
	// are read only together with workloads.
	Peer     string `doc:"service,omitempty"`
	Sequence uint32 `doc:"sequence,omitempty" is:"the number of an IP endpoint" min:"1"`
	SaysAs   bool
	// Hosts are the host names that route to this port. Hosts of a port that is not an ingress are claimed but not
	// routed, as in Akash.
	Hosts []Host `doc:"hosts,omitempty"`
	// HostsWithheld is true if all hosts of the definition are withheld. It distinguishes such a port from one that
	// never had hosts, which may get a generated host.
	HostsWithheld bool
	// Path is the path prefix that routes to this port; empty means the root. Check replaces "/" with "".
	Path string `doc:"path,omitempty"`
	// Routing has further settings of the routes; nil if there are none.
	Routing *Routing `doc:",inline"`
	// IP is the name of the IP endpoint on which the port is leased, or empty.
	IP   string      `doc:"ip,omitempty"`
	HTTP HTTPOptions `doc:"http,omitempty"`
	At   Place       `at:"."`
	// HTTPAt has the positions of the options; nil if none were read.
	HTTPAt *HTTPPlaces `at:"http"`
	// IPAt and PathAt are the positions of IP and Path.
	IPAt   Place `at:"ip"`
	PathAt Place `at:"path"`
}

// Host is a host name and its position in the input.
type Host struct {
	Name string `doc:"@text"`
	At   Place  `at:"."`
}

// IPEndpoint is a leased IP address, under the name that the lease gives it.
type IPEndpoint struct {
	Name string `doc:"name" read:"required"`
	// Addresses are the addresses that the definition requests. If it requests none, the ledger assigns one per family.
	Addresses []netip.Addr `doc:"addresses,omitempty" rule:"address"`
	At        Place        `at:"name"`
}

// HTTPOptions are the options that Akash passes to the HTTP router. A zero value means Akash's default, see
// WithDefaults.
type HTTPOptions struct {
	// MaxBodySize is the largest request body, in bytes.
	MaxBodySize uint32 `json:"maxBodySize,omitempty" is:"a body size in bytes" max:"104857600"`
	// ReadTimeout and SendTimeout limit one read from and one write to the backend, in whole milliseconds.
	ReadTimeout time.Duration `json:"readTimeout,omitempty"`
	SendTimeout time.Duration `json:"sendTimeout,omitempty"`
	// NextTries is the number of backends to try.
	NextTries uint32 `json:"nextTries,omitempty" is:"a number of tries"`
	// NextTimeout limits the time spent on further tries; 0 means no limit.
	NextTimeout time.Duration `json:"nextTimeout,omitempty"`
	// NextCases are the failures after which the next backend is tried: error, timeout or an HTTP status; or only
	// "off".
	NextCases []string `json:"nextCases,omitempty" read:"word"`
}

// HTTPPlaces are the positions of HTTPOptions.
type HTTPPlaces struct {
	MaxBodySize, ReadTimeout, SendTimeout, NextTries, NextTimeout, NextCases Place
}

// ExternalPort returns the port as seen from outside.
func (e Expose) ExternalPort() uint16 {
	if e.As != 0 {
		return e.As
	}
	return e.Port
}

// IsIngress reports whether the port is reached through the HTTP router: a global TCP port whose external number is 80
// (chain-sdk: manifest's IsIngress), or one of any number that has TLS settings, which Akash's formats cannot express.
func (e Expose) IsIngress() bool {
	return e.Global && e.Protocol == TCP && (e.ExternalPort() == 80 || e.TLS() != nil)
}

// Endpoint returns the IP endpoint of that name, or nil.
func (d *Definition) Endpoint(name string) *IPEndpoint {
	if i := slices.IndexFunc(d.IPEndpoints, func(e IPEndpoint) bool { return e.Name == name }); i >= 0 {
		return &d.IPEndpoints[i]
	}
	return nil
}

// WithDefaults sets unset options to Akash's defaults (chain-sdk: go/sdl/expose.go).
func (o HTTPOptions) WithDefaults() HTTPOptions {
	if o.MaxBodySize == 0 {
		o.MaxBodySize = 1048576
	}
	if o.ReadTimeout == 0 {
		o.ReadTimeout = time.Minute
	}
	if o.SendTimeout == 0 {
		o.SendTimeout = time.Minute
	}
	if o.NextTries == 0 {
		o.NextTries = 3
	}
	if len(o.NextCases) == 0 {
		o.NextCases = []string{"error", "timeout"}
	}
	return o
}

// Exposes reports whether the definition has a host, a routed port or an address. If not, there is nothing to claim and
// nothing to write.
func (d *Definition) Exposes() bool {
	for _, s := range d.Services {
		for _, e := range s.Expose {
			if len(e.Hosts) > 0 || e.IP != "" || e.IsIngress() {
				return true
			}
		}
	}
	return false
}

// Empty reports whether the definition has nothing to expose and no workload. Applied, it removes all that the lease has.
func (d *Definition) Empty() bool {
	return !d.Exposes() && (d.Workloads == nil || len(d.Workloads.Services) == 0)
}

// Routed returns the expose that serves a path of a host, or nil.
func (d *Definition) Routed(host, path string) *Expose {
	for i := range d.Services {
		for j := range d.Services[i].Expose {
			e := &d.Services[i].Expose[j]
			if e.RoutePath() == path && slices.ContainsFunc(e.Hosts, func(h Host) bool { return h.Name == host }) {
				return e
			}
		}
	}
	return nil
}

// Options returns the HTTP options of the expose, or nil if all are Akash's defaults.
func (e *Expose) Options() *HTTPOptions {
	if reflect.DeepEqual(e.HTTP, HTTPOptions{}) {
		return nil
	}
	options := e.HTTP
	return &options
}

// CheckEndpointName returns an error if an IP endpoint cannot have the name. Akash's rule (chain-sdk:
// endpointNameValidationRegex): at least two characters, first a letter, then letters, digits, "-" and "_".
func CheckEndpointName(name string) error {
	ok := len(name) >= 2 && 'a' <= name[0] && name[0] <= 'z'
	for i := range len(name) {
		b := name[i]
		ok = ok && ('a' <= b && b <= 'z' || '0' <= b && b <= '9' || b == '-' || b == '_')
	}
	if !ok {
		return fmt.Errorf("%q is not an endpoint name (two or more of a-z, 0-9, \"-\" and \"_\", a letter first)", Clip(name))
	}
	return nil
}

func (c *checker) endpoints(d *Definition) {
	owner := map[netip.Addr]string{}
	for i, e := range d.IPEndpoints {
		if c.missing(e.Name == "") {
			continue
		}
		if err := CheckEndpointName(e.Name); err != nil {
			c.problems.Add(e.At, "%v", err)
		}
		if i > 0 && d.IPEndpoints[i-1].Name == e.Name {
			c.problems.Add(e.At, "there are two endpoints named %q", e.Name)
		}
		if !c.used[e.Name] {
			c.problems.Add(e.At, "endpoint %q is declared but never used", e.Name)
		}
		c.sharingKey(d, &d.IPEndpoints[i])
		four, six := 0, 0
		for _, a := range e.Addresses {
			if err := CheckAddr(a); err != nil {
				c.problems.Add(e.At, "%v", err)
				continue
			}
			if other, ok := owner[a]; ok {
				c.problems.Add(e.At, "address %s is given twice%s", a, otherEndpoint(other, e.Name))
			}
			owner[a] = e.Name
			if a.Is4() {
				four++
			} else {
				six++
			}
		}
		if four > 1 || six > 1 {
			c.problems.Add(e.At, "endpoint %q has more than one address of a family", e.Name)
		}
	}
}

// sharingKey reports an endpoint whose name equals the hash in the sharing key of another: MetalLB would assign both
// the same address.
func (c *checker) sharingKey(d *Definition, e *IPEndpoint) {
	key := SharingKey(d.Lease.Owner, e.Name)
	first := c.keys[key]
	if first == nil {
		c.keys[key] = e
		return
	}
	if first.Name != e.Name {
		at, also := laterEarlier(first.At, e.At)
		c.problems.Add(at,
			"the IP endpoints %q and %q%s have the same sharing key, so both would have the same address: rename one of them",
			first.Name, e.Name, alsoAt(also))
	}
}

// otherEndpoint returns the text that names the endpoint with the same address, or "" if it is the same endpoint.
func otherEndpoint(other, name string) string {
	if other == name {
		return ""
	}
	return fmt.Sprintf(" (also to endpoint %q)", other)
}

// broadcast is the IPv4 limited broadcast address.
var broadcast = netip.AddrFrom4([4]byte{255, 255, 255, 255})

// CheckAddr returns an error if the address cannot be leased.
func CheckAddr(a netip.Addr) error {
	switch {
	case !a.IsValid():
		return fmt.Errorf("an address is missing")
	case a.Zone() != "":
		return fmt.Errorf("%s has a zone; an address that is leased has none", a)
	case a.Is4In6():
		return fmt.Errorf("%s is an IPv4-mapped IPv6 address; write %s", a, a.Unmap())
	case a.IsUnspecified() || a.IsLoopback() || a.IsMulticast() || a.IsLinkLocalUnicast() || a == broadcast:
		return fmt.Errorf("%s is not an address that can be leased", a)
	}
	return nil
}

// canonical sorts services, IP endpoints and exposes, and clears values that equal Akash's defaults. Exposes have the
// order of Akash's manifest: port, protocol, global before internal, then path, then the connecting service.
func canonical(d *Definition) {
	slices.SortStableFunc(d.Services, func(a, b Service) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortStableFunc(d.IPEndpoints, func(a, b IPEndpoint) int { return cmp.Compare(a.Name, b.Name) })
	for i := range d.Services {
		exposes := d.Services[i].Expose
		for j := range exposes {
			e := &exposes[j]
			if e.As == e.Port {
				e.As = 0
			}
			e.HTTP = e.HTTP.WithoutDefaults()
			if e.Path == "/" {
				e.Path = ""
			}
			e.Routing = e.Routing.canonical()
		}
		slices.SortStableFunc(exposes, compareExpose)
	}
}

func compareExpose(a, b Expose) int {
	globalFirst := 0
	if a.Global != b.Global {
		globalFirst = 1
		if a.Global {
			globalFirst = -1
		}
	}
	return cmp.Or(cmp.Compare(a.Port, b.Port), cmp.Compare(a.Protocol, b.Protocol), globalFirst,
		cmp.Compare(a.Path, b.Path), cmp.Compare(a.Peer, b.Peer))
}

// hostNames returns the names of the hosts, sorted.
func (e *Expose) hostNames() []string {
	names := make([]string, len(e.Hosts))
	for i, h := range e.Hosts {
		names[i] = h.Name
	}
	slices.Sort(names)
	return names
}

// WithoutDefaults clears the options that equal Akash's defaults; it is the reverse of WithDefaults.
func (o HTTPOptions) WithoutDefaults() HTTPOptions {
	d := HTTPOptions{}.WithDefaults()
	if o.MaxBodySize == d.MaxBodySize {
		o.MaxBodySize = 0
	}
	if o.ReadTimeout == d.ReadTimeout {
		o.ReadTimeout = 0
	}
	if o.SendTimeout == d.SendTimeout {
		o.SendTimeout = 0
	}
	if o.NextTries == d.NextTries {
		o.NextTries = 0
	}
	if len(o.NextCases) == 0 || slices.Equal(o.NextCases, d.NextCases) {
		o.NextCases = nil
	}
	return o
}

// canonical returns a copy of the routing with the default termination filled in, the default weight cleared, and lists
// without a meaningful order sorted. It returns nil if the routing sets nothing.
func (r *Routing) canonical() *Routing {
	if r == nil {
		return nil
	}
	out := *r
	if r.TLS != nil {
		tls := *r.TLS
		switch {
		case tls.Termination != "":
		case tls.DestinationCASecretName != "":
			tls.Termination = Reencrypt
		default:
			tls.Termination = Edge
		}
		tls.Issuer = tls.Issuer.canonical()
		out.TLS = &tls
	}
	if len(r.Backends) > 0 && r.Weight != nil && *r.Weight == DefaultWeight {
		out.Weight = nil
	}
	out.Backends = slices.SortedStableFunc(slices.Values(r.Backends), func(a, b Backend) int {
		return cmp.Or(strings.Compare(a.Service, b.Service), cmp.Compare(a.Port, b.Port))
	})
	out.Annotations = slices.SortedStableFunc(slices.Values(r.Annotations), func(a, b RouteAnnotation) int {
		return strings.Compare(a.Key, b.Key)
	})
	return out.OrNil()
}

// certManager is the API group of cert-manager's own issuers.
const certManager = "cert-manager.io"

// canonical clears cert-manager's own API group. If group and kind are both empty, it sets the kind Issuer, which is
// cert-manager's default.
func (i *Issuer) canonical() *Issuer {
	if i == nil {
		return nil
	}
	out := *i
	if out.Group == certManager {
		out.Group = ""
	}
	if out.Kind == "" && out.Group == "" {
		out.Kind = "Issuer"
	}
	return &out
}
