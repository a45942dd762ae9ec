package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
)

// The namespaces of the installed configuration.
const (
	ledger    = "akash-net"
	manifests = "lease"
)

// The resources that the program works with.
var (
	claims         = schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}
	namespaces     = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	configMaps     = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	akashManifests = schema.GroupVersionResource{Group: "akash.network", Version: "v2beta2", Resource: "manifests"}
	hosts          = kinds.ProviderHost.Resource()
	leasedIPs      = kinds.ProviderLeasedIP.Resource()
	ingresses      = kinds.Ingress.Resource()
	httpRoutes     = kinds.HTTPRoute.Resource()
	routes         = kinds.Route.Resource()
	services       = kinds.Service.Resource()
	pools          = kinds.IPAddressPool.Resource()
	adverts        = kinds.L2Advertisement.Resource()
)

func client() dynamic.Interface { return dynamic.NewForConfigOrDie(plane.Config) }

// find is an object, or nil where there is none.
func find(t *testing.T, resource schema.GroupVersionResource, namespace, name string) *unstructured.Unstructured {
	t.Helper()
	o, err := client().Resource(resource).Namespace(namespace).Get(t.Context(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// need is an object that has to exist.
func need(t *testing.T, resource schema.GroupVersionResource, namespace, name string) *unstructured.Unstructured {
	t.Helper()
	o := find(t, resource, namespace, name)
	if o == nil {
		t.Fatalf("there is no %s %s/%s", resource.Resource, namespace, name)
	}
	return o
}

// absent fails the test if the object exists.
func absent(t *testing.T, resource schema.GroupVersionResource, namespace, name string) {
	t.Helper()
	if o := find(t, resource, namespace, name); o != nil {
		t.Errorf("there is a %s %s/%s: %v", resource.Resource, namespace, name, o.Object)
	}
}

// create writes an object as a field manager does that knows no server-side apply.
func create(t *testing.T, manager string, resource schema.GroupVersionResource, text string) *unstructured.Unstructured {
	t.Helper()
	o := parse(t, text)
	made, err := client().Resource(resource).Namespace(o.GetNamespace()).Create(t.Context(), o, metav1.CreateOptions{FieldManager: manager})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// update changes an object as a field manager does that knows no server-side apply.
func update(t *testing.T, manager string, resource schema.GroupVersionResource, o *unstructured.Unstructured) {
	t.Helper()
	if _, err := client().Resource(resource).Namespace(o.GetNamespace()).Update(t.Context(), o, metav1.UpdateOptions{FieldManager: manager}); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, resource schema.GroupVersionResource, namespace, name string) {
	t.Helper()
	if err := client().Resource(resource).Namespace(namespace).Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

// present is true once the object exists.
func present(t *testing.T, resource schema.GroupVersionResource, namespace, name string) func(context.Context) (bool, error) {
	t.Helper()
	return func(context.Context) (bool, error) { return find(t, resource, namespace, name) != nil, nil }
}

// eventually waits for what other programs do.
func eventually(t *testing.T, what string, check func(context.Context) (bool, error)) {
	t.Helper()
	if err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, deadline, true, check); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// fingerprint is every object that the program could have written, with its version. Of pools
// the generation counts: MetalLB writes their status when it likes.
func fingerprint(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, resource := range []schema.GroupVersionResource{namespaces, hosts, leasedIPs, ingresses, httpRoutes, services, pools, adverts, dnsRecords, dnsEndpoints} {
		versions(t, out, resource, "")
	}
	for _, resource := range []schema.GroupVersionResource{claims, configMaps} {
		versions(t, out, resource, ledger)
	}
	return out
}

func versions(t *testing.T, out map[string]string, resource schema.GroupVersionResource, namespace string) {
	t.Helper()
	list, err := client().Resource(resource).Namespace(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range list.Items {
		version := o.GetResourceVersion()
		if resource == pools {
			version = fmt.Sprint("generation ", o.GetGeneration())
		}
		out[resource.Resource+" "+o.GetNamespace()+"/"+o.GetName()] = string(o.GetUID()) + " " + version
	}
}

// claimsOf are the names of the claims on which the owner holds something.
func claimsOf(t *testing.T, owner string) []string {
	t.Helper()
	list, err := client().Resource(claims).Namespace(ledger).List(t.Context(), metav1.ListOptions{LabelSelector: "net.akash.network/owner=" + owner})
	if err != nil {
		t.Fatal(err)
	}
	names := []string{}
	for _, o := range list.Items {
		names = append(names, o.GetName())
	}
	slices.Sort(names)
	return names
}

// marked is true where a claim of the owner carries the mark of a run that has not ended.
func marked(t *testing.T, owner string) bool {
	t.Helper()
	for _, name := range claimsOf(t, owner) {
		for _, value := range need(t, claims, ledger, name).GetAnnotations() {
			if strings.Contains(value, `"run"`) {
				return true
			}
		}
	}
	return false
}

// unmarked fails the test where a claim of the owner is marked.
func unmarked(t *testing.T, owner string) {
	t.Helper()
	if marked(t, owner) {
		t.Error("a claim carries the mark of a run")
	}
}

// objectsOf are the objects of a lease beside its claims, as resource/name.
func objectsOf(t *testing.T, id lease.ID) []string {
	t.Helper()
	names := []string{}
	selector := fmt.Sprintf("%s=%s,%s=%d", lease.LabelOwner, id.Owner, lease.LabelDSeq, id.DSeq)
	for _, resource := range []schema.GroupVersionResource{hosts, leasedIPs, ingresses, httpRoutes, services} {
		list, err := client().Resource(resource).List(t.Context(), metav1.ListOptions{LabelSelector: selector})
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range list.Items {
			names = append(names, resource.Resource+"/"+o.GetName())
		}
	}
	slices.Sort(names)
	return names
}

// addressOf are the addresses in a Service's status.
func addressOf(t *testing.T, id lease.ID, name string) string {
	t.Helper()
	ingress, _, err := unstructured.NestedSlice(need(t, services, id.Namespace(), name).Object, "status", "loadBalancer", "ingress")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, i := range ingress {
		out = append(out, fmt.Sprint(i.(map[string]any)["ip"]))
	}
	return strings.Join(out, ",")
}

// makePool makes an administrator's pool, from which only Services that name it are served.
func makePool(t *testing.T, name, addresses string) {
	t.Helper()
	create(t, "administrator", pools, fmt.Sprintf(`{"apiVersion": "metallb.io/v1beta1", "kind": "IPAddressPool",
		"metadata": {"name": %q, "namespace": %q}, "spec": {"addresses": [%q], "autoAssign": false}}`, name, metalLB, addresses))
}
