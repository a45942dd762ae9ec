package commands

import (
	"fmt"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// akash is the field manager of Akash's provider and of its operators.
const akash = "provider-services"

// strip writes an object whole, as Akash's provider and its operators do: what they do not know is gone, and
// its labels, its spec and the time of its deployment are theirs to say again.
func strip(t *testing.T, resource schema.GroupVersionResource, namespace, name string) {
	t.Helper()
	o := need(t, resource, namespace, name)
	o.SetAnnotations(map[string]string{"akash.network/lease.updated_at": "2026-11-22T10:00:00Z"})
	o.SetManagedFields(nil)
	if _, err := harness.Objects.Resource(resource).Namespace(namespace).Update(t.Context(), o, metav1.UpdateOptions{FieldManager: akash}); err != nil {
		t.Fatal(err)
	}
}

// declare writes the ProviderHost and the Ingress of a host as Akash's provider and its operator do.
func declare(t *testing.T, id lease.ID, host string) {
	t.Helper()
	if find(t, namespaces, "", id.Namespace()) == nil {
		makeNamespace(t, id)
	}
	for _, o := range []struct {
		resource schema.GroupVersionResource
		text     string
	}{
		{hosts, fmt.Sprintf(`{apiVersion: akash.network/v2beta2, kind: ProviderHost, metadata: {name: %s, namespace: lease, labels: %s},
			spec: {owner: %s, provider: %s, hostname: %s, dseq: %d, gseq: %d, oseq: %d, service_name: web, external_port: 80}}`,
			host, toText(t, id.Labels()), id.Owner, id.Provider, host, id.DSeq, id.GSeq, id.OSeq)},
		{ingresses, fmt.Sprintf(`{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: %s, namespace: %s, labels: %s},
			spec: {ingressClassName: akash-ingress-class, rules: [{host: %s, http: {paths: [
				{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}}]}}`,
			host, id.Namespace(), toText(t, id.Labels()), host)},
	} {
		harness.Create(t, akash, o.resource, o.text)
	}
	removeLater(t, hosts, "lease", host)
	removeLater(t, ingresses, id.Namespace(), host)
}

// ownedBy are the objects of a lease, of all kinds.
func ownedBy(t *testing.T, id lease.ID) (names []string) {
	t.Helper()
	for _, resource := range []schema.GroupVersionResource{hosts, leasedIPs, ingresses, services} {
		list, err := harness.Objects.Resource(resource).List(t.Context(), metav1.ListOptions{LabelSelector: fmt.Sprintf("%s=%s,%s=%d", lease.LabelOwner, id.Owner, lease.LabelDSeq, id.DSeq)})
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range list.Items {
			names = append(names, resource.Resource+"/"+o.GetName())
		}
	}
	return names
}

// What Akash's operators have written over is still released: the managed fields name who made it.
func TestReleaseOfStrippedObjects(t *testing.T) {
	t.Parallel()
	id, host, subnet := leaseOf(newOwner(), 1), newDomain(), newNet()
	config := configure(t, "ip: {ranges: ["+subnet+"0/29]}")
	mustRun(t, 0, "apply", "--config", config, "-f", define(t, id, web("web", 8080, host), leased("game", "public", 7001)))
	made := ownedBy(t, id)
	if len(made) != 4 {
		t.Fatalf("the lease has %q", made)
	}
	strip(t, hosts, "lease", host)
	strip(t, ingresses, id.Namespace(), host)
	strip(t, leasedIPs, "lease", lease.LeasedIPName(lease.SharingKey(id.Owner, "public"), lease.TCP, 7001))
	strip(t, services, id.Namespace(), "game-ip-7001-tcp")
	mustRun(t, 0, "release", "--config", config, id.Group().String()).Prints(t,
		"ingress/"+host+" deleted", "service/game-ip-7001-tcp deleted", "providerhost/"+host+" deleted", "host/"+host+" released", "address/"+subnet+"0 released")
	if left := ownedBy(t, id); len(left) > 0 {
		t.Errorf("after the release there are %q", left)
	}
}

// What Akash's provider declares itself stays, and is claimed as long as it is there.
func TestReleaseOfWhatAkashDeclares(t *testing.T) {
	t.Parallel()
	id, host, ours := leaseOf(newOwner(), 1), newDomain(), newDomain()
	declare(t, id, host)
	mustRun(t, 0, "apply", "-f", define(t, id, web("web", 8080, host, ours)))
	strip(t, hosts, "lease", host)
	strip(t, ingresses, id.Namespace(), host)
	for range 2 {
		mustRun(t, 4, "release", id.Group().String()).Says(t, host, "Akash's provider declares it", "providerhost lease/"+host)
		if left := ownedBy(t, id); !slices.Equal(left, []string{"providerhosts/" + host, "ingresses/" + host}) {
			t.Errorf("after the release there are %q", left)
		}
		held(t, host, "1 /")
		held(t, ours)
	}
	if kinds := problemsOf(t, configure(t, "{}"), host); len(kinds) > 0 {
		t.Errorf("state --problems shows %q", kinds)
	}
	remove(t, hosts, "lease", host)
	remove(t, ingresses, id.Namespace(), host)
	mustRun(t, 0, "release", id.Group().String()).Prints(t, "host/"+host+" released")
	held(t, host)
}

// A route of ours whose ProviderHost Akash's provider made stays as it is: its operator keeps it.
func TestReleaseLeavesRouteOfAkashsHost(t *testing.T) {
	t.Parallel()
	id, host := leaseOf(newOwner(), 1), newDomain()
	declare(t, id, host)
	remove(t, ingresses, id.Namespace(), host)
	mustRun(t, 0, "apply", "-f", define(t, id, web("web", 8080, host)))
	strip(t, ingresses, id.Namespace(), host)
	before := need(t, ingresses, id.Namespace(), host)
	mustRun(t, 4, "release", id.Group().String()).Says(t, "providerhost lease/"+host)
	if now := need(t, ingresses, id.Namespace(), host); toText(t, now.Object["spec"]) != toText(t, before.Object["spec"]) {
		t.Errorf("the Ingress is now %v", now.Object)
	}
	held(t, host, "1 /")
	remove(t, hosts, "lease", host)
	mustRun(t, 0, "release", id.Group().String()).Prints(t, "ingress/"+host+" deleted", "host/"+host+" released")
}
