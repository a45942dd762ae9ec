package config

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/akash-net/kubectl-akash-net/lease/document"
)

// providerKeys are the keys of Akash's provider.yaml that readProvider reads, and which keys of a ProviderConfig's spec they give.
var providerKeys = map[string][]string{
	"deployment-blocked-hostnames":        {"hosts.blocked"},
	"blocked-hostnames":                   {"hosts.blocked"},
	"deployment-ingress-domain":           {"ingress.domain"},
	"deployment-ingress-static-hosts":     {"ingress.staticHosts"},
	"cluster-public-hostname":             {"workloads.publicHostname"},
	"deployment-network-policies-enabled": {"workloads.networkPolicies"},
	"docker-image-pull-secrets-name":      {"workloads.imagePullSecret"},
	"overcommit-pct-cpu":                  {"commitLevels.cpu"},
	"overcommit-pct-mem":                  {"commitLevels.memory"},
	"overcommit-pct-storage":              {"commitLevels.storage"},
	"cpu-commit-level":                    {"commitLevels.cpu"},
	"memory-commit-level":                 {"commitLevels.memory"},
	"storage-commit-level":                {"commitLevels.storage"},
	"ingress-mode":                        {"target"},
	"gateway-name":                        {"gateway.name"},
	"gateway-namespace":                   {"gateway.namespace"},
	"proxy-buffer-size":                   {"gateway.proxyBufferSize"},
	"k8s-manifest-ns":                     {"manifestNamespace"},
	"metal-lb-pool":                       {"ip.pool", "ip.mode"},
	"ip-operator":                         {"ip.mode"},
	"ipoperator":                          {"ip.mode"},
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
		known = known || providerKeys[key] != nil || chartKeys[key] != nil || slices.Contains(chainKeys, key)
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
