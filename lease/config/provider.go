package config

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/akash-net/kubectl-akash-net/lease/dns"
	"github.com/akash-net/kubectl-akash-net/lease/document"
)

// providerKeys are the keys of Akash's provider.yaml that readProvider reads.
var providerKeys = []string{
	"deployment-blocked-hostnames", "blocked-hostnames", "deployment-ingress-domain", "deployment-ingress-static-hosts",
	"cluster-public-hostname", "deployment-network-policies-enabled", "docker-image-pull-secrets-name", "overcommit-pct-cpu",
	"overcommit-pct-mem", "overcommit-pct-storage", "cpu-commit-level", "memory-commit-level", "storage-commit-level",
	"ingress-mode", "gateway-name", "gateway-namespace", "proxy-buffer-size", "k8s-manifest-ns", "metal-lb-pool",
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
	for _, key := range []string{"deployment-blocked-hostnames", "blocked-hostnames"} {
		cfg.Hosts.Blocked = append(cfg.Hosts.Blocked, words(m.Get(key))...)
	}
	word(m.Get("deployment-ingress-domain"), &cfg.Ingress.Domain, hostDomain)
	boolean(m.Get("deployment-ingress-static-hosts"), &cfg.Ingress.StaticHosts)
	needDomain(m.Get("deployment-ingress-static-hosts"), cfg.Ingress, "deployment-ingress-domain")
	word(m.Get("cluster-public-hostname"), &cfg.Workloads.PublicHostname, publicName)
	boolean(m.Get("deployment-network-policies-enabled"), &cfg.Workloads.NetworkPolicies)
	word(m.Get("docker-image-pull-secrets-name"), &cfg.Workloads.ImagePullSecret, subdomain)
	level(m.Get("cpu-commit-level"), &cfg.CommitLevels.CPU)
	level(m.Get("memory-commit-level"), &cfg.CommitLevels.Memory)
	level(m.Get("storage-commit-level"), &cfg.CommitLevels.Storage)
	switch v := m.Get("ingress-mode"); v.Word() {
	case "":
	case "ingress":
		cfg.Target = TargetIngress
	case "gateway-api":
		cfg.Target = TargetHTTPRoute
	default:
		v.Errorf("unknown ingress mode %q; ingress and gateway-api are known", v.Word())
	}
	word(m.Get("gateway-name"), &cfg.Gateway.Name, subdomain)
	word(m.Get("gateway-namespace"), &cfg.Gateway.Namespace, namespace)
	if v := m.Get("proxy-buffer-size"); !v.IsNull() {
		buffer(v, v.Word(), &cfg.Gateway)
	}
	word(m.Get("k8s-manifest-ns"), &cfg.ManifestNamespace, namespace)
	if pool := m.Get("metal-lb-pool"); pool.Word() != "" {
		word(pool, &cfg.IP.Pool, subdomain)
		cfg.IP.Mode = ModePool
	}
	operator := false
	for _, key := range []string{"ip-operator", "ipoperator"} {
		boolean(m.Get(key), &operator)
	}
	if operator {
		cfg.IP.Mode = ModePool
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
		if slices.Contains(specKeys, key) {
			at.Errorf("%[1]q is a key of the spec of a ProviderConfig: put it below \"spec:\", after \"apiVersion: net.akash.network/v1alpha1\" "+
				"and \"kind: ProviderConfig\"", key)
			return false
		}
		known = known || slices.Contains(providerKeys, key) || slices.Contains(chartKeys, key) || slices.Contains(chainKeys, key)
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

// word is text for values that may be unquoted numbers or booleans. An empty value leaves the default.
func word(c document.Cursor, into *string, rule func(string) error) {
	s := c.Word()
	if s == "" {
		return
	}
	if err := rule(s); err != nil {
		c.Report(err)
		return
	}
	*into = s
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
	Form string
	// Sources are the sources of a record's value. The first source that applies to a host is used, even while it has
	// no value yet.
	Sources []string
	// Targets are addresses or one host name.
	Targets []string
	// TTL is in seconds; 0 means the default of the record's provider.
	TTL int64
	// Ownership adds a TXT record that names the lease.
	Ownership bool
	// AnnotationPrefix is the prefix of external-dns' annotations, without the slash.
	AnnotationPrefix string
	Gardener         Gardener
}

// Gardener has the fields of a DNSRecord besides the record itself.
type Gardener struct {
	// Type is the type of the DNS provider's extension, such as aws-route53.
	Type, Class string
	ZoneAccess
	// Zones override the access per domain; the longest domain that contains the host is used.
	Zones []Zone
}

// ZoneAccess is how to write to a zone. Empty fields of a Zone fall back to Gardener's.
type ZoneAccess struct {
	// Secret is the Secret with the credentials, in any namespace.
	Secret SecretRef
	Region string
	// Zone is the DNS provider's identifier of the zone; without it the extension searches for the zone.
	Zone string
}

// SecretRef refers to a Secret.
type SecretRef struct{ Name, Namespace string }

// Zone is a domain with access of its own.
type Zone struct {
	Domain string
	ZoneAccess
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
	own := g.Zones[i].ZoneAccess
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
		domain := ""
		if word(c, &domain, hostDomain); domain != "" {
			cfg.Ingress.Domain, cfg.Ingress.StaticHosts, cfg.Workloads.PublicHostname = "ingress."+domain, true, "provider."+domain
		}
		if m.Get("gatewayApi").IsNull() && m.Get("ingress-mode").IsNull() {
			c.Warnf("the file does not say gatewayApi.enabled, whose default depends on the version of the chart; target is %s", cfg.Target)
		}
	}
	if c := m.Get("gatewayApi"); !c.IsNull() {
		gateway, enabled := c.AnyMapping(), false
		if boolean(gateway.Get("enabled"), &enabled); enabled {
			cfg.Target = TargetHTTPRoute
		}
		word(gateway.Get("gatewayName"), &cfg.Gateway.Name, subdomain)
		word(gateway.Get("gatewayNamespace"), &cfg.Gateway.Namespace, namespace)
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
