package commands

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/lease"
)

// providerServices is the field manager of what Akash's provider writes.
const providerServices = "provider-services"

func labelsOf(id lease.ID) string {
	return fmt.Sprintf(`{akash.network: "true", akash.network/lease.id.owner: %s, akash.network/lease.id.dseq: "%d",
		akash.network/lease.id.gseq: "%d", akash.network/lease.id.oseq: "%d", akash.network/lease.id.provider: %s}`,
		id.Owner, id.DSeq, id.GSeq, id.OSeq, id.Provider)
}

// deployHost writes what Akash's provider writes for a host of a lease: namespace, ProviderHost
// and Ingress.
func deployHost(t *testing.T, id lease.ID, host string) (providerHost, ingress *unstructured.Unstructured) {
	t.Helper()
	namespace := id.Namespace()
	if find(t, namespaces, "", namespace) == nil {
		createAs(t, providerServices, namespaces, fmt.Sprintf(`{apiVersion: v1, kind: Namespace, metadata: {name: %s, labels: %s}}`, namespace, labelsOf(id)))
	}
	providerHost = createAs(t, providerServices, hosts, fmt.Sprintf(`{apiVersion: akash.network/v2beta2, kind: ProviderHost,
		metadata: {name: %s, namespace: lease, labels: %s, annotations: {akash.network/lease.updated_at: "2026-11-01T10:00:00Z"}},
		spec: {owner: %s, provider: %s, hostname: %s, dseq: %d, gseq: %d, oseq: %d, service_name: web, external_port: 80}}`,
		host, labelsOf(id), id.Owner, id.Provider, host, id.DSeq, id.GSeq, id.OSeq))
	return providerHost, deployRoute(t, id, host)
}

// deployRoute writes the Ingress that Akash's hostname operator makes for a host of a lease.
func deployRoute(t *testing.T, id lease.ID, host string) *unstructured.Unstructured {
	t.Helper()
	return createAs(t, providerServices, ingresses, fmt.Sprintf(`{apiVersion: networking.k8s.io/v1, kind: Ingress,
		metadata: {name: %s, namespace: %s, labels: %s, annotations: {nginx.ingress.kubernetes.io/proxy-body-size: "1048576"}},
		spec: {ingressClassName: akash-ingress-class, rules: [{host: %s, http: {paths: [
			{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}}]}}`,
		host, id.Namespace(), labelsOf(id), host))
}

// What Akash's provider wrote for another owner's lease makes a host held, without any claim.
func TestHostOfAkashsProviderIsHeld(t *testing.T) {
	t.Parallel()
	host, theirs, ours := newHost("akash"), leaseOf(newTenant(), 3), leaseOf(newTenant(), 1)
	deployHost(t, theirs, host)
	admin().run(t, "apply", "-f", defineParts(t, ours, webPart(host))).Exits(t, 4).Says(t, host, theirs.Group().String(), theirs.Namespace())
	if got := append(objectsOf(t, ours), claimsOf(t, ours.Owner)...); len(got) > 0 {
		t.Errorf("the refused lease has %v", got)
	}
	admin().run(t, "apply", "-f", defineParts(t, leaseOf(theirs.Owner, 4), webPart(host))).Exits(t, 0).Prints(t, host+" withheld", theirs.Group().String())
}

// For its own lease a host is claimed, and the objects stay what they are.
func TestHostOfAkashsProviderIsClaimed(t *testing.T) {
	t.Parallel()
	host, id := newHost("akash"), leaseOf(newTenant(), 1)
	providerHost, ingress := deployHost(t, id, host)
	admin().do(t, "apply", "-f", defineParts(t, id, webPart(host))).Prints(t, "host/"+host+" claimed", "ingress/"+host+" configured")
	now := need(t, hosts, manifests, host)
	if now.GetUID() != providerHost.GetUID() || now.GetAnnotations()["akash.network/lease.updated_at"] != "2026-11-01T10:00:00Z" {
		t.Errorf("the ProviderHost is another: %v", now.Object)
	}
	if diff := cmp.Diff(providerHost.Object["spec"], now.Object["spec"]); diff != "" {
		t.Errorf("the ProviderHost's spec (-before +after):\n%s", diff)
	}
	now = need(t, ingresses, id.Namespace(), host)
	if diff := cmp.Diff(ingress.Object["spec"], now.Object["spec"]); diff != "" || now.GetUID() != ingress.GetUID() {
		t.Errorf("the Ingress (-before +after):\n%s", diff)
	}
	admin().do(t, "apply", "-f", defineParts(t, id, webPart(host))).Prints(t, "unchanged")

	// What the provider wrote stays its own when the lease is released, and is claimed while it is there.
	admin().run(t, "release", id.Group().String()).Exits(t, 4).Prints(t, "ingress/"+host+" left (Akash's provider declares it too)").Says(t, "host "+host+" is kept")
	now = need(t, ingresses, id.Namespace(), host)
	if diff := cmp.Diff(ingress.Object["spec"], now.Object["spec"]); diff != "" || now.GetUID() != ingress.GetUID() {
		t.Errorf("the Ingress after the release (-before +after):\n%s", diff)
	}
	if hash, set := now.GetAnnotations()[lease.AnnotationDefinition]; set {
		t.Errorf("the Ingress still has our annotation %s", hash)
	}
}

// A release leaves what only Akash's provider wrote, and says so.
func TestReleaseLeavesAkashsObjects(t *testing.T) {
	t.Parallel()
	theirs, ours, id := newHost("theirs"), newHost("ours"), leaseOf(newTenant(), 1)
	deployHost(t, id, theirs)
	admin().do(t, "apply", "-f", defineParts(t, id, webPart(ours)))
	admin().do(t, "release", id.Group().String()).Prints(t, "host/"+ours+" released", "keeps 2 objects that Akash's provider wrote")
	if diff := cmp.Diff([]string{"ingresses/" + theirs, "providerhosts/" + theirs}, objectsOf(t, id)); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
}

// Leases come from the Manifest objects that Akash's provider keeps.
func TestFromCluster(t *testing.T) {
	t.Parallel()
	host, id := newHost("manifest"), leaseOf(newTenant(), 1)
	createAs(t, providerServices, akashManifests, fmt.Sprintf(`{apiVersion: akash.network/v2beta2, kind: Manifest,
		metadata: {name: %s, namespace: lease, labels: %s},
		spec: {lease_id: {owner: %s, dseq: "%d", gseq: %d, oseq: %d, provider: %s}, group: {name: dcloud, services: [
			{name: web, image: nginx, count: 1, expose: [
				{port: 8080, external_port: 80, proto: TCP, global: true, hosts: [%s], endpoint_sequence_number: 0},
				{port: 443, proto: TCP, global: true, ip: public, endpoint_sequence_number: 1}]}]}}}`,
		id.Namespace(), labelsOf(id), id.Owner, id.DSeq, id.GSeq, id.OSeq, id.Provider, host))

	var document struct {
		Kind string
		Spec struct {
			Lease    struct{ Owner string }
			Services []struct {
				Expose []struct {
					Hosts []string
					IP    string
				}
			}
		}
	}
	out := admin().do(t, "convert", "--from-cluster", "--lease", id.String(), "-o", "json")
	if err := json.Unmarshal([]byte(out.Stdout), &document); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if document.Kind != "LeaseDefinition" || document.Spec.Lease.Owner != id.Owner {
		t.Errorf("converted to %s", out)
	}
	admin().do(t, "convert", "--from-cluster").Prints(t, id.Owner, host)

	admin().do(t, "apply", "--from-cluster", "--lease", id.String()).Prints(t, "host/"+host+" claimed", "service/web-ip-443-tcp granted 203.0.113.")
	need(t, ingresses, id.Namespace(), host)
	admin().run(t, "apply", "--from-cluster", "--lease", leaseOf(id.Owner, 99).String()).Exits(t, 3).Says(t, "no Manifest object")
}
