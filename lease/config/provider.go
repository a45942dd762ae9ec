package config

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/akash-net/kubectl-akash-net/lease/dns"
	"github.com/akash-net/kubectl-akash-net/lease/document"
)

// providerKeys are the keys of Akash's provider.yaml that say the same as one of a ProviderConfig's spec.
var providerKeys = map[string]string{
	"deployment-ingress-domain": "ingress.domain", "deployment-ingress-static-hosts": "ingress.staticHosts",
	"cluster-public-hostname": "workloads.publicHostname", "deployment-network-policies-enabled": "workloads.networkPolicies",
	"docker-image-pull-secrets-name": "workloads.imagePullSecret", "cpu-commit-level": "commitLevels.cpu",
	"memory-commit-level": "commitLevels.memory", "storage-commit-level": "commitLevels.storage", "gateway-name": "gateway.name",
	"gateway-namespace": "gateway.namespace", "proxy-buffer-size": "gateway.proxyBufferSize", "k8s-manifest-ns": "manifestNamespace",
	"metal-lb-pool": "ip.pool",
}

// otherKeys are those that say something else.
var otherKeys = []string{
	"deployment-blocked-hostnames", "blocked-hostnames", "overcommit-pct-cpu", "overcommit-pct-mem", "overcommit-pct-storage", "ingress-mode",
	"ip-operator", "ipoperator",
}

// readProvider reads hosts, addresses and routes from Akash's provider.yaml: the flags of its provider (provider:
// cmd/provider-services/cmd/flags.go), or the values of its chart. It ignores what says nothing of them. If the file enables the IP operator, addresses come
// from MetalLB's pool, as in Akash.
func readProvider(c document.Cursor, cfg *ProviderConfig) {
	m := c.AnyMapping()
	if !isProvider(c, m) {
		return
	}
	readChart(m, cfg)
	for key, v := range m.Entries() {
		if path, known := providerKeys[key.Key()]; known {
			set(v, cfg, path)
		}
	}
	for _, key := range []string{"deployment-blocked-hostnames", "blocked-hostnames"} {
		cfg.Hosts.Blocked = append(cfg.Hosts.Blocked, words(m.Get(key))...)
	}
	needDomain(m.Get("deployment-ingress-static-hosts"), cfg.Ingress, "deployment-ingress-domain")
	switch v := m.Get("ingress-mode"); v.Word() {
	case "":
	case "ingress":
		cfg.Target = TargetIngress
	case "gateway-api":
		cfg.Target = TargetHTTPRoute
	default:
		v.Errorf("unknown ingress mode %q; ingress and gateway-api are known", v.Word())
	}
	if v := m.Get("proxy-buffer-size"); !v.IsNull() && v.Word() == "" {
		cfg.Gateway.ProxyBufferSize = ""
	}
	operator := m.Get("metal-lb-pool").Word() != ""
	for _, key := range []string{"ip-operator", "ipoperator"} {
		operator = m.Get(key).Bool() || operator
	}
	if operator {
		cfg.IP.Mode = ModePool
	}
}

// set reads a value for a key of a ProviderConfig's spec. An empty value leaves the default.
func set(c document.Cursor, cfg *ProviderConfig, path string) {
	if !c.IsNull() && c.Word() != "" {
		document.DecodeAt(c, cfg, path, rules)
	}
}

// chainKeys are keys of Akash's provider.yaml that say nothing about host names and addresses; by these it is known.
var chainKeys = []string{
	"from", "chainid", "chain-id", "node", "host", "home", "key", "keysecret", "keyring-backend", "attributes",
	"email", "website", "withdrawalperiod", "cluster-k8s", "bid-price-strategy", "pricescript", "gateway-listen-address",
}

// isProvider reports whether a document is Akash's provider.yaml: it is empty or has one of its keys, and none of a ProviderConfig's spec. The
// settings of any other document would not be read, and nobody would be told.
func isProvider(c document.Cursor, m document.Mapping) bool {
	known, empty := false, true
	for at := range m.Entries() {
		empty = false
		key := at.Raw()
		if slices.Contains(document.Keys(ProviderConfig{}), key) {
			at.Errorf("%[1]q is a key of the spec of a ProviderConfig: put it below \"spec:\", after \"apiVersion: net.akash.network/v1alpha1\" "+
				"and \"kind: ProviderConfig\"", key)
			return false
		}
		known = known || providerKeys[key] != "" || slices.Contains(otherKeys, key) || slices.Contains(chartKeys, key) || slices.Contains(chainKeys, key)
	}
	if !known && !empty {
		c.Errorf("this is no provider's configuration: it has neither \"kind: ProviderConfig\", nor a key of Akash's provider.yaml")
	}
	return known || empty
}

// publicName validates a public name as Akash does: an address is valid too, although no host can be below it.
func publicName(s string) error {
	if _, err := netip.ParseAddr(s); err == nil {
		return nil
	}
	return hostDomain(s)
}

// words returns the items of a list, which may also be written as one text with commas.
func words(c document.Cursor) []string {
	var out []string
	if c.IsScalar() {
		for w := range strings.SplitSeq(c.Word(), ",") {
			if w = strings.TrimSpace(w); w != "" {
				out = append(out, w)
			}
		}
		return out
	}
	for item := range c.List() {
		if w := item.Word(); w != "" {
			out = append(out, w)
		}
	}
	return out
}

// The forms of DNS records.
const (
	// DNSNone creates no records.
	DNSNone = "none"
	// DNSGardener creates DNSRecords for Gardener's extensions.
	DNSGardener = "gardener"
	// DNSEndpoint creates DNSEndpoints for external-dns.
	DNSEndpoint = "endpoint"
	// DNSAnnotations annotates routes and Services for external-dns.
	DNSAnnotations = "annotations"
)

// The sources of a record's value.
const (
	// FromAddress is the leased address of the host's service.
	FromAddress = "address"
	// FromStatus is the address in the status of the ingress controller or the Gateway.
	FromStatus = "status"
	// FromTarget is the configured target.
	FromTarget = "target"
	// FromDomain is the provider's ingress domain, as a CNAME.
	FromDomain = "domain"
)

// DNS configures the DNS records of hosts.
type DNS struct {
	Form string `json:"form" is:"form of DNS records" oneof:"none|gardener|endpoint|annotations"`
	// Sources are the sources of a record's value. The first source that applies to a host is used, even while it has
	// no value yet.
	Sources []string `json:"sources" is:"source" oneof:"address|status|target|domain" unique:"source"`
	// Targets are addresses or one host name.
	Targets []string `json:"targets"`
	// TTL is in seconds; 0 means the default of the record's provider.
	TTL int64 `json:"ttl" is:"a TTL in seconds" max:"2147483647"`
	// Ownership adds a TXT record that names the lease.
	Ownership bool `json:"ownership"`
	// AnnotationPrefix is the prefix of external-dns' annotations, without the slash.
	AnnotationPrefix string   `json:"annotationPrefix" is:"annotation prefix" oneof:"external-dns.alpha.kubernetes.io|external-dns.kubernetes.io"`
	Gardener         Gardener `json:"gardener"`
}

// Gardener has the fields of a DNSRecord besides the record itself.
type Gardener struct {
	// Type is the type of the DNS provider's extension, such as aws-route53.
	Type  string `json:"type" rule:"name"`
	Class string `json:"class" rule:"name"`
	ZoneAccess
	// Zones override the access per domain; the longest domain that contains the host is used.
	Zones []Zone `json:"zones"`
}

// ZoneAccess is how to write to a zone. Empty fields of a Zone fall back to Gardener's.
type ZoneAccess struct {
	// Secret is the Secret with the credentials, in any namespace.
	Secret SecretRef `json:"secretRef,omitzero"`
	Region string    `json:"region" rule:"identifier"`
	// Zone is the DNS provider's identifier of the zone; without it the extension searches for the zone.
	Zone string `json:"zone" rule:"identifier"`
}

// SecretRef refers to a Secret.
type SecretRef struct {
	Name      string `json:"name" read:"required" rule:"name"`
	Namespace string `json:"namespace" read:"required" rule:"namespace"`
}

// Zone is a domain with access of its own.
type Zone struct {
	Domain string    `json:"domain" is:"domain" read:"required,filled" rule:"hostDomain" unique:"domain"`
	Zone   string    `json:"zone" is:"identifier" read:"required,filled" rule:"identifier"`
	Region string    `json:"region,omitempty" rule:"identifier"`
	Secret SecretRef `json:"secretRef,omitzero"`
}

// Records reports whether the records are objects of their own.
func (d DNS) Records() bool { return d.Form == DNSGardener || d.Form == DNSEndpoint }

// Source returns the source of a host's value, or "" if the host is not served. routed is true if the host has a route,
// leased if its service leases an address. A host without a route always uses the address, because nothing else serves
// it.
func (d DNS) Source(routed, leased bool) string {
	switch {
	case !routed && leased:
		return FromAddress
	case !routed:
		return ""
	}
	for _, s := range d.Sources {
		if s != FromAddress || leased {
			return s
		}
	}
	return ""
}

// Access returns how to write to the zone of a name.
func (g Gardener) Access(name string) ZoneAccess {
	domains := make([]string, len(g.Zones))
	for i, z := range g.Zones {
		domains[i] = z.Domain
	}
	access := g.ZoneAccess
	i := dns.Zone(name, domains)
	if i < 0 {
		return access
	}
	own := g.Zones[i]
	access.Zone = own.Zone
	if own.Region != "" {
		access.Region = own.Region
	}
	if own.Secret != (SecretRef{}) {
		access.Secret = own.Secret
	}
	return access
}

// chartKeys are the values of Akash's chart for the provider (helm-charts: charts/akash-provider) that readChart reads.
var chartKeys = []string{"domain", "gatewayApi", "overcommit_pct_cpu", "overcommit_pct_mem", "overcommit_pct_storage"}

// readChart reads the values of Akash's chart, and what it makes of them for the provider. The provider's own flags in the same file come
// later, and win.
func readChart(m document.Mapping, cfg *ProviderConfig) {
	if c := m.Get("domain"); c.Word() != "" {
		if domain := c.Word(); hostDomain(domain) != nil {
			c.Report(hostDomain(domain))
		} else {
			cfg.Ingress.Domain, cfg.Ingress.StaticHosts, cfg.Workloads.PublicHostname = "ingress."+domain, true, "provider."+domain
		}
		if m.Get("gatewayApi").IsNull() && m.Get("ingress-mode").IsNull() {
			c.Warnf("the file does not say gatewayApi.enabled, whose default depends on the version of the chart; target is %s", cfg.Target)
		}
	}
	if c := m.Get("gatewayApi"); !c.IsNull() {
		gateway := c.AnyMapping()
		if gateway.Get("enabled").Bool() {
			cfg.Target = TargetHTTPRoute
		}
		set(gateway.Get("gatewayName"), cfg, "gateway.name")
		set(gateway.Get("gatewayNamespace"), cfg, "gateway.namespace")
		otherThan(gateway.Get("implementation"), "gateway.implementation", "nginx")
	}
	percent := func(keys []string, into *float64) {
		for _, key := range keys {
			if c := m.Get(key); !c.IsNull() {
				switch more, ok := c.Float(); {
				case !ok:
				case more < 0:
					c.Errorf("must be 0 or greater (0 means no overcommit)")
				default:
					*into = 1 + more/100
				}
			}
		}
	}
	percent([]string{"overcommit_pct_cpu", "overcommit-pct-cpu"}, &cfg.CommitLevels.CPU)
	percent([]string{"overcommit_pct_mem", "overcommit-pct-mem"}, &cfg.CommitLevels.Memory)
	percent([]string{"overcommit_pct_storage", "overcommit-pct-storage"}, &cfg.CommitLevels.Storage)
	otherThan(m.Get("gateway-provider"), "gateway.implementation", "nginx")
	otherThan(m.Get("deployment-runtime-class"), "", "none")
	otherThan(m.Get("deployment-ingress-expose-lb-hosts"), "", "false")
	for _, key := range []string{"cluster_node_port_quantity", "cluster-node-port-quantity"} {
		otherThan(m.Get(key), "workloads.nodePorts", "")
	}
}

// otherThan warns of a setting that decides something and is not read, unless it has the value that changes nothing. instead is the key of
// a ProviderConfig that is for it.
func otherThan(c document.Cursor, instead, value string) {
	if c.IsNull() || c.Word() == value {
		return
	}
	if instead == "" {
		c.Warnf("is not read: this program has no such setting")
		return
	}
	c.Warnf("is not read: a ProviderConfig says it in %s", instead)
}
