package config

import (
	"fmt"
	"net/netip"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

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
