package render

import (
	"slices"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
)

// Kinds returns the kinds of objects that Lease, Pools and Records render for a definition, whatever its addresses.
func Kinds(def *lease.Definition, cfg *config.ProviderConfig) []kinds.Kind {
	var all []kinds.Kind
	add := func(these ...kinds.Kind) {
		for _, k := range these {
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
		add(kinds.ProviderLeasedIP, kinds.Service)
		if cfg.IP.Mode != config.ModePool {
			add(kinds.WrittenPools(cfg)...)
		}
	}
	if len(routes) > 0 || leased {
		add(kinds.WrittenRecords(cfg)...)
	}
	return all
}
