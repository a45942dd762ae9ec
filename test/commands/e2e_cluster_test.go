package commands

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// The namespaces of the installed configuration.
const (
	manifests = "lease"
)

// The resources that the program works with.
var (
	akashManifests = schema.GroupVersionResource{Group: "akash.network", Version: "v2beta2", Resource: "manifests"}
	routes         = kinds.Route.Resource()
	adverts        = kinds.L2Advertisement.Resource()
)

// absent fails the test if the object exists.
func absent(t *testing.T, resource schema.GroupVersionResource, namespace, name string) {
	t.Helper()
	if o := find(t, resource, namespace, name); o != nil {
		t.Errorf("there is a %s %s/%s: %v", resource.Resource, namespace, name, o.Object)
	}
}

// present is true once the object exists.
func present(t *testing.T, resource schema.GroupVersionResource, namespace, name string) func(context.Context) (bool, error) {
	t.Helper()
	return func(context.Context) (bool, error) { return find(t, resource, namespace, name) != nil, nil }
}

// fingerprint is every object that the program could have written, with its version. Of pools
// the generation counts: MetalLB writes their status when it likes.
func fingerprints(t *testing.T) map[string]string {
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
	list, err := harness.Objects.Resource(resource).Namespace(namespace).List(t.Context(), metav1.ListOptions{})
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
	list, err := harness.Objects.Resource(claims).Namespace(ledger).List(t.Context(), metav1.ListOptions{LabelSelector: "net.akash.network/owner=" + owner})
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

// announced are the announcements of commands that have not ended and write for deployment groups of the owner.
func announced(t *testing.T, owner string) (nonces []string) {
	t.Helper()
	list, err := harness.Objects.Resource(claims).Namespace(ledger).List(t.Context(), metav1.ListOptions{LabelSelector: "net.akash.network/kind=run"})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range list.Items {
		if strings.Contains(o.GetAnnotations()["net.akash.network/groups"], owner+"/") {
			nonces = append(nonces, strings.TrimPrefix(o.GetName(), "run--"))
		}
	}
	return nonces
}

// marked is true where a claim of the owner carries the mark of a command that has not ended.
func marked(t *testing.T, owner string) bool {
	t.Helper()
	nonces := announced(t, owner)
	for _, name := range claimsOf(t, owner) {
		for _, value := range need(t, claims, ledger, name).GetAnnotations() {
			if slices.ContainsFunc(nonces, func(nonce string) bool { return strings.Contains(value, `"run":"`+nonce) }) {
				return true
			}
		}
	}
	return false
}

// unmarked fails the test where a command that writes for the owner has not ended.
func unmarked(t *testing.T, owner string) {
	t.Helper()
	if nonces := announced(t, owner); len(nonces) > 0 {
		t.Errorf("commands %v have not ended", nonces)
	}
}

// objectsOf are the objects of a lease beside its claims, as resource/name.
func objectsOf(t *testing.T, id lease.ID) []string {
	t.Helper()
	names := []string{}
	selector := fmt.Sprintf("%s=%s,%s=%d", lease.LabelOwner, id.Owner, lease.LabelDSeq, id.DSeq)
	for _, resource := range []schema.GroupVersionResource{hosts, leasedIPs, ingresses, httpRoutes, services} {
		list, err := harness.Objects.Resource(resource).List(t.Context(), metav1.ListOptions{LabelSelector: selector})
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
func endpointAddress(t *testing.T, id lease.ID, name string) string {
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
func makeOwnPool(t *testing.T, name, addresses string) {
	t.Helper()
	createAs(t, "administrator", pools, fmt.Sprintf(`{"apiVersion": "metallb.io/v1beta1", "kind": "IPAddressPool",
		"metadata": {"name": %q, "namespace": %q}, "spec": {"addresses": [%q], "autoAssign": false}}`, name, metalLB, addresses))
}
