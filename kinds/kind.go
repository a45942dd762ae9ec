package kinds

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Kind is one kind of object, with what is needed to address it without asking
// the cluster for its discovery documents.
type Kind struct {
	schema.GroupVersionKind
	// Plural is the name of the resource in the API's paths.
	Plural string
	// Singular is how messages and `-o name` call it, in lower case and with the group where
	// kubectl would add it.
	Singular string
	// ClusterScoped is true for objects that live in no namespace.
	ClusterScoped bool
}

// Resource is the kind's group, version and resource.
func (k Kind) Resource() schema.GroupVersionResource {
	return k.GroupVersion().WithResource(k.Plural)
}

// The kinds that a lease is rendered to, or that tell of it.
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
	DNSRecord        = kind("extensions.gardener.cloud", "v1alpha1", "DNSRecord", "dnsrecords")
	DNSEndpoint      = kind("externaldns.k8s.io", "v1alpha1", "DNSEndpoint", "dnsendpoints")

	// Namespace is the kind of a lease's namespace, Gateway that of what HTTPRoutes and TLSRoutes attach to.
	Namespace = clusterScoped(kind("", "v1", "Namespace", "namespaces"))
	Gateway   = kind("gateway.networking.k8s.io", "v1", "Gateway", "gateways")

	// The kinds of what a lease runs.
	Manifest       = kind("akash.network", "v2beta2", "Manifest", "manifests")
	NetworkPolicy  = kind("networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies")
	ServiceAccount = kind("", "v1", "ServiceAccount", "serviceaccounts")
	Role           = kind("rbac.authorization.k8s.io", "v1", "Role", "roles")
	RoleBinding    = kind("rbac.authorization.k8s.io", "v1", "RoleBinding", "rolebindings")
	Secret         = kind("", "v1", "Secret", "secrets")
	Deployment     = kind("apps", "v1", "Deployment", "deployments")
	StatefulSet    = kind("apps", "v1", "StatefulSet", "statefulsets")

	// What controllers make of it, and what is noted.
	Pod   = kind("", "v1", "Pod", "pods")
	Event = kind("", "v1", "Event", "events")

	// The kinds that NGINX Gateway Fabric reads beside the Gateway API's.
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
