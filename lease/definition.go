package lease

import (
	"net/netip"
	"reflect"
	"slices"
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
	Name string
	// Target is the kind of route for this service's hosts: config.TargetIngress, config.TargetHTTPRoute or
	// config.TargetRoute. Empty means the configuration's target.
	Target string
	// Expose lists the ports in the order of Akash's manifest: port, protocol, global before internal.
	Expose []Expose
	At     Place
}

// Expose is one port of a service and how it is reached.
type Expose struct {
	// Port is the container's port.
	Port uint16
	// As is the external port; 0 means the same as Port.
	As       uint16
	Protocol Protocol
	// Global is true if the port is reachable from outside the lease.
	Global bool
	// Peer is the service of the lease that may connect; empty means all. Sequence is the number of the IP endpoint in
	// the deployment. SaysAs is true if As was written although it equals Port; Akash's manifest keeps that. All three
	// are read only together with workloads.
	Peer     string
	Sequence uint32
	SaysAs   bool
	// Hosts are the host names that route to this port. Hosts of a port that is not an ingress are claimed but not
	// routed, as in Akash.
	Hosts []Host
	// HostsWithheld is true if all hosts of the definition are withheld. It distinguishes such a port from one that
	// never had hosts, which may get a generated host.
	HostsWithheld bool
	// Path is the path prefix that routes to this port; empty means the root. Check replaces "/" with "".
	Path string
	// Routing has further settings of the routes; nil if there are none.
	Routing *Routing
	// IP is the name of the IP endpoint on which the port is leased, or empty.
	IP   string
	HTTP HTTPOptions
	At   Place
	// HTTPAt has the positions of the options; nil if none were read.
	HTTPAt *HTTPPlaces
	// IPAt and PathAt are the positions of IP and Path.
	IPAt, PathAt Place
}

// Host is a host name and its position in the input.
type Host struct {
	Name string
	At   Place
}

// IPEndpoint is a leased IP address, under the name that the lease gives it.
type IPEndpoint struct {
	Name string
	// Addresses are the addresses that the definition requests. If it requests none, the ledger assigns one per family.
	Addresses []netip.Addr
	At        Place
}

// HTTPOptions are the options that Akash passes to the HTTP router. A zero value means Akash's default, see
// WithDefaults.
type HTTPOptions struct {
	// MaxBodySize is the largest request body, in bytes.
	MaxBodySize uint32 `json:"maxBodySize,omitempty"`
	// ReadTimeout and SendTimeout limit one read from and one write to the backend, in whole milliseconds.
	ReadTimeout time.Duration `json:"readTimeout,omitempty"`
	SendTimeout time.Duration `json:"sendTimeout,omitempty"`
	// NextTries is the number of backends to try.
	NextTries uint32 `json:"nextTries,omitempty"`
	// NextTimeout limits the time spent on further tries; 0 means no limit.
	NextTimeout time.Duration `json:"nextTimeout,omitempty"`
	// NextCases are the failures after which the next backend is tried: error, timeout or an HTTP status; or only
	// "off".
	NextCases []string `json:"nextCases,omitempty"`
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
