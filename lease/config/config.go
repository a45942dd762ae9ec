// Package config holds the provider's configuration: which routes are made, which hosts are
// allowed, from which ranges addresses are leased.
package config

import (
	"net/netip"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/akash-net/kubectl-akash-net/lease/document"
)

// The kinds of route.
const (
	TargetIngress   = "ingress"
	TargetHTTPRoute = "httproute"
	TargetRoute     = "route"
)

// The implementations of the Gateway API for which HTTP options are written.
const (
	// GatewayAkash writes what Akash's provider writes, to the letter.
	GatewayAkash = "akash"
	// GatewayNGF writes the policies and filters that NGINX Gateway Fabric reads.
	GatewayNGF = "nginx-gateway-fabric"
	// GatewayStandard writes fields of the Gateway API alone.
	GatewayStandard = "standard"
)

// The ways in which a leased address comes from MetalLB.
const (
	// ModeRange leases addresses from configured ranges, each one pool.
	ModeRange = "range"
	// ModeDedicated makes one pool an address.
	ModeDedicated = "dedicated"
	// ModePool leaves the choice to MetalLB, from a pool of the administrator.
	ModePool = "pool"
)

// ProviderConfig is the spec of a ProviderConfig document with its defaults filled in.
type ProviderConfig struct {
	Target            string
	ManifestNamespace string
	LedgerNamespace   string
	Ingress           Ingress
	Gateway           Gateway
	Hosts             Hosts
	IP                IP
	DNS               DNS
	CommitLevels      CommitLevels
	Workloads         Workloads
	Limits            Limits
	// Shards are the routers that share the cluster's routes; without any there is one for all.
	Shards []Shard
}

// Shard is a router that looks at a part of the routes. A host is unique in a shard, not across
// them.
type Shard struct {
	Name string
	// Routes and Namespaces select by the labels of a route and of its namespace; a route that both
	// select is in the shard.
	Routes, Namespaces labels.Selector
}

// Selects is true for a route of the shard.
func (s Shard) Selects(route, namespace labels.Set) bool {
	return s.Routes.Matches(route) && s.Namespaces.Matches(namespace)
}

// Ingress says how Ingress objects, and host names of the provider's own, are made.
type Ingress struct {
	ClassName string
	// Domain is the provider's ingress domain; static hosts are made below it.
	Domain      string
	StaticHosts bool
}

// Gateway says to which Gateway an HTTPRoute attaches and which implementation serves it.
type Gateway struct {
	Name, Namespace string
	Implementation  string
	// ProxyBufferSize is written on every route unless it is empty.
	ProxyBufferSize string
	Listeners       Listeners
}

// Listeners are the Gateway's listeners by what they serve, for routes that must not attach to all
// of them. The defaults are those of Akash's chart.
type Listeners struct {
	// HTTP takes requests without TLS, HTTPS ends TLS.
	HTTP, HTTPS []string
	// Passthrough hands TLS on to the backend; empty where the Gateway has no such listener.
	Passthrough []string
}

// Hosts says which host names a lease may have.
type Hosts struct {
	// Blocked follows Akash's convention: "x.com" that name alone, ".x.com" the domain and all
	// below it; in any case.
	Blocked []string
	// DeniedDomains and AllowedDomains follow OpenShift's router: a domain and all below it; what
	// is denied is so even where it is allowed too. No allowed domains allow all.
	DeniedDomains, AllowedDomains []string
	// Wildcards allows hosts such as *.example.com.
	Wildcards bool
	// NamespaceOwnership lets the owner of a host's oldest route shut out all others, on every path
	// and below a wildcard; without it each host and path goes to its oldest route. It is about
	// routes without a claim: a claim shuts out other owners in any case.
	NamespaceOwnership bool
	// Generated is the template of the host name that a routed port without hosts gets, such as
	// "${service}-${dseq}.apps.example.com"; empty gives it none.
	Generated string
}

// Workloads says how what leases run is deployed and reached.
type Workloads struct {
	// Enabled has apply deploy what leases run, and not only route to it.
	Enabled bool
	// NetworkPolicies keeps leases apart from each other and from private networks.
	NetworkPolicies bool
	// StrictNetworkPolicies has these policies cover IPv6 too, and close link-local and shared address space.
	StrictNetworkPolicies bool
	// PublicHostname is the provider's public name, at which tenants reach the ports of its nodes; empty
	// where it has none.
	PublicHostname string
	// ImagePullSecret is the name of a Secret that opens registries for services without credentials of
	// their own; empty for none. It is not copied into the namespaces of leases.
	ImagePullSecret string
	// APIServers are the addresses of the cluster's API servers, for services that may read of it.
	APIServers []netip.AddrPort
	// NodePorts are those that the cluster gives Services: the API servers' --service-node-port-range.
	NodePorts PortRange
}

// PortRange is a range of ports, both ends in it.
type PortRange struct{ First, Last uint16 }

// Limits bound what is read, and what one lease may have. Their defaults are far above what providers
// and tenants have.
type Limits struct {
	// DocumentSize is the largest document of an input, InputSize the largest input of a command that
	// has to hold all of it, both in bytes.
	DocumentSize, InputSize int64
	// Services, Hosts and Ports bound a lease: its services, its hosts with each of their paths, and its
	// exposed ports.
	Services, Hosts, Ports int
}

// CommitLevels say how much of a resource may be leased out for each unit that the provider has:
// 1.0 is all of it, 2.0 twice as much.
type CommitLevels struct {
	CPU, GPU, Memory, Storage float64
}

// IP says where leased addresses come from.
type IP struct {
	Mode   string
	Ranges Ranges
	// Families are those in which an IP endpoint without addresses of its own gets one each.
	Families         []Family
	Pool             string
	MetalLBNamespace string
	AnnotationPrefix string
}

// Family is an IP family in Kubernetes' spelling: IPv4 or IPv6.
type Family string

// The two families.
const (
	IPv4 Family = "IPv4"
	IPv6 Family = "IPv6"
)

// FamilyOf is the family of an address.
func FamilyOf(a netip.Addr) Family {
	if a.Is4() {
		return IPv4
	}
	return IPv6
}

// Default is the configuration of a provider that has none.
func Default() *ProviderConfig {
	return &ProviderConfig{
		Target:            TargetIngress,
		ManifestNamespace: "lease",
		LedgerNamespace:   "akash-net",
		Ingress:           Ingress{ClassName: "akash-ingress-class"},
		Gateway: Gateway{Name: "akash-gateway", Namespace: "akash-gateway", Implementation: GatewayAkash, ProxyBufferSize: "16k",
			Listeners: Listeners{HTTP: []string{"http"}, HTTPS: []string{"https-wildcard", "https-custom"}}},
		Hosts:        Hosts{NamespaceOwnership: true},
		CommitLevels: CommitLevels{CPU: 1, GPU: 1, Memory: 1, Storage: 1},
		Workloads:    Workloads{NetworkPolicies: true, NodePorts: PortRange{30000, 32767}},
		Limits:       Limits{DocumentSize: document.DefaultSize, InputSize: 256 << 20, Services: 1000, Hosts: 5000, Ports: 5000},
		IP: IP{
			Mode: ModeRange, Families: []Family{IPv4}, Pool: "default",
			MetalLBNamespace: "metallb-system", AnnotationPrefix: "metallb.universe.tf",
		},
		DNS: DNS{Form: DNSNone, Sources: []string{FromStatus}, AnnotationPrefix: "external-dns.alpha.kubernetes.io"},
	}
}
