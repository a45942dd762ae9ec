package config

import "github.com/akash-net/kubectl-akash-net/lease/document"

// chartKeys are the values of Akash's chart for the provider (helm-charts: charts/akash-provider) that readChart reads, and which keys of a
// ProviderConfig's spec they give.
var chartKeys = map[string][]string{
	"domain":                 {"ingress.domain", "ingress.staticHosts", "workloads.publicHostname"},
	"gatewayApi":             {"target", "gateway.name", "gateway.namespace"},
	"overcommit_pct_cpu":     {"commitLevels.cpu"},
	"overcommit_pct_mem":     {"commitLevels.memory"},
	"overcommit_pct_storage": {"commitLevels.storage"},
}

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
