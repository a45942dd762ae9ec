// Package kinds lists the kinds of objects of a lease, and the order in which they are written and deleted.
package kinds

import (
	"slices"
	"strings"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
)

var (
	// RouteKinds are the kinds of routes from a host to a Service.
	RouteKinds = []Kind{Ingress, HTTPRoute, TLSRoute, Route}
	// ServingKinds serve traffic. They are deleted before the claims that they require.
	ServingKinds = slices.Concat(RouteKinds, []Kind{Service})
	// Others are kinds of routes that this program never writes, but that use hosts. TCPRoute is not one of them: it names
	// no host and uses a whole port of a listener.
	Others = []Kind{GRPCRoute}
	// Filters are the kinds that routes refer to.
	Filters = []Kind{SnippetsFilter, BackendTLSPolicy}
	// Policies are the kinds that refer to routes.
	Policies = []Kind{ClientSettingsPolicy, ProxySettingsPolicy}
	// ClaimLike are Akash's kinds that only the holder of a claim may write.
	ClaimLike = []Kind{ProviderHost, ProviderLeasedIP}
	// Records are the kinds of DNS records. They are written last and deleted first, because they point at serving objects.
	Records = []Kind{DNSRecord, DNSEndpoint}
	// Advertisements are the kinds by which MetalLB announces the addresses of a pool.
	Advertisements = []Kind{L2Advertisement, BGPAdvertisement}
	// Pools are MetalLB's kinds. Leases share these objects.
	Pools = append([]Kind{IPAddressPool}, Advertisements...)

	// Stages are the kinds of a lease in the order of writing.
	Stages = [][]Kind{ClaimLike, Filters, ServingKinds, Policies}
	// OfLease are the same kinds in the order of deletion.
	OfLease = slices.Concat(Policies, ServingKinds, Filters, ClaimLike)
	// Running are the kinds of a lease's workloads in the order of writing: the Manifest first, because it shows that the
	// lease has workloads; a Role before its RoleBinding; a Deployment before its Service.
	Running = [][]Kind{
		{Manifest}, {NetworkPolicy, ServiceAccount, Role, Secret}, {RoleBinding}, {Deployment, StatefulSet}, {Service},
	}
	// RunningEnds are the same kinds in the order of deletion.
	RunningEnds = []Kind{Service, Deployment, StatefulSet, RoleBinding, Role, ServiceAccount, NetworkPolicy, Secret, Manifest}
	// Reporting are the kinds of routes whose status routers write.
	Reporting = []Kind{HTTPRoute, TLSRoute, Route}
)

// LeasedPort is the label selector of the Services of leased ports.
const LeasedPort = lease.LabelServiceTarget + "=" + lease.ServiceTargetMetalLB

// Of returns the kind with a name, ignoring case, or the zero Kind. It does not know the kinds of workloads.
func Of(name string) Kind {
	for _, k := range slices.Concat(OfLease, Others, Records, Pools) {
		if strings.EqualFold(k.Kind, name) {
			return k
		}
	}
	return Kind{}
}

// MadeFrom returns the kind for which one of Akash's operators makes objects of a kind.
func MadeFrom(kind Kind) Kind {
	if kind == Service {
		return ProviderLeasedIP
	}
	return ProviderHost
}

// OfTarget returns the kinds of routes of a target.
func OfTarget(target string) []Kind {
	switch target {
	case config.TargetHTTPRoute:
		return []Kind{HTTPRoute, TLSRoute}
	case config.TargetRoute:
		return []Kind{Route}
	}
	return []Kind{Ingress}
}

// RecordsOf returns the kinds of DNS records to read: all if the configuration writes records of any form, so that records
// of a former form are found and deleted; otherwise none.
func RecordsOf(cfg *config.ProviderConfig) []Kind {
	if cfg.DNS.Form == config.DNSNone {
		return nil
	}
	return Records
}

// WrittenRecords returns the kinds of DNS records to write.
func WrittenRecords(cfg *config.ProviderConfig) []Kind {
	switch cfg.DNS.Form {
	case config.DNSGardener:
		return []Kind{DNSRecord}
	case config.DNSEndpoint:
		return []Kind{DNSEndpoint}
	}
	return nil
}

// AdvertisementOf returns the kind of the advertisements to write (ip.advertisement.type).
func AdvertisementOf(cfg *config.ProviderConfig) Kind {
	if cfg.IP.Advertisement.Type == config.AdvertiseBGP {
		return BGPAdvertisement
	}
	return L2Advertisement
}

// WrittenPools returns MetalLB's kinds to write, the pool before its advertisement.
func WrittenPools(cfg *config.ProviderConfig) []Kind {
	return []Kind{IPAddressPool, AdvertisementOf(cfg)}
}

// Optional reports whether a cluster may lack the kind. A list of a kind that is not installed is then empty, not an error.
func Optional(kind Kind) bool {
	return !slices.Contains(ClaimLike, kind) && kind != Ingress && kind != Service
}
