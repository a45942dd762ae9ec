package config

import (
	"fmt"
	"io"
	"iter"
	"math"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/dns"
	"github.com/akash-net/kubectl-akash-net/lease/document"
	"github.com/akash-net/kubectl-akash-net/lease/hosttemplate"
)

// The keys of a ProviderConfig. The JSON schema has the same keys.
var (
	rootKeys     = []string{"apiVersion", "kind", "metadata", "spec"}
	metadataKeys = []string{"name", "annotations", "labels"}
	specKeys     = []string{"target", "provider", "manifestNamespace", "ledgerNamespace", "ingress", "gateway", "hosts", "ip",
		"dns", "commitLevels", "workloads", "limits", "shards"}
	ingressKeys  = []string{"className", "domain", "staticHosts"}
	gatewayKeys  = []string{"name", "namespace", "implementation", "proxyBufferSize", "listeners"}
	listenerKeys = []string{"http", "https", "passthrough"}
	hostsKeys    = []string{"blocked", "deniedDomains", "allowedDomains", "wildcards", "namespaceOwnership", "generated"}
	ipKeys       = []string{"mode", "ranges", "families", "pool", "metallbNamespace", "annotationPrefix", "advertisement"}
	dnsKeys      = []string{"form", "sources", "targets", "ttl", "ownership", "annotationPrefix", "gardener"}
	gardenerKeys = []string{"type", "class", "secretRef", "region", "zone", "zones"}
	zoneKeys     = []string{"domain", "zone", "region", "secretRef"}
	secretKeys   = []string{"name", "namespace"}
	commitKeys   = []string{"cpu", "gpu", "memory", "storage"}
	workloadKeys = []string{"enabled", "networkPolicies", "strictNetworkPolicies", "publicHostname", "imagePullSecret",
		"apiServers", "nodePorts"}
	advertisementKeys = []string{"type", "nodeSelectors", "interfaces", "peers", "communities", "localPref", "aggregationLength",
		"aggregationLengthV6"}
	selectorKeys   = []string{"matchLabels", "matchExpressions"}
	expressionKeys = []string{"key", "operator", "values"}
	limitKeys      = []string{"documentSize", "inputSize", "services", "hosts", "ports"}
	shardKeys      = []string{"name", "selector", "namespaceSelector"}
)

// Read reads the provider's configuration: one ProviderConfig document, or Akash's provider.yaml, which has neither
// apiVersion nor kind. It returns nil as the configuration if the problems contain errors, and the default
// configuration for an empty stream. The error is that of the reader.
func Read(r io.Reader, file string) (*ProviderConfig, lease.Problems, error) {
	cfg := Default()
	var problems lease.Problems
	count := 0
	for doc, err := range document.Read(r, file) {
		if err != nil {
			return nil, problems, fmt.Errorf("%s: %w", file, err)
		}
		count++
		root := doc.Root()
		switch {
		case doc.Problems.Failed():
		case count > 1:
			root.Errorf("a second document; the configuration is one")
		case root.IsMapping() && !root.Has("apiVersion") && !root.Has("kind") && !root.Has("spec"):
			readProvider(root, cfg)
		default:
			readConfig(root, cfg)
		}
		problems = append(problems, doc.Problems.Sorted()...)
	}
	if problems.Failed() {
		return nil, problems, nil
	}
	return cfg, problems, nil
}

func readConfig(c document.Cursor, cfg *ProviderConfig) {
	c.Document().Strict = true
	root := c.Mapping(rootKeys)
	if v := root.Require("apiVersion"); !v.IsNull() && v.Text() != "net.akash.network/v1alpha1" {
		v.Errorf("unsupported apiVersion %q; use net.akash.network/v1alpha1", v.Raw())
	}
	if v := root.Require("kind"); !v.IsNull() && v.Text() != "ProviderConfig" {
		v.Errorf("unsupported kind %q; use ProviderConfig", v.Raw())
	}
	metadata := root.Get("metadata").Mapping(metadataKeys)
	metadata.Get("name").Text()
	for _, key := range []string{"annotations", "labels"} {
		for _, v := range metadata.Get(key).AnyMapping().Entries() {
			v.Text()
		}
	}
	spec := root.Get("spec").Mapping(specKeys)
	oneOf(spec.Get("target"), &cfg.Target, "target", Targets...)
	text(spec.Get("provider"), &cfg.Provider, lease.CheckWallet)
	text(spec.Get("manifestNamespace"), &cfg.ManifestNamespace, namespace)
	text(spec.Get("ledgerNamespace"), &cfg.LedgerNamespace, namespace)
	readIngress(spec.Get("ingress"), cfg)
	readGateway(spec.Get("gateway"), &cfg.Gateway)
	readHosts(spec.Get("hosts"), &cfg.Hosts)
	readIP(spec.Get("ip"), &cfg.IP)
	readDNS(spec.Get("dns"), cfg)
	commit := spec.Get("commitLevels").Mapping(commitKeys)
	level(commit.Get("cpu"), &cfg.CommitLevels.CPU)
	level(commit.Get("gpu"), &cfg.CommitLevels.GPU)
	level(commit.Get("memory"), &cfg.CommitLevels.Memory)
	level(commit.Get("storage"), &cfg.CommitLevels.Storage)
	readWorkloads(spec.Get("workloads"), &cfg.Workloads)
	readLimits(spec.Get("limits"), &cfg.Limits)
	cfg.Shards = shards(spec.Get("shards"))
}

func readIngress(c document.Cursor, cfg *ProviderConfig) {
	m := c.Mapping(ingressKeys)
	text(m.Get("className"), &cfg.Ingress.ClassName, subdomain)
	text(m.Get("domain"), &cfg.Ingress.Domain, hostDomain)
	boolean(m.Get("staticHosts"), &cfg.Ingress.StaticHosts)
	needDomain(m.Get("staticHosts"), cfg.Ingress, "ingress.domain")
}

// needDomain applies Akash's rule that static hosts require an ingress domain.
func needDomain(c document.Cursor, ingress Ingress, key string) {
	if ingress.StaticHosts && ingress.Domain == "" {
		c.Errorf("static hosts need %s, a domain below which they are made", key)
	}
}

func readHosts(c document.Cursor, h *Hosts) {
	m := c.Mapping(hostsKeys)
	h.Blocked = blocked(m.Get("blocked"))
	h.DeniedDomains = domains(m.Get("deniedDomains"))
	h.AllowedDomains = domains(m.Get("allowedDomains"))
	boolean(m.Get("wildcards"), &h.Wildcards)
	boolean(m.Get("namespaceOwnership"), &h.NamespaceOwnership)
	text(m.Get("generated"), &h.Generated, hosttemplate.Check)
}

func blocked(c document.Cursor) []string {
	var entries []string
	for item, entry := range texts(c) {
		if err := domain(strings.ToLower(strings.TrimPrefix(entry, "."))); err != nil {
			item.Errorf("%q blocks nothing: it is not a host name, nor one with a leading dot", entry)
			continue
		}
		entries = append(entries, entry)
	}
	return entries
}

// domains reads domains. Like the entries of Akash's blocklist, they may have a leading dot.
func domains(c document.Cursor) []string {
	var out []string
	for item, entry := range texts(c) {
		name := strings.TrimPrefix(strings.ToLower(entry), ".")
		if err := domain(name); err != nil {
			item.Report(err)
			continue
		}
		out = append(out, name)
	}
	return out
}

// text sets a text that is present and valid.
func text(c document.Cursor, into *string, rule func(string) error) {
	if c.IsNull() {
		return
	}
	s, ok := c.ValidText()
	if !ok || s == "" && *into == "" {
		return
	}
	if err := rule(s); err != nil {
		c.Report(err)
		return
	}
	*into = s
}

// texts yields the valid texts of a list. Other items are errors.
func texts(c document.Cursor) iter.Seq2[document.Cursor, string] {
	return func(yield func(document.Cursor, string) bool) {
		for item := range c.List() {
			if s, ok := item.ValidText(); ok && !yield(item, s) {
				return
			}
		}
	}
}

// oneOf sets a text that must be one of the known values. An empty text leaves the default.
func oneOf(c document.Cursor, into *string, what string, known ...string) {
	switch v := c.Text(); {
	case v == "":
	case !slices.Contains(known, v):
		last := len(known) - 1
		c.Errorf("unknown %s %q; %s and %s are known", what, v, strings.Join(known[:last], ", "), known[last])
	default:
		*into = v
	}
}

func boolean(c document.Cursor, into *bool) {
	if !c.IsNull() {
		*into = c.Bool()
	}
}

func level(c document.Cursor, into *float64) {
	f, ok := c.Float()
	switch {
	case !ok:
	case f <= 0:
		c.Errorf("must be greater than 0 (1.0 means no overcommit)")
	default:
		*into = f
	}
}

func namespace(s string) error {
	if problems := validation.IsDNS1123Label(s); len(problems) > 0 {
		return fmt.Errorf("%q is not the name of a namespace: %s", s, problems[0])
	}
	return nil
}

func subdomain(s string) error {
	if problems := validation.IsDNS1123Subdomain(s); len(problems) > 0 {
		return fmt.Errorf("%q is not a name: %s", s, problems[0])
	}
	return nil
}

// domain validates a domain: Akash's rule for the ingress domain, with labels of at most 63 characters.
func domain(s string) error {
	if !lease.IsHostName(s) {
		return fmt.Errorf("%q is not a domain (lower-case letters, digits and \"-\" in labels joined by \".\")", s)
	}
	return nil
}

// hostDomain validates a domain that contains hosts: it does not end in a number, because no host name does.
func hostDomain(s string) error {
	if dns.EndsInNumber(s) {
		return fmt.Errorf("%q ends in a number, so that no host names are in it", s)
	}
	return domain(s)
}

// minDocument is the smallest valid limit, in bytes. A smaller one would reject ordinary documents.
const minDocument = 64 << 10

func readLimits(c document.Cursor, l *Limits) {
	m := c.Mapping(limitKeys)
	size(m.Get("documentSize"), &l.DocumentSize)
	size(m.Get("inputSize"), &l.InputSize)
	number(m.Get("services"), &l.Services, "a number of services")
	number(m.Get("hosts"), &l.Hosts, "a number of hosts")
	number(m.Get("ports"), &l.Ports, "a number of ports")
}

// size reads a quantity of bytes, such as 16Mi.
func size(c document.Cursor, value *int64) {
	if c.IsNull() {
		return
	}
	q, err := resource.ParseQuantity(c.Word())
	if err != nil || q.Value() < minDocument || q.CmpInt64(math.MaxInt64) >= 0 {
		c.Errorf("%q is not a size such as 16Mi (64Ki or more)", c.Raw())
		return
	}
	*value = q.Value()
}

func number(c document.Cursor, value *int, what string) {
	if n, ok := c.Uint(1, math.MaxInt32, what); ok {
		*value = int(n)
	}
}

func readWorkloads(c document.Cursor, w *Workloads) {
	m := c.Mapping(workloadKeys)
	boolean(m.Get("enabled"), &w.Enabled)
	boolean(m.Get("networkPolicies"), &w.NetworkPolicies)
	boolean(m.Get("strictNetworkPolicies"), &w.StrictNetworkPolicies)
	if strict := m.Get("strictNetworkPolicies"); w.StrictNetworkPolicies && !w.NetworkPolicies {
		strict.Errorf("there are no network policies that could be strict; set networkPolicies to true")
	}
	text(m.Get("publicHostname"), &w.PublicHostname, publicName)
	text(m.Get("imagePullSecret"), &w.ImagePullSecret, subdomain)
	for item, server := range texts(m.Get("apiServers")) {
		address, err := netip.ParseAddrPort(server)
		if err != nil || address.Port() == 0 || address.Addr().Zone() != "" {
			item.Errorf("%q is not an address with a port, such as 10.1.0.10:6443 or [fd00::12]:443", server)
			continue
		}
		w.APIServers = append(w.APIServers, netip.AddrPortFrom(address.Addr().Unmap(), address.Port()))
	}
	readPorts(m.Get("nodePorts"), &w.NodePorts)
}

// readPorts reads a range of ports in the format of kube-apiserver's --service-node-port-range.
func readPorts(c document.Cursor, r *PortRange) {
	var written string
	text(c, &written, func(s string) error {
		first, last, _ := strings.Cut(s, "-")
		from, errFrom := strconv.ParseUint(first, 10, 16)
		to, errTo := strconv.ParseUint(last, 10, 16)
		if errFrom != nil || errTo != nil || from == 0 || from > to {
			return fmt.Errorf("%q is not a range of ports, such as 30000-32767", lease.Clip(s))
		}
		*r = PortRange{uint16(from), uint16(to)}
		return nil
	})
}
