// Package kinds says which kinds of object a lease may have, and in which order they are written and deleted.
package kinds

import (
	"slices"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/render"
)

var (
	// RouteKinds are the kinds of route that lead a host to a Service.
	RouteKinds = []render.Kind{render.Ingress, render.HTTPRoute, render.TLSRoute, render.Route}
	// ServingKinds serve traffic; they are deleted before the claims they rest on.
	ServingKinds = slices.Concat(RouteKinds, []render.Kind{render.Service})
	// Others are kinds of route that this program never writes, but whose hosts are in use. TCPRoute is not
	// among them: it names no host, and takes the whole port of a listener.
	Others = []render.Kind{render.GRPCRoute}
	// Filters are what routes refer to.
	Filters = []render.Kind{render.SnippetsFilter, render.BackendTLSPolicy}
	// Policies are what refers to routes.
	Policies = []render.Kind{render.ClientSettingsPolicy, render.ProxySettingsPolicy}
	// ClaimLike are Akash's objects that a claim entitles its holder to write.
	ClaimLike = []render.Kind{render.ProviderHost, render.ProviderLeasedIP}
	// Records are the kinds of DNS records. They point to what serves, so they are written last and
	// deleted first.
	Records = []render.Kind{render.DNSRecord, render.DNSEndpoint}
	// Pools are MetalLB's objects; many leases share one.
	Pools = []render.Kind{render.IPAddressPool, render.L2Advertisement}

	// Stages are the kinds of a lease in the order in which they are written.
	Stages = [][]render.Kind{ClaimLike, Filters, ServingKinds, Policies}
	// OfLease are the same in the order in which they are deleted.
	OfLease = slices.Concat(Policies, ServingKinds, Filters, ClaimLike)
	// Reporting are the kinds of route in whose status routers report.
	Reporting = []render.Kind{render.HTTPRoute, render.TLSRoute, render.Route}
)

// LeasedPort selects the Services of leased ports.
const LeasedPort = lease.LabelServiceTarget + "=" + lease.ServiceTargetMetalLB

// RecordsOf are the kinds of DNS records that a run reads: both if the configuration has any form
// of them, so that a change of the form leaves none behind; otherwise none.
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
