package render

import (
	"slices"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
)

// Kinds are the kinds of object that a definition is rendered to, whatever its addresses: what Lease, Pools
// and the DNS records have of it.
func Kinds(def *lease.Definition, cfg *config.ProviderConfig) []Kind {
	var all []Kind
	add := func(kinds ...Kind) {
		for _, k := range kinds {
			if !slices.Contains(all, k) {
				all = append(all, k)
			}
		}
	}
	routes := newLeased(def, cfg).routeObjects()
	for _, o := range routes {
		add(o.Kind)
	}
	leased := slices.ContainsFunc(def.Services, func(s lease.Service) bool {
		return slices.ContainsFunc(s.Expose, func(e lease.Expose) bool { return e.IP != "" })
	})
	if leased {
		add(ProviderLeasedIP, Service)
		if cfg.IP.Mode != config.ModePool {
			add(IPAddressPool, L2Advertisement)
		}
	}
	if len(routes) > 0 || leased {
		add(RecordKinds(cfg)...)
	}
	return all
}

// RecordKinds are the kinds of the DNS records that are written.
func RecordKinds(cfg *config.ProviderConfig) []Kind {
	switch cfg.DNS.Form {
	case config.DNSGardener:
		return []Kind{DNSRecord}
	case config.DNSEndpoint:
		return []Kind{DNSEndpoint}
	}
	return nil
}
