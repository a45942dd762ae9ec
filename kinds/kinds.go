// Package kinds names the kinds of object that a lease may have, and the order in which they are written and deleted.
package kinds

import (
	"slices"
	"strings"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
)

var (
	// RouteKinds are the kinds of route that lead a host to a Service.
	RouteKinds = []Kind{Ingress, HTTPRoute, TLSRoute, Route}
	// ServingKinds serve traffic; they are deleted before the claims they rest on.
	ServingKinds = slices.Concat(RouteKinds, []Kind{Service})
	// Others are kinds of route that this program never writes, but whose hosts are in use. TCPRoute is not
	// among them: it names no host, and takes the whole port of a listener.
	Others = []Kind{GRPCRoute}
	// Filters are what routes refer to.
	Filters = []Kind{SnippetsFilter, BackendTLSPolicy}
	// Policies are what refers to routes.
	Policies = []Kind{ClientSettingsPolicy, ProxySettingsPolicy}
	// ClaimLike are Akash's objects that a claim entitles its holder to write.
	ClaimLike = []Kind{ProviderHost, ProviderLeasedIP}
	// Records are the kinds of DNS records. They point to what serves, so they are written last and
	// deleted first.
	Records = []Kind{DNSRecord, DNSEndpoint}
	// Pools are MetalLB's objects; many leases share one.
	Pools = []Kind{IPAddressPool, L2Advertisement}

	// Stages are the kinds of a lease in the order in which they are written.
	Stages = [][]Kind{ClaimLike, Filters, ServingKinds, Policies}
	// OfLease are the same in the order in which they are deleted.
	OfLease = slices.Concat(Policies, ServingKinds, Filters, ClaimLike)
	// Running are the kinds of what a lease runs, in the order in which they are written: the Manifest, which says that
	// there is more; roles before what binds them; what serves before what leads to it.
	Running = [][]Kind{{Manifest}, {NetworkPolicy, ServiceAccount, Role, Secret}, {RoleBinding}, {Deployment, StatefulSet}, {Service}}
	// RunningEnds are the same in the order in which they are deleted.
	RunningEnds = []Kind{Service, Deployment, StatefulSet, RoleBinding, Role, ServiceAccount, NetworkPolicy, Secret, Manifest}
	// Reporting are the kinds of route in whose status routers report.
	Reporting = []Kind{HTTPRoute, TLSRoute, Route}
)

// LeasedPort selects the Services of leased ports.
const LeasedPort = lease.LabelServiceTarget + "=" + lease.ServiceTargetMetalLB

// Of is the kind of a name, be it in lower case; the zero kind where there is none.
func Of(name string) Kind {
	for _, k := range slices.Concat(OfLease, Others, Records, Pools) {
		if strings.EqualFold(k.Kind, name) {
			return k
		}
	}
	return Kind{}
}

// OfTarget are the kinds of route that a target names.
func OfTarget(target string) []Kind {
	switch target {
	case config.TargetHTTPRoute:
		return []Kind{HTTPRoute, TLSRoute}
	case config.TargetRoute:
		return []Kind{Route}
	}
	return []Kind{Ingress}
}

// RecordsOf are the kinds of DNS records that a run reads: both if the configuration has any form
// of them, so that a change of the form leaves none behind; otherwise none.
func RecordsOf(cfg *config.ProviderConfig) []Kind {
	if cfg.DNS.Form == config.DNSNone {
		return nil
	}
	return Records
}

// WrittenRecords are the kinds of the DNS records that are written.
func WrittenRecords(cfg *config.ProviderConfig) []Kind {
	switch cfg.DNS.Form {
	case config.DNSGardener:
		return []Kind{DNSRecord}
	case config.DNSEndpoint:
		return []Kind{DNSEndpoint}
	}
	return nil
}

// Optional are the kinds whose absence from a cluster only means that nobody uses them.
func Optional(kind Kind) bool {
	return !slices.Contains(ClaimLike, kind) && kind != Ingress && kind != Service
}
