package state

import (
	"slices"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
)

// maxSettings limits the settings of all routes of a lease, in bytes: each host has a copy of those of its port. 5000
// hosts with the longest settings of nginx that Akash knows stay far below it.
const maxSettings = 16 << 20

// settingsOf returns the size of the settings that each route of an expose has, in bytes.
func settingsOf(e *lease.Expose) (n int) {
	for _, text := range e.HTTP.NextCases {
		n += len(text)
	}
	if e.Routing == nil {
		return n
	}
	for _, h := range slices.Concat(e.Routing.RequestHeaders, e.Routing.ResponseHeaders) {
		n += len(h.Name) + len(h.Value)
	}
	for _, a := range e.Routing.Annotations {
		n += len(a.Key) + len(a.Value)
	}
	for key, value := range e.Routing.Labels {
		n += len(key) + len(value)
	}
	return n
}

// checkLimits returns a problem for each limit of the configuration that the definition exceeds.
func checkLimits(def *lease.Definition, limits config.Limits) lease.Problems {
	hosts, ports, settings := 0, 0, 0
	for _, s := range def.Services {
		ports += len(s.Expose)
		for _, e := range s.Expose {
			hosts += len(e.Hosts)
			settings += len(e.Hosts) * settingsOf(&e)
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
	if settings > maxSettings {
		problems.Add(def.At, "the routes of the lease have %d MiB of headers, labels and other settings, which each host repeats; at most %d MiB are allowed",
			settings>>20, maxSettings>>20)
	}
	return problems
}
