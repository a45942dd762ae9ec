package lease

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// Routes returns the definition without its workloads, as a reader that is not asked for workloads reads it from
// Akash's formats: without ports that only services of the lease reach, except those of services that are backends of a
// route. The ledger and the routes keep only this part, so that they contain no environment and no image. A definition
// without workloads is returned unchanged.
func (d *Definition) Routes() *Definition {
	if d.Workloads == nil {
		return d
	}
	out := *d
	out.Workloads, out.Services = nil, d.routed()
	return &out
}

// routed returns the services with the ports that Routes keeps.
func (d *Definition) routed() []Service {
	var out []Service
	reached := d.backends()
	for _, s := range d.Services {
		exposes := make([]Expose, 0, len(s.Expose))
		for _, e := range s.Expose {
			if !e.Global && len(e.Hosts) == 0 && e.IP == "" && !reached[s.Name] {
				continue
			}
			e.Peer, e.Sequence, e.SaysAs = "", 0, false
			exposes = append(exposes, e)
		}
		if len(exposes) > 0 {
			s.Expose = slices.Clip(exposes)
			out = append(out, s)
		}
	}
	return out
}

// backends returns the names of the services that share the traffic of a route.
func (d *Definition) backends() map[string]bool {
	services := map[string]bool{}
	for _, s := range d.Services {
		for _, e := range s.Expose {
			if e.Routing == nil {
				continue
			}
			for _, b := range e.Routing.Backends {
				services[b.Service] = true
			}
		}
	}
	return services
}

// Routing has the settings of an expose's routes beyond Akash's HTTP options. Each target renders what it supports and
// refuses the rest with a reason.
type Routing struct {
	// TLS is how the router serves TLS for the hosts; nil means plain HTTP, as in Akash.
	TLS *TLS `doc:"tls,omitempty"`
	// Weight is the share of the service itself, 0 to 256, relative to Backends; nil means 100 (OpenShift's default).
	Weight *uint16 `doc:"weight,omitempty" is:"a weight" max:"256"`
	// Backends are further services of the lease that share the traffic, at most three.
	Backends []Backend `doc:"alternateBackends,omitempty"`
	// Sticky keeps a client on one backend; nil means the router's default.
	Sticky  *Sticky `doc:"sticky,omitempty"`
	Headers Headers `doc:"headers,omitempty"`
	// Annotations are settings of OpenShift's router, under the names of its documentation.
	Annotations []RouteAnnotation `doc:"annotations,omitempty"`
	// Labels are added to the labels of the routes. Router shards select routes by labels.
	Labels map[string]string `doc:"labels,omitempty"`
	At     RoutingPlaces     `at:"."`
}

// OrNil returns nil if the routing sets nothing, otherwise the routing itself.
func (r *Routing) OrNil() *Routing {
	if r.TLS == nil && r.Weight == nil && len(r.Backends) == 0 && r.Sticky == nil && r.Headers.none() &&
		len(r.Annotations) == 0 && len(r.Labels) == 0 {
		return nil
	}
	return r
}

// RoutingPlaces are the positions of the parts of a Routing.
type RoutingPlaces struct {
	TLS, Weight, AlternateBackends, Sticky, Headers, Annotations, Labels Place
}

// Termination is where TLS is terminated.
type Termination string

// The terminations that OpenShift knows; other targets have them under other names.
const (
	// Edge terminates TLS at the router.
	Edge Termination = "edge"
	// Passthrough forwards TLS to the backend; the router sees only the host name.
	Passthrough Termination = "passthrough"
	// Reencrypt terminates TLS at the router and uses TLS to the backend.
	Reencrypt Termination = "reencrypt"
)

// InsecurePolicy is how the router handles requests without TLS.
type InsecurePolicy string

// The policies for requests without TLS. The empty one is the target's default.
const (
	InsecureNone     InsecurePolicy = "None"
	InsecureAllow    InsecurePolicy = "Allow"
	InsecureRedirect InsecurePolicy = "Redirect"
)

// TLS is how the hosts of an expose are served over TLS. Certificates and keys are never part of a definition; they are
// in Secrets of the lease's namespace.
type TLS struct {
	Termination Termination    `doc:"termination,omitempty" is:"termination" oneof:"edge|passthrough|reencrypt"`
	Insecure    InsecurePolicy `doc:"insecure,omitempty" is:"insecure" oneof:"None|Allow|Redirect"`
	// SecretName is a Secret of type kubernetes.io/tls with the hosts' certificate; empty means the router's
	// certificate.
	SecretName string `doc:"secretName,omitempty"`
	// DestinationCASecretName is a Secret whose key ca.crt verifies the backend's certificate (Reencrypt only).
	DestinationCASecretName string `doc:"destinationCASecretName,omitempty"`
	// Issuer is the cert-manager issuer of the certificate; nil if cert-manager is not used.
	Issuer *Issuer `doc:"issuer,omitempty"`
}

// Issuer refers to a cert-manager issuer.
type Issuer struct {
	Name string `doc:"name" read:"required"`
	// Kind is Issuer, ClusterIssuer, or a kind of Group.
	Kind string `doc:"kind,omitempty"`
	// Group is the API group of an external issuer; empty means cert-manager's own.
	Group string `doc:"group,omitempty"`
}

// Backend is a service that shares the traffic of a route.
type Backend struct {
	Service string `doc:"service" read:"required"`
	// Port is the port of the Kubernetes Service; 0 means the expose's external port.
	Port uint16 `doc:"port,omitempty" is:"a port" min:"1"`
	// Weight is the share of the traffic, 0 to 256.
	Weight uint16 `doc:"weight" is:"a weight" max:"256" default:"100"`
	At     Place  `at:"."`
}

// Sticky keeps a client on one backend with a cookie.
type Sticky struct {
	// Disabled turns off the router's own stickiness.
	Disabled bool `doc:"disabled,omitempty"`
	// Cookie is the cookie's name; empty means the router's default.
	Cookie string `doc:"cookie,omitempty"`
	// SameSite is Lax, Strict or None; empty means the router's default.
	SameSite string `doc:"sameSite,omitempty" is:"sameSite" oneof:"Lax|Strict|None"`
}

// Headers are rules for the headers of requests and of responses, applied in this order.
type Headers struct {
	Request  []HeaderRule `doc:"request,omitempty"`
	Response []HeaderRule `doc:"response,omitempty"`
}

func (h Headers) none() bool { return len(h.Request)+len(h.Response) == 0 }

// HeaderRule sets or deletes one header.
type HeaderRule struct {
	Name string `doc:"name" read:"required"`
	// Delete removes the header; otherwise it is set to Value.
	Delete HeaderAction `doc:"action" read:"required,filled" is:"action" oneof:"Set|Delete"`
	Value  string       `doc:"value,omitempty"`
	At     Place        `at:"."`
}

// HeaderAction is true if a header is deleted, and false if it is set.
type HeaderAction bool

// MarshalText returns Set or Delete.
func (a HeaderAction) MarshalText() ([]byte, error) {
	if a {
		return []byte("Delete"), nil
	}
	return []byte("Set"), nil
}

// UnmarshalText reads one of these.
func (a *HeaderAction) UnmarshalText(text []byte) error {
	*a = string(text) == "Delete"
	return nil
}

// RouteAnnotation is one setting of OpenShift's router.
type RouteAnnotation struct {
	Key   string `doc:"@key"`
	Value string `doc:"@text"`
	At    Place  `at:"."`
}

// DefaultWeight is the weight of a service without an explicit weight (OpenShift's default).
const DefaultWeight = 100

// RoutePath returns the path prefix of the expose's routes, "/" by default.
func (e Expose) RoutePath() string {
	if e.Path == "" {
		return "/"
	}
	return e.Path
}

// Unrouted returns the hosts that are claimed but not served: the HTTP router does not reach their port, and no IP
// endpoint has it. The usual cause is an SDL with "as: 8000" instead of "as: 80".
func (d *Definition) Unrouted() []Host {
	var hosts []Host
	for _, s := range d.Services {
		for _, e := range s.Expose {
			if !e.IsIngress() && e.IP == "" {
				hosts = append(hosts, e.Hosts...)
			}
		}
	}
	return hosts
}

// Warnings returns the warnings about a definition that do not depend on the provider.
func Warnings(d *Definition) Problems {
	var problems Problems
	for _, s := range d.Services {
		for _, e := range s.Expose {
			if e.IsIngress() || e.IP != "" {
				continue
			}
			for _, h := range e.Hosts {
				problems.Warn(h.At, "host %q is claimed, but not routed over HTTP: %s; %s", h.Name, e.whyUnrouted(s.Name), e.howRouted())
			}
		}
	}
	return problems
}

func (e Expose) whyUnrouted(service string) string {
	switch {
	case !e.Global:
		return fmt.Sprintf("service %s does not expose port %d to the outside", service, e.Port)
	case e.Protocol != TCP:
		return fmt.Sprintf("service %s exposes port %d over %s", service, e.Port, e.Protocol)
	}
	return fmt.Sprintf("service %s exposes port %d as %d, and only 80 is routed", service, e.Port, e.ExternalPort())
}

func (e Expose) howRouted() string {
	switch {
	case !e.Global:
		return `write "as: 80" and let it be global`
	case e.Protocol != TCP:
		return `write "as: 80" and protocol TCP`
	}
	return `write "as: 80"`
}

// The limits of Akash's HTTP options (chain-sdk: go/sdl/v2.go). The time for further tries is limited only by Akash's
// field, 32 bits of milliseconds.
const (
	MaxBodySizeLimit = 104857600
	TimeoutLimit     = time.Minute
	nextTimeoutLimit = math.MaxUint32 * time.Millisecond
)

// nextCases are the values that Akash accepts (chain-sdk: go/sdl/v2.go).
var nextCases = []string{"error", "timeout", "500", "502", "503", "504", "403", "404", "429", "off"}

// maxNextCases limits the next cases of a route. Akash knows nine, and allows to repeat them; each route has them in an
// annotation.
const maxNextCases = 32

// listedCases is nextCases as a text for messages.
var listedCases = strings.Join(nextCases, ", ")

// IsNextCase reports whether Akash accepts the value.
func IsNextCase(s string) bool { return slices.Contains(nextCases, s) }

func (c *checker) http(e *Expose) {
	o, at := &e.HTTP, e.HTTPAt
	if at == nil {
		at = &HTTPPlaces{e.At, e.At, e.At, e.At, e.At, e.At}
	}
	if o.MaxBodySize > MaxBodySizeLimit {
		c.problems.Add(at.MaxBodySize, "the body size %d is greater than %d bytes", o.MaxBodySize, MaxBodySizeLimit)
	}
	c.timeout(at.ReadTimeout, "read timeout", o.ReadTimeout, TimeoutLimit)
	c.timeout(at.SendTimeout, "send timeout", o.SendTimeout, TimeoutLimit)
	c.timeout(at.NextTimeout, "next timeout", o.NextTimeout, nextTimeoutLimit)
	for _, n := range o.NextCases[:min(len(o.NextCases), maxNextCases)] {
		if !IsNextCase(n) {
			c.problems.Add(at.NextCases, "next case %q is unknown; known are %s", n, listedCases)
		}
	}
	if len(o.NextCases) > maxNextCases {
		c.problems.Add(at.NextCases, "there are %d next cases; at most %d are allowed", len(o.NextCases), maxNextCases)
	}
	if len(o.NextCases) > 1 && slices.Contains(o.NextCases, "off") {
		c.problems.Add(at.NextCases, "beside \"off\" there may be no other case")
	}
}

func (c *checker) timeout(at Place, what string, d, limit time.Duration) {
	switch {
	case d < 0:
		c.problems.Add(at, "the %s is negative", what)
	case d%time.Millisecond != 0:
		c.problems.Add(at, "the %s %s is not a whole number of milliseconds", what, d)
	case d > limit:
		c.problems.Add(at, "the %s %s is longer than %s", what, d, limit)
	}
}
