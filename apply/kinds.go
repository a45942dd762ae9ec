package apply

import (
	"slices"

	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/render"
)

var (
	// hostKinds are the routes of hosts.
	hostKinds = []render.Kind{render.Ingress, render.HTTPRoute, render.TLSRoute, render.Route}
	// routeKinds are the kinds that serve traffic; they go before the claims they rest on.
	routeKinds = slices.Concat(hostKinds, []render.Kind{render.Service})
	// filterKinds are what routes refer to, policyKinds what refers to routes.
	filterKinds = []render.Kind{render.SnippetsFilter, render.BackendTLSPolicy}
	policyKinds = []render.Kind{render.ClientSettingsPolicy, render.ProxySettingsPolicy}
	// claimLikeKinds are Akash's objects that a claim entitles its holder to write.
	claimLikeKinds = []render.Kind{render.ProviderHost, render.ProviderLeasedIP}
	// recordKinds are the kinds of DNS records. They lead to what serves, so they come last and go
	// first.
	recordKinds = []render.Kind{render.DNSRecord, render.DNSEndpoint}
	// poolKinds are MetalLB's objects; many leases share one.
	poolKinds = []render.Kind{render.IPAddressPool, render.L2Advertisement}

	// stages are the kinds of a lease in the order in which they are written.
	stages = [][]render.Kind{claimLikeKinds, filterKinds, routeKinds, policyKinds}
	// leaseKinds are the same in the order in which they go.
	leaseKinds = slices.Concat(policyKinds, routeKinds, filterKinds, claimLikeKinds)
	// reportingKinds are the routes in whose status routers say how they take them.
	reportingKinds = []render.Kind{render.HTTPRoute, render.TLSRoute, render.Route}
)

// recordsOf are the kinds of DNS records that a run reads: both where the configuration has any form
// of them, so that a change of the form leaves none behind, else none.
func recordsOf(cfg *config.ProviderConfig) []render.Kind {
	if cfg.DNS.Form == config.DNSNone {
		return nil
	}
	return recordKinds
}

// optional are the kinds whose absence from a cluster only means that nobody uses them.
func optional(kind render.Kind) bool {
	return !slices.Contains(claimLikeKinds, kind) && kind != render.Ingress && kind != render.Service
}
