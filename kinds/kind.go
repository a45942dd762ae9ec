package kinds

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
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
