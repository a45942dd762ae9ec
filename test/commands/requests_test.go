package commands

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state/kept"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// reads are the requests of a run on a lease that has nothing to do: the configuration, the lease's definition, and one
// LIST of each kind. Pools are read where addresses are leased.
func reads(id lease.ID, withAddresses bool) []string {
	out := []string{
		"GET configmaps/config", "GET leases/" + kept.Name(id.Group()), "LIST backendtlspolicies", "LIST clientsettingspolicies", "LIST deployments", "LIST grpcroutes", "LIST httproutes",
		"LIST ingresses", "LIST leases", "LIST namespaces", "LIST providerhosts", "LIST providerleasedips",
		"LIST proxysettingspolicies", "LIST routes", "LIST services", "LIST snippetsfilters", "LIST tlsroutes",
	}
	if withAddresses {
		out = append(out, "LIST bgpadvertisements", "LIST ipaddresspools", "LIST l2advertisements", "LIST nodes")
	}
	slices.Sort(out)
	return out
}

func sorted(requests []request) []string {
	out := make([]string, len(requests))
	for i, r := range requests {
		out[i] = r.String()
	}
	slices.Sort(out)
	return out
}

// To apply what is applied already reads each kind once and writes nothing.
func TestSecondApplyWritesNothing(t *testing.T) {
	t.Parallel()
	for name, parts := range map[string][]part{
		"hosts":     {webPart(newHost("same"), newHost("same"))},
		"addresses": {webPart(newHost("same")), service("mail", leasedPart("public", "TCP", 25), leasedPart("public", "UDP", 25)), endpoint("public")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := record(t)
			id := leaseOf(newTenant(t), 1)
			definition := defineParts(t, id, parts...)
			mustRun(t, 0, "apply", "-f", definition)
			runAs(t.Context(), r.kubeconfig, "apply", "-f", definition).Exits(t, 0).Prints(t, "unchanged")
			if diff := cmp.Diff(reads(id, name == "addresses"), sorted(r.sent())); diff != "" {
				t.Errorf("requests of the second apply (-want +got):\n%s", diff)
			}
		})
	}
}

// The first apply of one host makes eight requests after its reads: the announcement is made, compared with the others, and
// deleted; the claim is written once and compared with the wildcard above; then come the definition and the objects.
func TestRequestsOfAFirstApply(t *testing.T) {
	t.Parallel()
	r := record(t)
	id, host := leaseOf(newTenant(t), 1), newHost("first")
	r.do(t, "apply", "-f", defineParts(t, id, webPart(host)))
	var after []string
	for _, q := range r.sent() {
		if again := q.announces() && q.String() == "GET "+announcement || q.renews(); !again && (q.announces() || len(after) > 0) { // how often it renews, depends on the time
			after = append(after, q.String())
		}
	}
	_, domain, _ := strings.Cut(host, ".")
	want := []string{
		"PATCH announcement", "LIST leases", "PATCH leases/" + host, "GET leases/wc--any." + domain, "PATCH leases/" + kept.Name(id.Group()),
		"POST namespaces", "PATCH providerhosts/" + host, "PATCH ingresses/" + host, "DELETE announcement",
	}
	if diff := cmp.Diff(want, after); diff != "" {
		t.Errorf("requests after the reads (-want +got):\n%s", diff)
	}
}

// versions adds the objects of a namespace, as resource/name, with UID and version.
func versions(t *testing.T, out map[string]string, resource schema.GroupVersionResource, namespace string) {
	t.Helper()
	list, err := harness.Objects.Resource(resource).Namespace(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range list.Items {
		out[resource.Resource+"/"+o.GetName()] = string(o.GetUID()) + " " + o.GetResourceVersion()
	}
}

// A release deletes what serves before the claims, and each delete names the very object, in the
// very version, that was read.
func TestReleaseIsPinnedAndInOrder(t *testing.T) {
	t.Parallel()
	v4, _ := newRanges()
	r := record(t)
	r.config = configure(t, "ip: {ranges: ["+v4+"0/28]}")
	id, host := leaseOf(newTenant(t), 1), newHost("pinned")
	r.do(t, "apply", "-f", defineParts(t, id, service("web", served(host), leasedPart("public", "TCP", 443)), endpoint("public")))
	before := map[string]string{}
	for resource, namespace := range map[schema.GroupVersionResource]string{ingresses: id.Namespace(), services: id.Namespace(), hosts: manifests, leasedIPs: manifests, claims: ledger} {
		versions(t, before, resource, namespace)
	}
	r.sent()

	r.do(t, "release", id.Group().String())
	sent := slices.DeleteFunc(r.sent(), func(q request) bool { return !q.writes() })
	want := []string{
		"PATCH announcement",
		"DELETE leases/" + kept.Name(id.Group()), // nothing heals what is being released
		"DELETE ingresses/" + host, "DELETE services/web-ip-443-tcp",
		"DELETE providerhosts/" + host, "DELETE providerleasedips/" + id.Owner + "-ip-public-tcp-443",
		"DELETE leases/" + host, "DELETE leases/" + claimName(v4+"0"),
		"DELETE announcement",
	}
	if diff := cmp.Diff(want, writesOf(sent)); diff != "" {
		t.Errorf("writes, in their order (-want +got):\n%s", diff)
	}
	for _, q := range sent {
		if q.announces() {
			continue // there was none before
		}
		var options metav1.DeleteOptions
		if err := json.Unmarshal([]byte(q.body), &options); err != nil {
			t.Fatalf("%s: %v: %q", q, err, q.body)
		}
		resource, name := q.target()
		pin := options.Preconditions
		if pin == nil || pin.UID == nil || pin.ResourceVersion == nil {
			t.Errorf("%s is not pinned: %s", q, q.body)
			continue
		}
		if got := string(*pin.UID) + " " + *pin.ResourceVersion; before[resource+"/"+name] != got {
			t.Errorf("%s is pinned to %s, which is not what was there", q, got)
		}
	}
	r.do(t, "release", id.Group().String(), "--ignore-not-found").Prints(t, "holds nothing")
	if writes := writesOf(r.sent()); len(writes) > 0 {
		t.Errorf("the second release writes %s", strings.Join(writes, ", "))
	}
}
