package state

import (
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
)

// checkLimits returns a problem for each limit of the configuration that the definition exceeds.
func checkLimits(def *lease.Definition, limits config.Limits) lease.Problems {
	hosts, ports := 0, 0
	for _, s := range def.Services {
		ports += len(s.Expose)
		for _, e := range s.Expose {
			hosts += len(e.Hosts)
		}
	}
	var problems lease.Problems
	for _, bound := range []struct {
		what, key string
		has, most int
	}{
		{"services", "limits.services", len(def.Services), limits.Services},
		{"hosts, each path counted", "limits.hosts", hosts, limits.Hosts},
		{"exposed ports", "limits.ports", ports, limits.Ports},
	} {
		if bound.most > 0 && bound.has > bound.most {
			problems.Add(def.At, "the lease has %d %s; the provider's configuration allows %d (%s)",
				bound.has, bound.what, bound.most, bound.key)
		}
	}
	return problems
}
