// Package kinds says which kinds of object a lease may have, and in which order they come and go.
package kinds

import (
	"slices"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/render"
)

var (
	// Hosts are the routes of hosts.
	Hosts = []render.Kind{render.Ingress, render.HTTPRoute, render.TLSRoute, render.Route}
	// Routes are the kinds that serve traffic; they go before the claims they rest on.
	Routes = slices.Concat(Hosts, []render.Kind{render.Service})
	// Others are routes that this program never writes. Their hosts are used all the same. A TCPRoute is not
	// among them: it names no host, and has the whole port of a listener.
	Others = []render.Kind{render.GRPCRoute}
	// Filters are what routes refer to.
	Filters = []render.Kind{render.SnippetsFilter, render.BackendTLSPolicy}
	// Policies are what refers to routes.
	Policies = []render.Kind{render.ClientSettingsPolicy, render.ProxySettingsPolicy}
	// ClaimLike are Akash's objects that a claim entitles its holder to write.
	ClaimLike = []render.Kind{render.ProviderHost, render.ProviderLeasedIP}
	// Records are the kinds of DNS records. They lead to what serves, so they come last and go
	// first.
	Records = []render.Kind{render.DNSRecord, render.DNSEndpoint}
	// Pools are MetalLB's objects; many leases share one.
	Pools = []render.Kind{render.IPAddressPool, render.L2Advertisement}

	// Stages are the kinds of a lease in the order in which they are written.
	Stages = [][]render.Kind{ClaimLike, Filters, Routes, Policies}
	// OfLease are the same in the order in which they go.
	OfLease = slices.Concat(Policies, Routes, Filters, ClaimLike)
	// Reporting are the routes in whose status routers say how they take them.
	Reporting = []render.Kind{render.HTTPRoute, render.TLSRoute, render.Route}
)

// LeasedPort selects the Services of leased ports.
const LeasedPort = lease.LabelServiceTarget + "=" + lease.ServiceTargetMetalLB

// RecordsOf are the kinds of DNS records that a run reads: both where the configuration has any form
// of them, so that a change of the form leaves none behind, else none.
func RecordsOf(cfg *config.ProviderConfig) []render.Kind {
	if cfg.DNS.Form == config.DNSNone {
		return nil
	}
	return Records
}

// Optional are the kinds whose absence from a cluster only means that nobody uses them.
func Optional(kind render.Kind) bool {
	return !slices.Contains(ClaimLike, kind) && kind != render.Ingress && kind != render.Service
}
