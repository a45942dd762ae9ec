package commands

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// The namespaces of the ledger, of what Akash's provider keeps, and the resources that the program works with.
const (
	ledger    = "akash-net"
	manifests = "lease"
)

var (
	claims     = cluster.Leases
	namespaces = cluster.Namespaces
	configMaps = cluster.ConfigMaps
	ingresses  = kinds.Ingress.Resource()
	httpRoutes = kinds.HTTPRoute.Resource()
	hosts      = kinds.ProviderHost.Resource()
	leasedIPs  = kinds.ProviderLeasedIP.Resource()
	services   = kinds.Service.Resource()
	pools      = kinds.IPAddressPool.Resource()

	routes  = kinds.Route.Resource()
	adverts = kinds.L2Advertisement.Resource()

	akashManifests = schema.GroupVersionResource{Group: "akash.network", Version: "v2beta2", Resource: "manifests"}
	dnsEndpoints   = kinds.DNSEndpoint.Resource()
)

// create writes an object, in YAML, as somebody does who knows nothing of this program.
func create(t *testing.T, resource schema.GroupVersionResource, text string) *unstructured.Unstructured {
	t.Helper()
	return harness.Create(t, "somebody", resource, text)
}

// change reads an object, changes it, and writes it by Update.
func change(t *testing.T, resource schema.GroupVersionResource, namespace, name string, edit func(*unstructured.Unstructured)) {
	t.Helper()
	harness.Edit(t, "somebody", resource, namespace, name, edit)
}

// removeLater removes an object when the test ends, if it is there then.
func removeLater(t *testing.T, resource schema.GroupVersionResource, namespace, name string) {
	t.Helper()
	t.Cleanup(func() {
		err := harness.Objects.Resource(resource).Namespace(namespace).Delete(context.Background(), name, metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			t.Error(err)
		}
	})
}

// ingressFor is an Ingress for a host; the labels are written as they are.
func ingressFor(host, namespace string, labels map[string]string) string {
	text, err := json.Marshal(labels)
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf(`{apiVersion: networking.k8s.io/v1, kind: Ingress,
metadata: {name: by-hand-%s, namespace: %s, labels: %s},
spec: {rules: [{host: %s, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: site, port: {number: 80}}}}]}}]}}`,
		host, namespace, text, host)
}

// makeNamespace makes the namespace of a lease as the provider does.
func makeNamespace(t *testing.T, id lease.ID) {
	t.Helper()
	labels, err := json.Marshal(id.Labels())
	if err != nil {
		t.Fatal(err)
	}
	create(t, namespaces, fmt.Sprintf(`{apiVersion: v1, kind: Namespace, metadata: {name: %s, labels: %s}}`, id.Namespace(), labels))
}

// claim is the claim on a host, a wildcard or an address; nil where there is none.
// Marks of commands that have ended are taken off.
func claim(t *testing.T, name string) *state.Claim {
	t.Helper()
	o := find(t, claims, ledger, name)
	if o == nil {
		return nil
	}
	c, ok := state.ReadClaim(&metav1.ObjectMeta{
		Name: o.GetName(), Namespace: o.GetNamespace(), UID: o.GetUID(), ResourceVersion: o.GetResourceVersion(),
		Labels: o.GetLabels(), Annotations: o.GetAnnotations(), ManagedFields: o.GetManagedFields(),
		CreationTimestamp: o.GetCreationTimestamp(), DeletionTimestamp: o.GetDeletionTimestamp(),
	})
	if !ok {
		t.Fatalf("%s is no claim: %v", name, o.Object)
	}
	c.Settle(func(p state.Part) bool {
		return find(t, claims, ledger, state.AnnouncementName(state.NonceOf(p.Run))) == nil
	})
	return &c
}

// holders are the deployments that hold parts of a thing, as dseq/key of the part's path or port.
func holders(t *testing.T, name string) []string {
	t.Helper()
	c := claim(t, name)
	out := []string{}
	if c == nil {
		return out
	}
	for _, p := range c.Parts {
		what := p.Path
		if what == "" {
			what = p.PortText()
		}
		out = append(out, fmt.Sprintf("%d %s", p.Lease.DSeq, what))
	}
	slices.Sort(out)
	return out
}

// held fails the test unless the deployments hold just these parts of a thing.
func held(t *testing.T, name string, want ...string) {
	t.Helper()
	if got := holders(t, name); !slices.Equal(got, want) {
		t.Errorf("%s is held by %q, want %q", name, got, want)
	}
}

// ours are the managers of a claim that are deployment groups, with what they own.
func ours(t *testing.T, name string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, m := range need(t, claims, ledger, name).GetManagedFields() {
		if m.FieldsV1 != nil {
			out[m.Manager] += m.FieldsV1.GetRawString()
		}
	}
	return out
}

// fingerprint is every object that the program could have written, with its version. Of pools
// and Services what was asked for counts: MetalLB writes their status when it likes.
func fingerprint(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, resource := range []schema.GroupVersionResource{claims, configMaps, namespaces, hosts, leasedIPs, ingresses, httpRoutes, services, pools, adverts, dnsRecords, dnsEndpoints} {
		namespace := ""
		if resource == claims || resource == configMaps {
			namespace = ledger
		}
		list, err := harness.Objects.Resource(resource).Namespace(namespace).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range list.Items {
			if resource == claims && state.IsAnnouncement(o.GetName()) {
				continue // it says who is at work, and nothing of what anybody has
			}
			version := o.GetResourceVersion()
			switch resource {
			case pools:
				version = fmt.Sprint("generation ", o.GetGeneration())
			case services:
				annotations := o.GetAnnotations()
				delete(annotations, "metallb.universe.tf/ip-allocated-from-pool") // MetalLB's own
				delete(annotations, "metallb.io/ip-allocated-from-pool")
				version = toText(t, []any{o.GetLabels(), annotations, o.Object["spec"]})
			}
			out[resource.Resource+" "+o.GetNamespace()+"/"+o.GetName()] = string(o.GetUID()) + " " + version
		}
	}
	return out
}

// touched are the objects that differ and whose names have one of the texts.
func touched(before, after map[string]string, of ...string) []string {
	return slices.DeleteFunc(changed(before, after), func(what string) bool {
		return !slices.ContainsFunc(of, func(text string) bool { return strings.Contains(what, text) })
	})
}

// changed are the objects that differ between two fingerprints.
func changed(before, after map[string]string) []string {
	out := []string{}
	all := maps.Clone(before)
	maps.Copy(all, after)
	for name := range all {
		if before[name] != after[name] {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// lines are the lines of a text that contain another.
func lines(text, with string) []string {
	return slices.DeleteFunc(strings.Split(text, "\n"), func(line string) bool { return !strings.Contains(line, with) })
}

type object = unstructured.Unstructured

// with is a map with one more entry.
func with(m map[string]string, key, value string) map[string]string {
	out := map[string]string{key: value}
	maps.Copy(out, m)
	out[key] = value
	return out
}

func toText(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// absent fails the test if the object exists.
func absent(t *testing.T, resource schema.GroupVersionResource, namespace, name string) {
	t.Helper()
	if o := find(t, resource, namespace, name); o != nil {
		t.Errorf("there is a %s %s/%s: %v", resource.Resource, namespace, name, o.Object)
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
