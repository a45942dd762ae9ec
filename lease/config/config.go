// Package config has the provider's configuration: the kind of routes, the allowed hosts, and the ranges of addresses.
package config

import (
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/document"
)

// The kinds of route.
const (
	TargetIngress   = "ingress"
	TargetHTTPRoute = "httproute"
	TargetRoute     = "route"
)

// Targets are all kinds of route.
var Targets = []string{TargetIngress, TargetHTTPRoute, TargetRoute}

// The implementations of the Gateway API for which HTTP options are rendered.
const (
	// GatewayAkash renders exactly what Akash's provider writes.
	GatewayAkash = "akash"
	// GatewayNGF renders the policies and filters of NGINX Gateway Fabric.
	GatewayNGF = "nginx-gateway-fabric"
	// GatewayStandard renders only fields of the Gateway API.
	GatewayStandard = "standard"
)

// The modes of leasing addresses from MetalLB.
const (
	// ModeRange leases addresses from configured ranges, with one pool per range.
	ModeRange = "range"
	// ModeDedicated uses one pool per address.
	ModeDedicated = "dedicated"
	// ModePool lets MetalLB choose an address from a pool of the administrator.
	ModePool = "pool"
)

// ProviderConfig is the spec of a ProviderConfig document, with defaults.
type ProviderConfig struct {
	Target string `json:"target" is:"target" oneof:"ingress|httproute|route"`
	// Provider is the provider's own address; it completes the name of an order to that of a lease. Empty if it is not configured.
	Provider          string       `json:"provider" rule:"wallet"`
	ManifestNamespace string       `json:"manifestNamespace" rule:"namespace"`
	LedgerNamespace   string       `json:"ledgerNamespace" rule:"namespace"`
	Ingress           Ingress      `json:"ingress"`
	Gateway           Gateway      `json:"gateway"`
	Hosts             Hosts        `json:"hosts"`
	IP                IP           `json:"ip"`
	DNS               DNS          `json:"dns"`
	CommitLevels      CommitLevels `json:"commitLevels"`
	Workloads         Workloads    `json:"workloads"`
	Limits            Limits       `json:"limits"`
	// Shards are the routers that share the cluster's routes; if there are none, one router serves all.
	Shards []Shard `json:"shards"`
	// Missing says that a cluster has no configuration, so that the defaults apply, and what to do about it. It is empty if the
	// cluster has one, or a file was read.
	Missing string `json:"-"`
}

// Shard is a router that serves a subset of the routes. A host must be unique within a shard, but not across shards.
type Shard struct {
	Name string `json:"name" is:"name" read:"required,filled" rule:"name" unique:"shard"`
	// Routes and Namespaces select by the labels of a route and of its namespace. A route belongs to the shard if both
	// match.
	Routes     Selector `json:"selector"`
	Namespaces Selector `json:"namespaceSelector"`
}

// Selects reports whether a route with these labels belongs to the shard.
func (s Shard) Selects(route, namespace labels.Set) bool {
	return s.Routes.matches(route) && s.Namespaces.matches(namespace)
}

// Selector is a label selector in kubectl's format. The zero Selector selects everything.
type Selector struct{ of labels.Selector }

func (s Selector) matches(set labels.Set) bool { return s.of == nil || s.of.Matches(set) }

// MarshalText returns the selector as it is written.
func (s Selector) MarshalText() ([]byte, error) {
	if s.of == nil {
		return nil, nil
	}
	return []byte(s.of.String()), nil
}

// UnmarshalText reads a selector.
func (s *Selector) UnmarshalText(text []byte) (err error) {
	if s.of, err = labels.Parse(string(text)); err != nil {
		return fmt.Errorf("not a label selector: %w", err)
	}
	return nil
}

// Ingress configures Ingress objects and the provider's own host names.
type Ingress struct {
	ClassName string `json:"className" rule:"name"`
	// Domain is the provider's ingress domain, the parent of static hosts.
	Domain      string `json:"domain" rule:"hostDomain"`
	StaticHosts bool   `json:"staticHosts"`
}

// AkashIngressClass is the class of each Ingress that Akash's provider writes (provider: cluster/kube/client_ingress.go).
const AkashIngressClass = "akash-ingress-class"

// Gateway configures the Gateway that HTTPRoutes attach to, and its implementation.
type Gateway struct {
	Name           string `json:"name" rule:"name"`
	Namespace      string `json:"namespace" rule:"namespace"`
	Implementation string `json:"implementation" is:"implementation" oneof:"akash|nginx-gateway-fabric|standard"`
	// ProxyBufferSize is set on every route unless it is empty.
	ProxyBufferSize string    `json:"proxyBufferSize" rule:"buffer"`
	Listeners       Listeners `json:"listeners"`
}

// Listeners are the names of the Gateway's listeners by purpose, for routes that must not attach to all of them. The
// defaults are those of Akash's chart.
type Listeners struct {
	// HTTP accepts requests without TLS; HTTPS terminates TLS.
	HTTP  []string `json:"http" rule:"name" unique:"listener"`
	HTTPS []string `json:"https" rule:"name" unique:"listener"`
	// Passthrough forwards TLS to the backend; empty if the Gateway has no such listener.
	Passthrough []string `json:"passthrough" rule:"name" unique:"listener"`
}

// Hosts restricts the host names of leases.
type Hosts struct {
	// Blocked follows Akash's convention: "x.com" is only that name, ".x.com" the domain and all hosts below it. It
	// matches case-insensitively.
	Blocked []string `json:"blocked" rule:"blocked"`
	// DeniedDomains and AllowedDomains follow OpenShift's router: each is a domain with all hosts below it. Denying
	// takes precedence; without allowed domains all are allowed.
	DeniedDomains  []string `json:"deniedDomains" rule:"domain"`
	AllowedDomains []string `json:"allowedDomains" rule:"domain"`
	// Wildcards allows hosts such as *.example.com.
	Wildcards bool `json:"wildcards"`
	// NamespaceOwnership reserves a host, with all its paths and the names below a wildcard, for the owner of its
	// oldest route; otherwise each host and path belongs to its own oldest route. It concerns only routes without a
	// claim: a claim always excludes other owners.
	NamespaceOwnership bool `json:"namespaceOwnership"`
	// Generated is the template for the host name of a routed port without hosts, such as
	// "${service}-${dseq}.apps.example.com"; empty generates none.
	Generated string `json:"generated" rule:"template"`
}

// Workloads configures how the workloads of leases are deployed and reached.
type Workloads struct {
	// Enabled makes apply deploy workloads, not only their routes.
	Enabled bool `json:"enabled"`
	// NetworkPolicies isolates leases from each other and from private networks.
	NetworkPolicies bool `json:"networkPolicies"`
	// StrictNetworkPolicies extends these policies to IPv6, and blocks link-local and shared address space.
	StrictNetworkPolicies bool `json:"strictNetworkPolicies"`
	// PublicHostname is the public name at which tenants reach the ports of the nodes; may be empty.
	PublicHostname string `json:"publicHostname" rule:"publicName"`
	// ImagePullSecret is the Secret with registry credentials for services without credentials of their own; may be
	// empty. It is not copied into the namespaces of leases.
	ImagePullSecret string `json:"imagePullSecret" rule:"name"`
	// APIServers are the addresses of the cluster's API servers, for services with permissions to read.
	APIServers []netip.AddrPort `json:"apiServers" rule:"apiServer"`
	// NodePorts is the range of the API servers' --service-node-port-range.
	NodePorts PortRange `json:"nodePorts"`
}

// PortRange is a range of ports, including both ends.
type PortRange struct{ First, Last uint16 }

// MarshalText returns the range in the format of kube-apiserver's --service-node-port-range.
func (r PortRange) MarshalText() ([]byte, error) {
	return fmt.Appendf(nil, "%d-%d", r.First, r.Last), nil
}

// UnmarshalText reads a range in that format.
func (r *PortRange) UnmarshalText(text []byte) error {
	first, last, _ := strings.Cut(string(text), "-")
	from, errFrom := strconv.ParseUint(first, 10, 16)
	to, errTo := strconv.ParseUint(last, 10, 16)
	if errFrom != nil || errTo != nil || from == 0 || from > to {
		return fmt.Errorf("%q is not a range of ports, such as 30000-32767", lease.Clip(string(text)))
	}
	*r = PortRange{uint16(from), uint16(to)}
	return nil
}

// Limits bound the size of inputs and of one lease. The defaults are far above what providers and tenants use.
type Limits struct {
	// DocumentSize limits a document of an input, InputSize the whole input of a command that holds it in memory.
	DocumentSize Size `json:"documentSize" read:"word"`
	InputSize    Size `json:"inputSize" read:"word"`
	// Services, Hosts and Ports limit a lease: its services, its paths of hosts, and its exposed ports.
	Services int `json:"services" is:"a number of services" min:"1" max:"2147483647"`
	Hosts    int `json:"hosts" is:"a number of hosts" min:"1" max:"2147483647"`
	Ports    int `json:"ports" is:"a number of ports" min:"1" max:"2147483647"`
}

// Size is a size in bytes, written like 16Mi.
type Size int64

// minSize is the smallest size that a limit may have. A smaller one would reject ordinary documents.
const minSize = 64 << 10

// MarshalText returns the size with the largest suffix that it has.
func (s Size) MarshalText() ([]byte, error) {
	return []byte(resource.NewQuantity(int64(s), resource.BinarySI).String()), nil
}

// UnmarshalText reads a size.
func (s *Size) UnmarshalText(text []byte) error {
	q, err := resource.ParseQuantity(string(text))
	if err != nil || q.Value() < minSize || q.CmpInt64(math.MaxInt64) >= 0 {
		return fmt.Errorf("%q is not a size such as 16Mi (64Ki or more)", text)
	}
	*s = Size(q.Value())
	return nil
}

// CommitLevels are the overcommit factors: how much of a resource may be leased for each unit that the provider has.
// 1.0 is no overcommit; 2.0 leases twice what exists.
type CommitLevels struct {
	CPU     float64 `json:"cpu" rule:"level"`
	GPU     float64 `json:"gpu" rule:"level"`
	Memory  float64 `json:"memory" rule:"level"`
	Storage float64 `json:"storage" rule:"level"`
}

// IP configures leased addresses.
type IP struct {
	Mode   string `json:"mode" is:"mode" oneof:"range|dedicated|pool"`
	Ranges Ranges `json:"ranges"`
	// Families are the families in which an IP endpoint without explicit addresses gets one address each.
	Families         []Family `json:"families" is:"family" oneof:"IPv4|IPv6" unique:"family"`
	Pool             string   `json:"pool" rule:"name"`
	MetalLBNamespace string   `json:"metallbNamespace" rule:"namespace"`
	// AnnotationPrefix is the prefix of MetalLB's annotations, without the slash.
	AnnotationPrefix string `json:"annotationPrefix" is:"annotation prefix" oneof:"metallb.universe.tf|metallb.io"`
	// Advertisement says how MetalLB announces the pools that this program creates.
	Advertisement Advertisement `json:"advertisement"`
}

// MetalLBPrefix returns the prefix of the annotations that a MetalLB wants, by the resources of metallb.io/v1beta1 that it serves. All
// versions read the old prefix; since v0.14.9 MetalLB reads the new one too, and writes an Event about each Service with the old one
// (release notes, #2495). Resources do not tell v0.14.9 from those before; ServiceBGPStatus came with v0.15.0 (#2650).
func MetalLBPrefix(served []string) string {
	if slices.Contains(served, "servicebgpstatuses") {
		return prefixes[1]
	}
	return prefixes[0]
}

// Family is an IP family in Kubernetes' spelling.
type Family string

// The two families.
const (
	IPv4 Family = "IPv4"
	IPv6 Family = "IPv6"
)

// FamilyOf returns the family of an address.
func FamilyOf(a netip.Addr) Family {
	if a.Is4() {
		return IPv4
	}
	return IPv6
}

// Default returns the default configuration.
func Default() *ProviderConfig {
	return &ProviderConfig{
		Target:            TargetIngress,
		ManifestNamespace: "lease",
		LedgerNamespace:   "akash-net",
		Ingress:           Ingress{ClassName: AkashIngressClass},
		Gateway: Gateway{Name: "akash-gateway", Namespace: "akash-gateway", Implementation: GatewayAkash, ProxyBufferSize: "16k",
			Listeners: Listeners{HTTP: []string{"http"}, HTTPS: []string{"https-wildcard", "https-custom"}}},
		Hosts:        Hosts{NamespaceOwnership: true},
		CommitLevels: CommitLevels{CPU: 1, GPU: 1, Memory: 1, Storage: 1},
		Workloads:    Workloads{NetworkPolicies: true, NodePorts: PortRange{30000, 32767}},
		Limits:       Limits{DocumentSize: document.DefaultSize, InputSize: 256 << 20, Services: 1000, Hosts: 5000, Ports: 5000},
		IP: IP{
			Mode: ModeRange, Families: []Family{IPv4}, Pool: "default",
			MetalLBNamespace: "metallb-system", AnnotationPrefix: prefixes[0],
			Advertisement: Advertisement{Type: AdvertiseL2, AggregationLength: 32, AggregationLengthV6: 128},
		},
		DNS: DNS{Form: DNSNone, Sources: []string{FromStatus}, AnnotationPrefix: "external-dns.alpha.kubernetes.io"},
	}
}

// Document is a ProviderConfig document. What is written has every key that is read, with its value.
type Document struct {
	APIVersion string            `json:"apiVersion" read:"required" rule:"apiVersion"`
	Kind       string            `json:"kind" read:"required" rule:"kind"`
	Metadata   document.Metadata `json:"metadata,omitzero"`
	Spec       *ProviderConfig   `json:"spec"`
}

// Encode returns the document of a configuration. Read returns an equal configuration for it.
func Encode(cfg *ProviderConfig) *Document {
	return &Document{APIVersion: "net.akash.network/v1alpha1", Kind: "ProviderConfig", Spec: cfg}
}

// MarshalJSON returns the document as JSON.
func (d *Document) MarshalJSON() ([]byte, error) { return document.Encode(d) }
