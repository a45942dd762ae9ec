package commands

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// sendManifest writes what Akash's provider keeps of a lease whose tenant has sent the manifest.
func sendManifest(t *testing.T, id lease.ID) {
	t.Helper()
	createAs(t, providerServices, akashManifests, fmt.Sprintf(`{apiVersion: akash.network/v2beta2, kind: Manifest,
		metadata: {name: %s, namespace: lease, labels: %s},
		spec: {lease_id: {owner: %s, dseq: "%d", gseq: %d, oseq: %d, provider: %s}, group: {name: dcloud, services: [
			{name: web, image: nginx, count: 1, expose: [{port: 8080, external_port: 80, proto: TCP, global: true, endpoint_sequence_number: 0,
				http_options: {max_body_size: 1048576, read_timeout: 60000, send_timeout: 60000, next_tries: 3, next_timeout: 0, next_cases: [error, timeout]}}]}]}}}`,
		id.Namespace(), labelsOf(id), id.Owner, id.DSeq, id.GSeq, id.OSeq, id.Provider))
}

// managers are the field managers of an object.
func managersOf(t *testing.T, resource schema.GroupVersionResource, namespace, name string) []string {
	t.Helper()
	var out []string
	for _, m := range need(t, resource, namespace, name).GetManagedFields() {
		out = append(out, m.Manager)
	}
	return slices.Compact(out)
}

// Where Akash's hostname operator runs, apply writes the claims and the ProviderHosts, and the operator
// makes the routes, moves them, and removes them.
func TestHostnameOperator(t *testing.T) {
	t.Parallel()
	owner := newTenant()
	blue, green := leaseOf(owner, 1), leaseOf(owner, 2)
	stays, goes := newHost("stays"), newHost("goes")
	operate(t, owner)
	sendManifest(t, blue)
	sendManifest(t, green)
	r := record(t)

	r.do(t, "apply", "--operators=on", "-f", defineParts(t, blue, webPart(stays, goes))).Prints(t,
		"providerhost/"+stays+" created", "ingress/"+stays+" left (to Akash's operator)", "by Akash's hostname operator")
	for _, q := range r.sent() {
		if q.writes() && strings.Contains(q.String(), "ingresses") {
			t.Errorf("apply sent %s", q)
		}
	}
	if got := managersOf(t, ingresses, blue.Namespace(), stays); !slices.Equal(got, []string{providerServices}) {
		t.Errorf("the Ingress is of %v", got)
	}
	touched := need(t, hosts, manifests, stays).GetAnnotations()[lease.AnnotationUpdatedAt]
	if touched == "" {
		t.Error("the ProviderHost does not say when it was deployed")
	}

	// What is as it should be is not written again.
	r.do(t, "apply", "--operators=on", "-f", defineParts(t, blue, webPart(stays, goes))).Prints(t, "unchanged")
	if writes := writesOf(r.sent()); len(writes) > 0 {
		t.Errorf("the second apply writes %v", writes)
	}

	// A host that is dropped is free only when its route is gone.
	r.do(t, "apply", "--operators=on", "-f", defineParts(t, blue, webPart(stays))).Prints(t, "providerhost/"+goes+" pruned", "host/"+goes+" pruned")
	absent(t, ingresses, blue.Namespace(), goes)

	// A transfer changes the ProviderHost; the operator moves the route.
	r.do(t, "apply", "--operators=on", "-f", defineParts(t, green, webPart(stays))).Prints(t, stays+" withheld")
	r.do(t, "transfer", "--operators=on", stays, "--to", green.String()).Prints(t, "host/"+stays+" transferred")
	eventually(t, "the route moves", present(t, ingresses, green.Namespace(), stays))
	absent(t, ingresses, blue.Namespace(), stays)

	r.do(t, "release", "--operators=on", green.Group().String()).Prints(t, "host/"+stays+" released")
	absent(t, ingresses, green.Namespace(), stays)
	if got := claimsOf(t, owner); len(got) > 0 {
		t.Errorf("after the release there are %v", got)
	}
}

// A lease that the hostname operator would ignore is refused before anything is claimed.
func TestHostnameOperatorNeedsTheManifest(t *testing.T) {
	t.Parallel()
	id, host := leaseOf(newTenant(), 1), newHost("early")
	admin().run(t, "apply", "--operators=on", "-f", defineParts(t, id, webPart(host))).Exits(t, 1).Says(t, "no Manifest in namespace lease", "Nothing was changed")
	sendManifest(t, id)
	admin().run(t, "apply", "--operators=on", "-f", defineParts(t, id, service("shop", served(host)))).Exits(t, 1).Says(t, "no service shop")
	if got := append(objectsOf(t, id), claimsOf(t, id.Owner)...); len(got) > 0 {
		t.Errorf("the refused lease has %v", got)
	}
}

// An operator that does not come is waited for, and the same command goes on later.
func TestHostnameOperatorIsLate(t *testing.T) {
	t.Parallel()
	id, host := leaseOf(newTenant(), 1), newHost("late")
	sendManifest(t, id)
	definition := defineParts(t, id, webPart(host))
	admin().run(t, "apply", "--operators=on", "--timeout=300ms", "-f", definition).Exits(t, 5).Says(t, "Akash's hostname operator to route "+host)
	unmarked(t, id.Owner)
	deployRoute(t, id, host)
	admin().do(t, "apply", "--operators=on", "-f", definition).Prints(t, "unchanged")

	// As long as the route stands the host is not free.
	admin().run(t, "release", "--operators=on", "--timeout=300ms", id.Group().String()).Exits(t, 5).Says(t, "Akash's operator to remove ingress")
	if got := claimsOf(t, id.Owner); len(got) != 1 {
		t.Errorf("the claims are %v", got)
	}
	remove(t, ingresses, id.Namespace(), host)
	admin().do(t, "release", "--operators=on", id.Group().String()).Prints(t, "host/"+host+" released")
}

// The IP operator leaves the choice of the address to MetalLB: with addresses of the ledger it cannot be.
func TestIPOperator(t *testing.T) {
	t.Parallel()
	id := leaseOf(newTenant(), 1)
	operate(t, id.Owner)
	v4, _ := newRanges()
	makeOwnPool(t, "operators", v4+"0/30")
	definition := defineParts(t, id, service("game", leasedPart("public", "UDP", 27015)), endpoint("public"))
	admin().run(t, "apply", "--operators=on", "-f", definition).Exits(t, 1).Says(t, "ip.mode")
	if got := claimsOf(t, id.Owner); len(got) > 0 {
		t.Errorf("the refused lease has %v", got)
	}
	pool := admin().with(configure(t, "ip: {mode: pool, pool: operators}"))
	pool.do(t, "apply", "--operators=on", "-f", definition).Prints(t, "service/game-ip-27015-udp left (to Akash's operator)", "granted "+v4)
	if got := managersOf(t, services, id.Namespace(), "game-ip-27015-udp"); slices.Contains(got, "akash-net") {
		t.Errorf("the Service is of %v", got)
	}
	pool.do(t, "apply", "--operators=on", "-f", definition).Prints(t, "unchanged")
	pool.do(t, "release", "--operators=on", id.Group().String())
	absent(t, services, id.Namespace(), "game-ip-27015-udp")
}

// Without a word of it, the operators' Deployments tell. This test changes what all others see, so
// it does not run beside them.
func TestOperatorsAreFound(t *testing.T) {
	id, host := leaseOf(newTenant(), 1), newHost("found")
	sendManifest(t, id)
	definition := defineParts(t, id, webPart(host))
	deployments := schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	createAs(t, "helm", deployments, `{apiVersion: apps/v1, kind: Deployment, metadata: {name: operator-hostname, namespace: akash-services},
		spec: {selector: {matchLabels: {app: x}}, template: {metadata: {labels: {app: x}}, spec: {containers: [{name: x, image: x}]}}}}`)
	t.Cleanup(func() { // the test's own context has ended by then
		if err := harness.Objects.Resource(deployments).Namespace("akash-services").Delete(context.Background(), "operator-hostname", metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	admin().do(t, "apply", "--wait=false", "-f", definition).Prints(t, "ingress/"+host+" left (to Akash's operator)")
	absent(t, ingresses, id.Namespace(), host)
	remove(t, deployments, "akash-services", "operator-hostname")
	createAs(t, "helm", deployments, `{apiVersion: apps/v1, kind: Deployment, metadata: {name: operator-hostname, namespace: akash-services},
		spec: {replicas: 0, selector: {matchLabels: {app: x}}, template: {metadata: {labels: {app: x}}, spec: {containers: [{name: x, image: x}]}}}}`)
	admin().do(t, "apply", "-f", definition).Prints(t, "ingress/"+host+" created")
	admin().do(t, "release", id.Group().String())
}
