package lease

// Routing is what a definition says of the routes of an expose beyond Akash's HTTP options. Each
// target renders what it can express and refuses the rest with the reason.
type Routing struct {
	// TLS ends or passes on the TLS of the hosts; nil routes plain HTTP, as Akash does.
	TLS *TLS
	// Weight is the share of the service itself among Backends, 0 to 256; nil stands for 100
	// (OpenShift's default).
	Weight *uint16
	// Backends are further services of the lease that share the traffic, at most three.
	Backends []Backend
	// Sticky keeps a client on one backend; nil leaves it to the router.
	Sticky *Sticky
	// RequestHeaders and ResponseHeaders are changed in this order.
	RequestHeaders, ResponseHeaders []HeaderRule
	// Annotations are settings of OpenShift's router, by the names of its documentation.
	Annotations []RouteAnnotation
	// Labels stand on the routes beside ours: routers choose their routes by labels (shards).
	Labels map[string]string
	At     RoutingPlaces
}

// RoutingPlaces are where the parts of a Routing were read.
type RoutingPlaces struct {
	TLS, Weight, Backends, Sticky, Headers, Annotations, Labels Place
}

// Termination is where TLS ends.
type Termination string

// The terminations that OpenShift knows; other targets have them under other names.
const (
	// Edge ends TLS at the router.
	Edge Termination = "edge"
	// Passthrough leaves TLS to the backend; the router sees the host name only.
	Passthrough Termination = "passthrough"
	// Reencrypt ends TLS at the router, which speaks TLS to the backend.
	Reencrypt Termination = "reencrypt"
)

// InsecurePolicy is what becomes of requests without TLS.
type InsecurePolicy string

// The policies for requests without TLS. The empty one is the target's default.
const (
	InsecureNone     InsecurePolicy = "None"
	InsecureAllow    InsecurePolicy = "Allow"
	InsecureRedirect InsecurePolicy = "Redirect"
)

// TLS says how the hosts of an expose are served over TLS. Certificates and keys are never part of
// a definition: they are in Secrets of the lease's namespace.
type TLS struct {
	Termination Termination
	Insecure    InsecurePolicy
	// SecretName is a Secret of type kubernetes.io/tls with the hosts' certificate; empty leaves
	// the certificate to the router.
	SecretName string
	// DestinationCASecretName is a Secret whose key ca.crt verifies the backend's certificate
	// (Reencrypt only).
	DestinationCASecretName string
	// Issuer has cert-manager make the certificate; nil does not.
	Issuer *Issuer
}

// Issuer is the cert-manager issuer of a certificate.
type Issuer struct {
	Name string
	// Kind is Issuer or ClusterIssuer, or a kind of Group.
	Kind string
	// Group is the API group of an external issuer; empty is cert-manager's own.
	Group string
}

// Backend is a service that shares the traffic of a route.
type Backend struct {
	Service string
	// Port is the port of the Kubernetes Service; 0 is the expose's external port.
	Port uint16
	// Weight is the share of the traffic, 0 to 256.
	Weight uint16
	At     Place
}

// Sticky keeps a client's requests on one backend by a cookie.
type Sticky struct {
	// Disabled turns off what the router does by itself.
	Disabled bool
	// Cookie is the cookie's name; empty leaves it to the router.
	Cookie string
	// SameSite is Lax, Strict or None; empty leaves it to the router.
	SameSite string
}

// HeaderRule changes one header.
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

// DefaultWeight is the weight of a service for which none is given (OpenShift's default).
const DefaultWeight = 100

// RoutePath is the path below which the expose's hosts lead to it: "/" where it says none.
func (e Expose) RoutePath() string {
	if e.Path == "" {
		return "/"
	}
	return e.Path
}
