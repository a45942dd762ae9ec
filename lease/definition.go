package lease

import (
	"net/netip"
	"reflect"
	"slices"
	"time"
)

// Protocol is a transport protocol in Kubernetes' spelling.
type Protocol string

// The protocols that Akash knows.
const (
	TCP Protocol = "TCP"
	UDP Protocol = "UDP"
)

// Definition says what one lease exposes. Every input format is read into it, and every object is
// made from it. A Definition that Check has passed has sorted services and exposes.
type Definition struct {
	// Name is the document's metadata.name: a word for people, with no meaning in the cluster.
	Name string
	// Lease is the lease that exposes.
	Lease ID
	// Services are the workloads that expose something, sorted by name; where workloads are read all of
	// them, with the ports too that only services of the lease reach.
	Services []Service
	// IPEndpoints are the addresses that the services' exposes refer to by name.
	IPEndpoints []IPEndpoint
	// Workloads is what the lease runs; nil unless the reader was asked for it (input.Options).
	Workloads *Workloads
	// Hash identifies the definition as it was read (see Sum); it stays when parts of the
	// definition are withheld.
	Hash string
	// At is where the document stands.
	At Place
}

// Service is one workload of a lease and what it exposes.
type Service struct {
	// Name is the name of the workload and of the Kubernetes Service that reaches it.
	Name string
	// Target is the kind of route of this service's hosts: config.TargetIngress,
	// config.TargetHTTPRoute or config.TargetRoute; empty is the configuration's.
	Target string
	// Expose lists the ports, in the order of Akash's manifest: by port, protocol, global first.
	Expose []Expose
	At     Place
}

// Expose is one port of a service and the ways in which it is reached.
type Expose struct {
	// Port is the container's port.
	Port uint16
	// As is the port seen from outside; 0 stands for Port.
	As       uint16
	Protocol Protocol
	// Global is true for a port that is reached from outside the lease.
	Global bool
	// Peer is the service of the lease that may connect; empty for all. Sequence is the number of IP in the
	// deployment. SaysAs is true where As was written though it equals Port, which Akash's manifest repeats.
	// They are read with workloads alone.
	Peer     string
	Sequence uint32
	SaysAs   bool
	// Hosts are the host names that lead here. Those of a port that is no ingress are reserved
	// and never routed, as Akash does.
	Hosts []Host
	// HostsWithheld is true where all hosts that the definition names are withheld: the port is not
	// one that names none.
	HostsWithheld bool
	// Path is the path below which the hosts lead here; empty is the root, which Check writes so.
	Path string
	// Routing says more of the hosts' routes; nil where nothing is said.
	Routing *Routing
	// IP is the name of the IP endpoint on which the port is leased, or empty.
	IP   string
	HTTP HTTPOptions
	At   Place
	// HTTPAt is where the options stand, nil where none were read.
	HTTPAt *HTTPPlaces
	// IPAt is where IP stands, PathAt where Path does.
	IPAt, PathAt Place
}

// Host is a host name and where it was read.
type Host struct {
	Name string
	At   Place
}

// IPEndpoint is a leased IP address by the name that the lease gives it.
type IPEndpoint struct {
	Name string
	// Addresses are asked for by the definition; where there are none the ledger gives one a
	// family.
	Addresses []netip.Addr
	At        Place
}

// HTTPOptions are the options that Akash passes to the HTTP router. A zero value stands for
// Akash's default, see WithDefaults.
type HTTPOptions struct {
	// MaxBodySize is the largest request body in bytes.
	MaxBodySize uint32 `json:"maxBodySize,omitempty"`
	// ReadTimeout and SendTimeout limit one read from and one write to the backend; they have a
	// resolution of a millisecond.
	ReadTimeout time.Duration `json:"readTimeout,omitempty"`
	SendTimeout time.Duration `json:"sendTimeout,omitempty"`
	// NextTries is how many backends are tried.
	NextTries uint32 `json:"nextTries,omitempty"`
	// NextTimeout limits the time spent on further tries; 0 is no limit.
	NextTimeout time.Duration `json:"nextTimeout,omitempty"`
	// NextCases are the outcomes after which another backend is tried: error, timeout, off, or an
	// HTTP status.
	NextCases []string `json:"nextCases,omitempty"`
}

// HTTPPlaces are the places of the options in HTTPOptions.
type HTTPPlaces struct {
	MaxBodySize, ReadTimeout, SendTimeout, NextTries, NextTimeout, NextCases Place
}

// ExternalPort is the port seen from outside.
func (e Expose) ExternalPort() uint16 {
	if e.As != 0 {
		return e.As
	}
	return e.Port
}

// IsIngress is true for a port that is reached through the HTTP router: a global TCP port that is
// 80 outside (chain-sdk: manifest's IsIngress), or one of whose hosts TLS is said, whatever its
// number: Akash's formats cannot say that.
func (e Expose) IsIngress() bool {
	return e.Global && e.Protocol == TCP && (e.ExternalPort() == 80 || e.Routing != nil && e.Routing.TLS != nil)
}

// Endpoint is the IP endpoint of the name, or nil.
func (d *Definition) Endpoint(name string) *IPEndpoint {
	if i := slices.IndexFunc(d.IPEndpoints, func(e IPEndpoint) bool { return e.Name == name }); i >= 0 {
		return &d.IPEndpoints[i]
	}
	return nil
}

// WithDefaults fills in Akash's defaults (chain-sdk: go/sdl/expose.go).
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

// Exposes is true for a definition that has a host or an address to give: without any of them
// there is nothing to claim and nothing to write.
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

// Routed is the expose to which a path of a host leads, or nil.
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

// Options are the HTTP options of the expose; nil where they are Akash's defaults.
func (e *Expose) Options() *HTTPOptions {
	if reflect.DeepEqual(e.HTTP, HTTPOptions{}) {
		return nil
	}
	options := e.HTTP
	return &options
}
