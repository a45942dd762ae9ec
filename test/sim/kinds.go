package sim

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/akash-net/kubectl-akash-net/manifests"
)

const akash, metalLB, gateway, openShift = "akash.network", "metallb.io", "gateway.networking.k8s.io", "route.openshift.io"

// kind is a kind of object that the server serves.
type kind struct {
	schema.GroupVersionKind
	plural     string
	namespaced bool
	// generations is true where the server counts the generations of the spec.
	generations bool
	// further is true for a kind that the server serves only where it serves all.
	further bool
	// told is true where the answer to a delete is the object.
	told bool
	// defaults completes an object that is written, in the name of its writer; completes does it in nobody's.
	defaults, completes func(o *unstructured.Unstructured)
	fields              *managedfields.FieldManager
}

func (k *kind) resource() schema.GroupResource {
	return schema.GroupResource{Group: k.Group, Resource: k.plural}
}

// custom is true for a kind that the server knows from a definition.
func (k *kind) custom() bool {
	return slices.Contains([]string{akash, metalLB, gateway, openShift}, k.Group)
}

// path is the path under which all objects of the kind are listed.
func (k *kind) path() string {
	if k.Group == "" {
		return "/api/" + k.Version
	}
	return "/apis/" + k.Group + "/" + k.Version
}

// served are the kinds, by their path and resource. To read their schemas takes a moment: it is done once.
var served = sync.OnceValues(func() (map[string]*kind, error) {
	builtIn := applyconfigurations.NewTypeConverter(scheme.Scheme)
	custom, err := customKinds()
	if err != nil {
		return nil, err
	}
	out := map[string]*kind{}
	for _, k := range []kind{
		{GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}, plural: "namespaces", defaults: labelNamespace, completes: completeNamespace},
		{GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "Node"}, plural: "nodes", completes: completeStatus},
		{GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, plural: "configmaps", namespaced: true},
		{GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "Service"}, plural: "services", namespaced: true, told: true, defaults: defaultService, completes: completeStatus},
		{GroupVersionKind: schema.GroupVersionKind{Group: "coordination.k8s.io", Version: "v1", Kind: "Lease"}, plural: "leases", namespaced: true},
		{GroupVersionKind: schema.GroupVersionKind{Group: "networking.k8s.io", Version: "v1", Kind: "Ingress"}, plural: "ingresses", namespaced: true, generations: true, completes: completeStatus},
		{GroupVersionKind: schema.GroupVersionKind{Group: akash, Version: "v2beta2", Kind: "ProviderHost"}, plural: "providerhosts", namespaced: true, generations: true},
		{GroupVersionKind: schema.GroupVersionKind{Group: akash, Version: "v2beta2", Kind: "ProviderLeasedIP"}, plural: "providerleasedips", namespaced: true, generations: true},
		{GroupVersionKind: schema.GroupVersionKind{Group: akash, Version: "v2beta2", Kind: "Manifest"}, plural: "manifests", namespaced: true, generations: true},
		{GroupVersionKind: schema.GroupVersionKind{Group: metalLB, Version: "v1beta1", Kind: "IPAddressPool"}, plural: "ipaddresspools", namespaced: true, generations: true},
		{GroupVersionKind: schema.GroupVersionKind{Group: metalLB, Version: "v1beta1", Kind: "L2Advertisement"}, plural: "l2advertisements", namespaced: true, generations: true},
		{GroupVersionKind: schema.GroupVersionKind{Group: metalLB, Version: "v1beta1", Kind: "BGPAdvertisement"}, plural: "bgpadvertisements", namespaced: true, generations: true},
		{GroupVersionKind: schema.GroupVersionKind{Group: gateway, Version: "v1", Kind: "HTTPRoute"}, plural: "httproutes", namespaced: true, generations: true, further: true},
		{GroupVersionKind: schema.GroupVersionKind{Group: gateway, Version: "v1", Kind: "TLSRoute"}, plural: "tlsroutes", namespaced: true, generations: true, further: true},
		{GroupVersionKind: schema.GroupVersionKind{Group: openShift, Version: "v1", Kind: "Route"}, plural: "routes", namespaced: true, generations: true, further: true},
		{GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "Secret"}, plural: "secrets", namespaced: true, further: true},
		{GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "ServiceAccount"}, plural: "serviceaccounts", namespaced: true, further: true},
		{GroupVersionKind: schema.GroupVersionKind{Group: "networking.k8s.io", Version: "v1", Kind: "NetworkPolicy"}, plural: "networkpolicies", namespaced: true, generations: true, further: true},
		{GroupVersionKind: schema.GroupVersionKind{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "Role"}, plural: "roles", namespaced: true, further: true},
		{GroupVersionKind: schema.GroupVersionKind{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "RoleBinding"}, plural: "rolebindings", namespaced: true, further: true},
		{GroupVersionKind: schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, plural: "deployments", namespaced: true, generations: true, further: true},
		{GroupVersionKind: schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "StatefulSet"}, plural: "statefulsets", namespaced: true, generations: true, further: true},
	} {
		k.defaults, k.completes = orNothing(k.defaults), orNothing(k.completes)
		same := identity{&k}
		if k.custom() {
			k.fields, err = managedfields.NewDefaultCRDFieldManager(custom, same, same, same, k.GroupVersionKind, k.GroupVersion(), "", nil)
		} else {
			k.fields, err = managedfields.NewDefaultFieldManager(builtIn, same, same, same, k.GroupVersionKind, k.GroupVersion(), "", nil)
		}
		if err != nil {
			return nil, err
		}
		out[k.path()+"/"+k.plural] = &k
	}
	return out, nil
})

// plain is an object as the server keeps it: of what it knows the type of, nothing that is empty.
func (k *kind) plain(o *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	var into any = &struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata"`
	}{}
	if !k.custom() {
		typed, err := scheme.Scheme.New(k.GroupVersionKind)
		if err != nil {
			return nil, err
		}
		into = typed
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, into); err != nil {
		return nil, err
	}
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(into)
	if err != nil {
		return nil, err
	}
	out := &unstructured.Unstructured{Object: object}
	if k.custom() {
		meta := object["metadata"]
		object = maps.Clone(o.Object)
		object["metadata"] = meta
		out.Object = object
	}
	if _, there, _ := unstructured.NestedFieldNoCopy(object, "metadata", "creationTimestamp"); there && out.GetCreationTimestamp().Time.IsZero() {
		unstructured.RemoveNestedField(object, "metadata", "creationTimestamp")
	}
	return out, nil
}

// empty is an object without anything, as the server begins with it.
func (k *kind) empty() (*unstructured.Unstructured, error) {
	o := &unstructured.Unstructured{Object: map[string]any{}}
	o.SetGroupVersionKind(k.GroupVersionKind)
	return k.plain(o)
}

// identity converts nothing: there is one version of each kind.
type identity struct{ kind *kind }

func (identity) Convert(_, _, _ any) error { return fmt.Errorf("nothing is converted") }
func (identity) ConvertToVersion(in runtime.Object, _ runtime.GroupVersioner) (runtime.Object, error) {
	return in, nil
}

func (identity) ConvertFieldLabel(_ schema.GroupVersionKind, label, value string) (string, string, error) {
	return label, value, nil
}
func (identity) Default(runtime.Object)                                {}
func (i identity) New(schema.GroupVersionKind) (runtime.Object, error) { return i.kind.empty() }

// customKinds converts objects by the schemas of the repository's own definitions.
func customKinds() (managedfields.TypeConverter, error) {
	crds, err := manifests.CRDs()
	if err != nil {
		return nil, err
	}
	var meta spec.Schema
	if err := json.Unmarshal([]byte(metadata), &meta); err != nil {
		return nil, err
	}
	schemas := map[string]*spec.Schema{"ObjectMeta": &meta}
	for _, crd := range crds {
		versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
		name, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "kind")
		body, _, err := unstructured.NestedMap(versions[0].(map[string]any), "schema", "openAPIV3Schema")
		if err != nil {
			return nil, err
		}
		text, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		s := &spec.Schema{}
		if err := json.Unmarshal(text, s); err != nil {
			return nil, err
		}
		addKind(schemas, s, akash, "v2beta2", name)
	}
	for _, k := range []schema.GroupVersionKind{ // their lists are replaced whole
		{Group: metalLB, Version: "v1beta1", Kind: "IPAddressPool"}, {Group: metalLB, Version: "v1beta1", Kind: "L2Advertisement"},
		{Group: metalLB, Version: "v1beta1", Kind: "BGPAdvertisement"},
		{Group: gateway, Version: "v1", Kind: "HTTPRoute"}, {Group: gateway, Version: "v1", Kind: "TLSRoute"}, {Group: openShift, Version: "v1", Kind: "Route"},
	} {
		s := (&spec.Schema{}).Typed("object", "")
		s.Properties = map[string]spec.Schema{"spec": *(&spec.Schema{}).Typed("object", "")}
		addKind(schemas, s, k.Group, k.Version, k.Kind)
	}
	return managedfields.NewTypeConverter(schemas, true)
}

// addKind adds the schema of a kind, with what all kinds have.
func addKind(schemas map[string]*spec.Schema, s *spec.Schema, group, version, name string) {
	s.Properties["apiVersion"], s.Properties["kind"] = *spec.StringProperty(), *spec.StringProperty()
	s.Properties["metadata"] = *spec.RefSchema("#/components/schemas/ObjectMeta")
	s.AddExtension("x-kubernetes-group-version-kind", []any{map[string]any{"group": group, "version": version, "kind": name}})
	schemas[name] = s
}

// metadata is the schema of what all objects have, as far as lists and maps in it are merged.
const metadata = `{"type": "object", "properties": {
	"name": {"type": "string"}, "namespace": {"type": "string"}, "uid": {"type": "string"}, "resourceVersion": {"type": "string"},
	"generation": {"type": "integer"}, "creationTimestamp": {"type": "string"}, "deletionTimestamp": {"type": "string"}, "generateName": {"type": "string"},
	"labels": {"type": "object", "additionalProperties": {"type": "string"}},
	"annotations": {"type": "object", "additionalProperties": {"type": "string"}},
	"finalizers": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
	"ownerReferences": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["uid"],
		"items": {"type": "object", "x-kubernetes-map-type": "atomic", "properties": {"uid": {"type": "string"}, "name": {"type": "string"}, "kind": {"type": "string"}, "apiVersion": {"type": "string"}}}},
	"managedFields": {"type": "array", "x-kubernetes-list-type": "atomic", "items": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}}`

func setDefault(o *unstructured.Unstructured, value any, fields ...string) {
	if _, there, _ := unstructured.NestedFieldNoCopy(o.Object, fields...); !there {
		_ = unstructured.SetNestedField(o.Object, value, fields...) // a field that is no map fails the request elsewhere
	}
}

func orNothing(f func(*unstructured.Unstructured)) func(*unstructured.Unstructured) {
	if f == nil {
		return func(*unstructured.Unstructured) {}
	}
	return f
}

func labelNamespace(o *unstructured.Unstructured) {
	labels := o.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels["kubernetes.io/metadata.name"] = o.GetName()
	o.SetLabels(labels)
}

func completeNamespace(o *unstructured.Unstructured) {
	setDefault(o, []any{"kubernetes"}, "spec", "finalizers")
	setDefault(o, "Active", "status", "phase")
}

// defaultService leaves out what allocators give: cluster addresses and node ports.
func defaultService(o *unstructured.Unstructured) {
	setDefault(o, "ClusterIP", "spec", "type")
	setDefault(o, "None", "spec", "sessionAffinity")
	setDefault(o, "Cluster", "spec", "internalTrafficPolicy")
	if kind, _, _ := unstructured.NestedString(o.Object, "spec", "type"); kind == "LoadBalancer" {
		setDefault(o, "Cluster", "spec", "externalTrafficPolicy")
		setDefault(o, true, "spec", "allocateLoadBalancerNodePorts")
	}
	ports, _, _ := unstructured.NestedSlice(o.Object, "spec", "ports")
	for _, p := range ports {
		port := p.(map[string]any)
		if port["protocol"] == nil {
			port["protocol"] = "TCP"
		}
		if port["targetPort"] == nil {
			port["targetPort"] = port["port"]
		}
	}
	if len(ports) > 0 {
		_ = unstructured.SetNestedSlice(o.Object, ports, "spec", "ports")
	}
}

func completeStatus(o *unstructured.Unstructured) {
	setDefault(o, map[string]any{"loadBalancer": map[string]any{}}, "status")
}
