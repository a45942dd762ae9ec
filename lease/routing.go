package lease

// Routing has the settings of an expose's routes beyond Akash's HTTP options. Each target renders what it supports and
// refuses the rest with a reason.
type Routing struct {
	// TLS is how the router serves TLS for the hosts; nil means plain HTTP, as in Akash.
	TLS *TLS
	// Weight is the share of the service itself, 0 to 256, relative to Backends; nil means 100 (OpenShift's default).
	Weight *uint16
	// Backends are further services of the lease that share the traffic, at most three.
	Backends []Backend
	// Sticky keeps a client on one backend; nil means the router's default.
	Sticky *Sticky
	// RequestHeaders and ResponseHeaders are applied in this order.
	RequestHeaders, ResponseHeaders []HeaderRule
	// Annotations are settings of OpenShift's router, under the names of its documentation.
	Annotations []RouteAnnotation
	// Labels are added to the labels of the routes. Router shards select routes by labels.
	Labels map[string]string
	At     RoutingPlaces
}

// OrNil returns nil if the routing sets nothing, otherwise the routing itself.
func (r *Routing) OrNil() *Routing {
	if r.TLS == nil && r.Weight == nil && len(r.Backends) == 0 && r.Sticky == nil && len(r.RequestHeaders) == 0 &&
		len(r.ResponseHeaders) == 0 && len(r.Annotations) == 0 && len(r.Labels) == 0 {
		return nil
	}
	return r
}

// RoutingPlaces are the positions of the parts of a Routing.
type RoutingPlaces struct {
	TLS, Weight, Backends, Sticky, Headers, Annotations, Labels Place
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
	Termination Termination
	Insecure    InsecurePolicy
	// SecretName is a Secret of type kubernetes.io/tls with the hosts' certificate; empty means the router's
	// certificate.
	SecretName string
	// DestinationCASecretName is a Secret whose key ca.crt verifies the backend's certificate (Reencrypt only).
	DestinationCASecretName string
	// Issuer is the cert-manager issuer of the certificate; nil if cert-manager is not used.
	Issuer *Issuer
}

// Issuer refers to a cert-manager issuer.
type Issuer struct {
	Name string
	// Kind is Issuer, ClusterIssuer, or a kind of Group.
	Kind string
	// Group is the API group of an external issuer; empty means cert-manager's own.
	Group string
}

// Backend is a service that shares the traffic of a route.
type Backend struct {
	Service string
	// Port is the port of the Kubernetes Service; 0 means the expose's external port.
	Port uint16
	// Weight is the share of the traffic, 0 to 256.
	Weight uint16
	At     Place
}

// Sticky keeps a client on one backend with a cookie.
type Sticky struct {
	// Disabled turns off the router's own stickiness.
	Disabled bool
	// Cookie is the cookie's name; empty means the router's default.
	Cookie string
	// SameSite is Lax, Strict or None; empty means the router's default.
	SameSite string
}

// HeaderRule sets or deletes one header.
type HeaderRule struct {
	Name string
	// Delete removes the header; otherwise it is set to Value.
	Delete bool
	Value  string
	At     Place
}

// RouteAnnotation is one setting of OpenShift's router.
type RouteAnnotation struct {
	Key, Value string
	At         Place
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
