// Package kinds lists the kinds of objects of a lease, and the order in which they are written and deleted.
package kinds

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
)

// Kind is a kind of object, with everything needed to send requests for it without API discovery.
type Kind struct {
	schema.GroupVersionKind
	// Plural is the resource name in API paths.
	Plural string
	// Singular is the kind in lower case, for messages and "-o name".
	Singular string
	// ClusterScoped is true for objects without a namespace.
	ClusterScoped bool
}

// Resource returns the kind's group, version and resource.
func (k Kind) Resource() schema.GroupVersionResource {
	return k.GroupVersion().WithResource(k.Plural)
}

// The kinds of objects that this program reads or writes: first those that make a lease's hosts and addresses reachable.
var (
	ProviderHost     = kind("akash.network", "v2beta2", "ProviderHost", "providerhosts")
	ProviderLeasedIP = kind("akash.network", "v2beta2", "ProviderLeasedIP", "providerleasedips")
	Ingress          = kind("networking.k8s.io", "v1", "Ingress", "ingresses")
	HTTPRoute        = kind("gateway.networking.k8s.io", "v1", "HTTPRoute", "httproutes")
	TLSRoute         = kind("gateway.networking.k8s.io", "v1", "TLSRoute", "tlsroutes")
	GRPCRoute        = kind("gateway.networking.k8s.io", "v1", "GRPCRoute", "grpcroutes")
	BackendTLSPolicy = kind("gateway.networking.k8s.io", "v1", "BackendTLSPolicy", "backendtlspolicies")
	Route            = kind("route.openshift.io", "v1", "Route", "routes")
	Service          = kind("", "v1", "Service", "services")
	IPAddressPool    = kind("metallb.io", "v1beta1", "IPAddressPool", "ipaddresspools")
	L2Advertisement  = kind("metallb.io", "v1beta1", "L2Advertisement", "l2advertisements")
	BGPAdvertisement = kind("metallb.io", "v1beta1", "BGPAdvertisement", "bgpadvertisements")
	DNSRecord        = kind("extensions.gardener.cloud", "v1alpha1", "DNSRecord", "dnsrecords")
	DNSEndpoint      = kind("externaldns.k8s.io", "v1alpha1", "DNSEndpoint", "dnsendpoints")

	// Namespace is the kind of a lease's namespace; HTTPRoutes and TLSRoutes attach to a Gateway.
	Namespace = clusterScoped(kind("", "v1", "Namespace", "namespaces"))
	Gateway   = kind("gateway.networking.k8s.io", "v1", "Gateway", "gateways")

	// The kinds of a lease's workloads.
	Manifest       = kind("akash.network", "v2beta2", "Manifest", "manifests")
	NetworkPolicy  = kind("networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies")
	ServiceAccount = kind("", "v1", "ServiceAccount", "serviceaccounts")
	Role           = kind("rbac.authorization.k8s.io", "v1", "Role", "roles")
	RoleBinding    = kind("rbac.authorization.k8s.io", "v1", "RoleBinding", "rolebindings")
	Secret         = kind("", "v1", "Secret", "secrets")
	Deployment     = kind("apps", "v1", "Deployment", "deployments")
	StatefulSet    = kind("apps", "v1", "StatefulSet", "statefulsets")

	// The kinds that controllers create for workloads.
	Pod           = kind("", "v1", "Pod", "pods")
	Event         = kind("", "v1", "Event", "events")
	EndpointSlice = kind("discovery.k8s.io", "v1", "EndpointSlice", "endpointslices")

	// The kinds that NGINX Gateway Fabric adds to the Gateway API.
	SnippetsFilter       = kind("gateway.nginx.org", "v1alpha1", "SnippetsFilter", "snippetsfilters")
	ClientSettingsPolicy = kind("gateway.nginx.org", "v1alpha1", "ClientSettingsPolicy", "clientsettingspolicies")
	ProxySettingsPolicy  = kind("gateway.nginx.org", "v1alpha1", "ProxySettingsPolicy", "proxysettingspolicies")
)

func kind(group, version, kind, plural string) Kind {
	return Kind{
		GroupVersionKind: schema.GroupVersionKind{Group: group, Version: version, Kind: kind},
		Plural:           plural,
		Singular:         strings.ToLower(kind),
	}
}

func clusterScoped(k Kind) Kind {
	k.ClusterScoped = true
	return k
}

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
	for _, some := range [][]Kind{OfLease, Others, Records, Pools} {
		for i := range some {
			if strings.EqualFold(some[i].Kind, name) {
				return some[i]
			}
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

// CheckMetadata returns an error if clients could not read the metadata of an object.
func CheckMetadata(o *unstructured.Unstructured) error {
	if isSimple(o.Object["metadata"]) {
		return nil
	}
	text, err := json.Marshal(o.Object["metadata"])
	if err == nil {
		err = utiljson.Unmarshal(text, &metav1.ObjectMeta{})
	}
	if err != nil {
		return fmt.Errorf("%s %s: metadata: %w", o.GetKind(), o.GetName(), err)
	}
	return nil
}

// isSimple reports whether metadata has nothing but texts, and labels and annotations: nearly all that is rendered has.
func isSimple(metadata any) bool {
	fields, ok := metadata.(map[string]any)
	for name, value := range fields {
		switch name {
		case "name", "namespace", "uid", "resourceVersion":
			_, isText := value.(string)
			ok = ok && isText
		case "labels", "annotations":
			texts, isMap := value.(map[string]any)
			ok = ok && isMap
			for _, v := range texts {
				_, isText := v.(string)
				ok = ok && isText
			}
		default:
			return false
		}
	}
	return ok
}

// MissingError reports a resource that the cluster does not serve.
type MissingError struct{ Resource schema.GroupVersionResource }

func (e *MissingError) Error() string {
	s := fmt.Sprintf("this cluster does not serve %s", e.Resource.GroupResource())
	switch e.Resource.Group {
	case "akash.network":
		return s + "; install the resource definitions with: kubectl akash-net install"
	case "metallb.io":
		return s + "; MetalLB has to be installed before addresses can be leased (https://metallb.io)"
	case "extensions.gardener.cloud":
		return s + "; it comes with Gardener, for whose extensions dns.form gardener is (https://gardener.cloud)"
	case "externaldns.k8s.io":
		return s + "; install external-dns' resource definition, and let it look for it (--source=crd)"
	case "gateway.networking.k8s.io":
		return s + "; install the Gateway API's resource definitions, or render another target (--target ingress)"
	case "gateway.nginx.org":
		return s + "; they come with NGINX Gateway Fabric; install it, or configure another gateway.implementation"
	case "route.openshift.io":
		return s + "; OpenShift brings them; render another target (--target ingress or httproute)"
	}
	return s
}
