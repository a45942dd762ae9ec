// Package config has the provider's configuration: the kind of routes, the allowed hosts, and the ranges of addresses.
package config

import (
	"fmt"
	"net/netip"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

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
	Target string
	// Provider is the provider's own address; it completes the name of an order to that of a lease. Empty if it is not configured.
	Provider          string
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
	// Shards are the routers that share the cluster's routes; if there are none, one router serves all.
	Shards []Shard
	// Missing says that a cluster has no configuration, so that the defaults apply, and what to do about it. It is empty if the
	// cluster has one, or a file was read.
	Missing string
}

// Shard is a router that serves a subset of the routes. A host must be unique within a shard, but not across shards.
type Shard struct {
	Name string
	// Routes and Namespaces select by the labels of a route and of its namespace. A route belongs to the shard if both
	// match.
	Routes, Namespaces labels.Selector
}

// Selects reports whether a route with these labels belongs to the shard.
func (s Shard) Selects(route, namespace labels.Set) bool {
	return s.Routes.Matches(route) && s.Namespaces.Matches(namespace)
}

// Ingress configures Ingress objects and the provider's own host names.
type Ingress struct {
	ClassName string
	// Domain is the provider's ingress domain, the parent of static hosts.
	Domain      string
	StaticHosts bool
}

// AkashIngressClass is the class of each Ingress that Akash's provider writes (provider: cluster/kube/client_ingress.go).
const AkashIngressClass = "akash-ingress-class"

// Gateway configures the Gateway that HTTPRoutes attach to, and its implementation.
type Gateway struct {
	Name, Namespace string
	Implementation  string
	// ProxyBufferSize is set on every route unless it is empty.
	ProxyBufferSize string
	Listeners       Listeners
}

// Listeners are the names of the Gateway's listeners by purpose, for routes that must not attach to all of them. The
// defaults are those of Akash's chart.
type Listeners struct {
	// HTTP accepts requests without TLS; HTTPS terminates TLS.
	HTTP, HTTPS []string
	// Passthrough forwards TLS to the backend; empty if the Gateway has no such listener.
	Passthrough []string
}

// Hosts restricts the host names of leases.
type Hosts struct {
	// Blocked follows Akash's convention: "x.com" is only that name, ".x.com" the domain and all hosts below it. It
	// matches case-insensitively.
	Blocked []string
	// DeniedDomains and AllowedDomains follow OpenShift's router: each is a domain with all hosts below it. Denying
	// takes precedence; without allowed domains all are allowed.
	DeniedDomains, AllowedDomains []string
	// Wildcards allows hosts such as *.example.com.
	Wildcards bool
	// NamespaceOwnership reserves a host, with all its paths and the names below a wildcard, for the owner of its
	// oldest route; otherwise each host and path belongs to its own oldest route. It concerns only routes without a
	// claim: a claim always excludes other owners.
	NamespaceOwnership bool
	// Generated is the template for the host name of a routed port without hosts, such as
	// "${service}-${dseq}.apps.example.com"; empty generates none.
	Generated string
}

// Workloads configures how the workloads of leases are deployed and reached.
type Workloads struct {
	// Enabled makes apply deploy workloads, not only their routes.
	Enabled bool
	// NetworkPolicies isolates leases from each other and from private networks.
	NetworkPolicies bool
	// StrictNetworkPolicies extends these policies to IPv6, and blocks link-local and shared address space.
	StrictNetworkPolicies bool
	// PublicHostname is the public name at which tenants reach the ports of the nodes; may be empty.
	PublicHostname string
	// ImagePullSecret is the Secret with registry credentials for services without credentials of their own; may be
	// empty. It is not copied into the namespaces of leases.
	ImagePullSecret string
	// APIServers are the addresses of the cluster's API servers, for services with permissions to read.
	APIServers []netip.AddrPort
	// NodePorts is the range of the API servers' --service-node-port-range.
	NodePorts PortRange
}

// PortRange is a range of ports, including both ends.
type PortRange struct{ First, Last uint16 }

// Limits bound the size of inputs and of one lease. The defaults are far above what providers and tenants use.
type Limits struct {
	// DocumentSize limits a document of an input, InputSize the whole input of a command that holds it in memory. Both
	// are in bytes.
	DocumentSize, InputSize int64
	// Services, Hosts and Ports limit a lease: its services, its paths of hosts, and its exposed ports.
	Services, Hosts, Ports int
}

// CommitLevels are the overcommit factors: how much of a resource may be leased for each unit that the provider has.
// 1.0 is no overcommit; 2.0 leases twice what exists.
type CommitLevels struct {
	CPU, GPU, Memory, Storage float64
}

// IP configures leased addresses.
type IP struct {
	Mode   string
	Ranges Ranges
	// Families are the families in which an IP endpoint without explicit addresses gets one address each.
	Families         []Family
	Pool             string
	MetalLBNamespace string
	// AnnotationPrefix is the prefix of MetalLB's annotations, without the slash.
	AnnotationPrefix string
	// Advertisement says how MetalLB announces the pools that this program creates.
	Advertisement Advertisement
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

// Document is a ProviderConfig document for writing. It has every key that the reader reads, with its value.
type Document struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Spec       Spec   `json:"spec"`
}

// Spec is a ProviderConfig.
type Spec struct {
	Target            string           `json:"target"`
	Provider          string           `json:"provider"`
	ManifestNamespace string           `json:"manifestNamespace"`
	LedgerNamespace   string           `json:"ledgerNamespace"`
	Ingress           IngressSpec      `json:"ingress"`
	Gateway           GatewaySpec      `json:"gateway"`
	Hosts             HostsSpec        `json:"hosts"`
	IP                IPSpec           `json:"ip"`
	DNS               DNSSpec          `json:"dns"`
	CommitLevels      CommitLevelsSpec `json:"commitLevels"`
	Workloads         WorkloadsSpec    `json:"workloads"`
	Limits            LimitsSpec       `json:"limits"`
	Shards            []ShardSpec      `json:"shards"`
}

// IngressSpec is an Ingress.
type IngressSpec struct {
	ClassName   string `json:"className"`
	Domain      string `json:"domain"`
	StaticHosts bool   `json:"staticHosts"`
}

// GatewaySpec is a Gateway.
type GatewaySpec struct {
	Name            string        `json:"name"`
	Namespace       string        `json:"namespace"`
	Implementation  string        `json:"implementation"`
	ProxyBufferSize string        `json:"proxyBufferSize"`
	Listeners       ListenersSpec `json:"listeners"`
}

// ListenersSpec are Listeners.
type ListenersSpec struct {
	HTTP        []string `json:"http"`
	HTTPS       []string `json:"https"`
	Passthrough []string `json:"passthrough"`
}

// HostsSpec are Hosts.
type HostsSpec struct {
	Blocked            []string `json:"blocked"`
	DeniedDomains      []string `json:"deniedDomains"`
	AllowedDomains     []string `json:"allowedDomains"`
	Wildcards          bool     `json:"wildcards"`
	NamespaceOwnership bool     `json:"namespaceOwnership"`
	Generated          string   `json:"generated"`
}

// IPSpec is an IP.
type IPSpec struct {
	Mode             string   `json:"mode"`
	Ranges           []string `json:"ranges"`
	Families         []string `json:"families"`
	Pool             string   `json:"pool"`
	MetalLBNamespace string   `json:"metallbNamespace"`
	AnnotationPrefix string   `json:"annotationPrefix"`

	Advertisement AdvertisementSpec `json:"advertisement"`
}

// AdvertisementSpec is an Advertisement.
type AdvertisementSpec struct {
	Type                string                 `json:"type"`
	NodeSelectors       []metav1.LabelSelector `json:"nodeSelectors"`
	Interfaces          []string               `json:"interfaces"`
	Peers               []string               `json:"peers"`
	Communities         []string               `json:"communities"`
	LocalPref           uint32                 `json:"localPref"`
	AggregationLength   int                    `json:"aggregationLength"`
	AggregationLengthV6 int                    `json:"aggregationLengthV6"`
}

// DNSSpec is a DNS.
type DNSSpec struct {
	Form             string       `json:"form"`
	Sources          []string     `json:"sources"`
	Targets          []string     `json:"targets"`
	TTL              int64        `json:"ttl"`
	Ownership        bool         `json:"ownership"`
	AnnotationPrefix string       `json:"annotationPrefix"`
	Gardener         GardenerSpec `json:"gardener"`
}

// GardenerSpec is a Gardener.
type GardenerSpec struct {
	Type      string      `json:"type"`
	Class     string      `json:"class"`
	SecretRef *SecretSpec `json:"secretRef,omitempty"`
	Region    string      `json:"region"`
	Zone      string      `json:"zone"`
	Zones     []ZoneSpec  `json:"zones"`
}

// ZoneSpec is a Zone.
type ZoneSpec struct {
	Domain    string      `json:"domain"`
	Zone      string      `json:"zone"`
	Region    string      `json:"region,omitempty"`
	SecretRef *SecretSpec `json:"secretRef,omitempty"`
}

// SecretSpec is a SecretRef.
type SecretSpec struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
}

// CommitLevelsSpec are CommitLevels.
type CommitLevelsSpec struct {
	CPU     float64 `json:"cpu"`
	GPU     float64 `json:"gpu"`
	Memory  float64 `json:"memory"`
	Storage float64 `json:"storage"`
}

// WorkloadsSpec are Workloads.
type WorkloadsSpec struct {
	Enabled               bool     `json:"enabled"`
	NetworkPolicies       bool     `json:"networkPolicies"`
	StrictNetworkPolicies bool     `json:"strictNetworkPolicies"`
	PublicHostname        string   `json:"publicHostname"`
	ImagePullSecret       string   `json:"imagePullSecret"`
	APIServers            []string `json:"apiServers"`
	NodePorts             string   `json:"nodePorts"`
}

// LimitsSpec are Limits.
type LimitsSpec struct {
	DocumentSize string `json:"documentSize"`
	InputSize    string `json:"inputSize"`
	Services     int    `json:"services"`
	Hosts        int    `json:"hosts"`
	Ports        int    `json:"ports"`
}

// ShardSpec is a Shard.
type ShardSpec struct {
	Name              string `json:"name"`
	Selector          string `json:"selector"`
	NamespaceSelector string `json:"namespaceSelector"`
}

// Encode returns the document of a configuration. Read returns an equal configuration for it.
func Encode(cfg *ProviderConfig) *Document {
	w, l := cfg.Workloads, cfg.Limits
	return &Document{APIVersion: "net.akash.network/v1alpha1", Kind: "ProviderConfig", Spec: Spec{
		Target: cfg.Target, Provider: cfg.Provider, ManifestNamespace: cfg.ManifestNamespace, LedgerNamespace: cfg.LedgerNamespace,
		Ingress: IngressSpec(cfg.Ingress),
		Gateway: GatewaySpec{
			Name: cfg.Gateway.Name, Namespace: cfg.Gateway.Namespace, Implementation: cfg.Gateway.Implementation, ProxyBufferSize: cfg.Gateway.ProxyBufferSize,
			Listeners: ListenersSpec{HTTP: list(cfg.Gateway.Listeners.HTTP), HTTPS: list(cfg.Gateway.Listeners.HTTPS), Passthrough: list(cfg.Gateway.Listeners.Passthrough)},
		},
		Hosts: HostsSpec{
			Blocked: list(cfg.Hosts.Blocked), DeniedDomains: list(cfg.Hosts.DeniedDomains), AllowedDomains: list(cfg.Hosts.AllowedDomains),
			Wildcards: cfg.Hosts.Wildcards, NamespaceOwnership: cfg.Hosts.NamespaceOwnership, Generated: cfg.Hosts.Generated,
		},
		IP: IPSpec{
			Mode: cfg.IP.Mode, Ranges: encodeRanges(cfg.IP.Ranges), Families: mapped(cfg.IP.Families, func(f Family) string { return string(f) }),
			Pool: cfg.IP.Pool, MetalLBNamespace: cfg.IP.MetalLBNamespace, AnnotationPrefix: cfg.IP.AnnotationPrefix,
			Advertisement: encodeAdvertisement(cfg.IP.Advertisement),
		},
		DNS:          encodeDNS(cfg.DNS),
		CommitLevels: CommitLevelsSpec(cfg.CommitLevels),
		Workloads: WorkloadsSpec{
			Enabled: w.Enabled, NetworkPolicies: w.NetworkPolicies, StrictNetworkPolicies: w.StrictNetworkPolicies, PublicHostname: w.PublicHostname,
			ImagePullSecret: w.ImagePullSecret, APIServers: mapped(w.APIServers, netip.AddrPort.String),
			NodePorts: fmt.Sprintf("%d-%d", w.NodePorts.First, w.NodePorts.Last),
		},
		Limits: LimitsSpec{
			DocumentSize: quantity(l.DocumentSize), InputSize: quantity(l.InputSize), Services: l.Services, Hosts: l.Hosts, Ports: l.Ports,
		},
		Shards: mapped(cfg.Shards, func(s Shard) ShardSpec {
			return ShardSpec{Name: s.Name, Selector: s.Routes.String(), NamespaceSelector: s.Namespaces.String()}
		}),
	}}
}

func encodeRanges(rs Ranges) []string {
	out := mapped(rs.Include, func(r Range) string { return r.Text })
	return append(out, mapped(rs.Exclude, func(r Range) string { return "!" + r.Text })...)
}

func encodeAdvertisement(a Advertisement) AdvertisementSpec {
	return AdvertisementSpec{
		Type: a.Type, NodeSelectors: mapped(a.NodeSelectors, func(s metav1.LabelSelector) metav1.LabelSelector { return s }),
		Interfaces: list(a.Interfaces), Peers: list(a.Peers), Communities: list(a.Communities), LocalPref: a.LocalPref,
		AggregationLength: a.AggregationLength, AggregationLengthV6: a.AggregationLengthV6,
	}
}

func encodeDNS(d DNS) DNSSpec {
	return DNSSpec{
		Form: d.Form, Sources: list(d.Sources), Targets: list(d.Targets), TTL: d.TTL, Ownership: d.Ownership, AnnotationPrefix: d.AnnotationPrefix,
		Gardener: GardenerSpec{
			Type: d.Gardener.Type, Class: d.Gardener.Class, SecretRef: encodeSecret(d.Gardener.Secret), Region: d.Gardener.Region, Zone: d.Gardener.Zone,
			Zones: mapped(d.Gardener.Zones, func(z Zone) ZoneSpec {
				return ZoneSpec{Domain: z.Domain, Zone: z.Zone, Region: z.Region, SecretRef: encodeSecret(z.Secret)}
			}),
		},
	}
}

func encodeSecret(s SecretRef) *SecretSpec {
	if s == (SecretRef{}) {
		return nil
	}
	return &SecretSpec{Name: s.Name, Namespace: s.Namespace}
}

func quantity(bytes int64) string { return resource.NewQuantity(bytes, resource.BinarySI).String() }

func list(texts []string) []string { return mapped(texts, func(s string) string { return s }) }

// mapped returns the results of a function for each item; a list without items is not nil.
func mapped[T, U any](items []T, of func(T) U) []U {
	out := make([]U, len(items))
	for i, item := range items {
		out[i] = of(item)
	}
	return out
}
