package guard_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state/reserved"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// meta is the metadata of an object as the program reads it.
func meta(t *testing.T, o *unstructured.Unstructured) *metav1.ObjectMeta {
	t.Helper()
	var typed metav1.PartialObjectMetadata
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &typed); err != nil {
		t.Fatal(err)
	}
	return &typed.ObjectMeta
}

// Objects that somebody writes into the ledger stop nobody whom they do not name: each command of another owner goes on, and each object is a
// problem with a repair. Who is named waits, and is told what for. With the guard they cannot be written: rules.
func oneObjectStopsNobody(t *testing.T) {
	harness.Node(t, "stops-1", nil, harness.Amounts("8", "16Gi"))
	named := harness.LeaseOf(bob, uint64(100+harness.Number()))
	soon := time.Now().UTC().Format(micro)
	run := func(name, groups, phase, renewed string, seconds int) string {
		return fmt.Sprintf(`{metadata: {namespace: akash-net, name: run--%s, labels: {net.akash.network/kind: run, net.akash.network/owner: run},
			annotations: {net.akash.network/ledger: v1, net.akash.network/groups: %q, net.akash.network/phase: %s}},
			spec: {holderIdentity: mallory@laptop, leaseDurationSeconds: %d, acquireTime: %q, renewTime: %[5]q}`, name, groups, phase, seconds, renewed)
	}
	reservation := func(name, order, bound string) string {
		return fmt.Sprintf(`{metadata: {namespace: akash-net, name: %s, labels: {net.akash.network/kind: resources, net.akash.network/owner: %s},
			annotations: {net.akash.network/ledger: v1, net.akash.network/order: %s, net.akash.network/bound: %q}}, spec: {holderIdentity: %[2]s}`, name, alice, order, bound)
	}
	var unreadable []string
	for _, text := range []string{
		run("mmmmmmmmmmmma", "", "closing", soon, 15), // two uninstalls that are none, which are no problem by themselves
		run("mmmmmmmmmmmmb", "", "closing", "9999-01-01T00:00:00.000000Z", 2147483647),
		run("mmmmmmmmmmmmc", alice+"/99999999999999999999999/1", "active", soon, 15),
		run("mmmmmmmmmmmmd", "", "active", soon, 15),
		run("mmmmmmmmmmmme", alice+"/1/1", "asleep", soon, 15),
		strings.Replace(run("mmmmmmmmmmmmf", alice+"/1/1", "active", soon, 15), "ledger: v1", "ledger: v2", 1),
		strings.Replace(run("mmmmmmmmmmmmg", alice+"/1/1", "active", soon, 15), "spec:", "was:", 1),
		reservation("rs--yyy", alice+"/7/1/8", `{"asked":"a","hold":{}}`), // a name that is no hash
		reservation(reserved.Name(lease.Order{Owner: alice, DSeq: 7, GSeq: 1, OSeq: 8}), alice+"/7/1/8", "x"),
		reservation("rs--"+strings.Repeat("v", 52), "x", `{"asked":"a","hold":{}}`),
		run("nnnnnnnnnnnnn", named.Group().String()+" "+alice+"/99999999999999999999999/1", "active", soon, 15),
	} {
		o := harness.Create(t, lease.FieldManager, leases, text+", apiVersion: coordination.k8s.io/v1, kind: Lease}")
		t.Cleanup(func() {
			_ = harness.Objects.Resource(leases).Namespace(ledger).Delete(context.WithoutCancel(t.Context()), o.GetName(), metav1.DeleteOptions{}) // a repair deletes it
		})
		if !strings.Contains(text, "closing") {
			unreadable = append(unreadable, "UnreadableClaim/"+o.GetName())
		}
	}
	id := harness.LeaseOf(bob, named.DSeq+1000)
	next := harness.LeaseOf(bob, named.DSeq+2000).String()
	order := id.Group().String() + "/1"
	host := harness.NewHost("web")
	file, waits := define(t, id, []string{host}), define(t, named, []string{harness.NewHost("waits")})
	for _, args := range [][]string{
		{"reserve", "-f", file}, {"apply", "-f", file}, {"check", "-f", file}, {"state"}, {"state", "lease", id.String()}, {"explain", host},
		{"order", "reserve", order, "-f", bid(t, 1)}, {"state", "orders"}, {"order", "release", order},
		{"transfer", host, "--to", next}, {"release", next}, {"release", id.String(), "--ignore-not-found"},
	} {
		must(t, args...)
	}
	harness.Run(t.Context(), "apply", "-f", waits).Exits(t, 1).Says(t, "run--nnnnnnnnnnnnn", "99999999999999999999999", "kubectl akash-net repair UnreadableClaim/run--nnnnnnnnnnnnn")
	harness.Run(t.Context(), "state", "--problems", "-o", "name").Prints(t, unreadable...)
	for _, problem := range unreadable {
		must(t, "repair", problem)
		if name := strings.TrimPrefix(problem, "UnreadableClaim/"); harness.Find(t, leases, ledger, name) != nil {
			t.Errorf("the repair has left %s", name)
		}
	}
	must(t, "apply", "-f", waits)
	must(t, "release", named.String())
}

// guessing is a LoadBalancer Service that names a sharing key.
func guessing(namespace, name, key, address string) string {
	return fmt.Sprintf(`{apiVersion: v1, kind: Service, metadata: {namespace: %s, name: %s, annotations: {metallb.io/allow-shared-ip: %s, metallb.io/loadBalancerIPs: %q}},
		spec: {type: LoadBalancer, ports: [{port: 25}]}}`, namespace, name, key, address)
}

func awaitAddress(t *testing.T, namespace, name, address string) {
	t.Helper()
	harness.Eventually(t, name+" is granted "+address, func(context.Context) (bool, error) {
		granted, _, err := unstructured.NestedSlice(harness.Need(t, services, namespace, name).Object, "status", "loadBalancer", "ingress")
		return len(granted) > 0 && granted[0].(map[string]any)["ip"] == address, err
	})
}

// Bob's Service names alice's sharing key and asks for alice's address: without the guard he gets it.
func guessedSharingKey(t *testing.T) {
	const address = "203.0.113.0"
	awaitAddress(t, aliceLease.Namespace(), "web-ip-443-tcp", address)
	harness.Create(t, "somebody", services, guessing(bobLease.Namespace(), "guess", alice+"-ip-public", address))
	awaitAddress(t, bobLease.Namespace(), "guess", address)
	harness.Remove(t, services, bobLease.Namespace(), "guess")
}

// makeOld makes what the guard would refuse, before it is there: a Service with another's key, and a Lease that is no claim.
func makeOld(t *testing.T) {
	harness.Create(t, "somebody", services, guessing("default", "old", alice+"-ip-other", ""))
	harness.Create(t, "somebody", leases, `{apiVersion: coordination.k8s.io/v1, kind: Lease,
		metadata: {name: ends.example.com, namespace: akash-net, finalizers: [example.com/test]}}`)
}

// Sharing keys that have nothing to do with Akash work as before, and a Service that names another's key since before the guard can still be
// written and deleted.
func foreignServicesWorkOn(t *testing.T) {
	harness.Create(t, "somebody", services, guessing("default", "foreign", "web", "203.0.113.14"))
	awaitAddress(t, "default", "foreign", "203.0.113.14")
	for _, args := range [][]string{{"label", "service", "old", "foreign", "seen=true"}, {"delete", "service", "old", "foreign"}} {
		if err := harness.Kubectl(t.Context(), "", nil, args...); err != nil {
			t.Error(err)
		}
	}
}
