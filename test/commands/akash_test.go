package commands

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/test/harness"
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

// What Akash's provider wrote for another owner's lease makes a host held, without any claim. For its own lease a host is claimed, and the
// objects stay what they are, also after a release, which says that it leaves them.
func TestHostOfAkashsProvider(t *testing.T) {
	t.Parallel()
	host, id, other := newHost("akash"), leaseOf(newTenant(t), 3), leaseOf(newTenant(t), 1)
	providerHost, ingress := deployHost(t, id, host)
	mustRun(t, 4, "apply", "-f", defineParts(t, other, webPart(host))).Says(t, host, id.Group().String(), id.Namespace())
	if got := append(objectsOf(t, other), claimsOf(t, other.Owner)...); len(got) > 0 {
		t.Errorf("the refused lease has %v", got)
	}
	mustRun(t, 0, "apply", "-f", defineParts(t, leaseOf(id.Owner, 4), webPart(host))).Prints(t, host+" withheld", id.Group().String())

	same := func(resource schema.GroupVersionResource, namespace string, was *unstructured.Unstructured) map[string]string {
		t.Helper()
		now := need(t, resource, namespace, host)
		if diff := cmp.Diff(was.Object["spec"], now.Object["spec"]); diff != "" || now.GetUID() != was.GetUID() {
			t.Errorf("%s (-before +after):\n%s", resource.Resource, diff)
		}
		return now.GetAnnotations()
	}
	mustRun(t, 0, "apply", "-f", defineParts(t, id, webPart(host))).Prints(t, "host/"+host+" claimed", "ingress/"+host+" configured")
	if at := same(hosts, manifests, providerHost)["akash.network/lease.updated_at"]; at != "2026-11-01T10:00:00Z" {
		t.Errorf("the ProviderHost was updated at %q", at)
	}
	same(ingresses, id.Namespace(), ingress)
	mustRun(t, 0, "apply", "-f", defineParts(t, id, webPart(host))).Prints(t, "unchanged")
	mustRun(t, 4, "release", id.Group().String()).Prints(t, "ingress/"+host+" kept (Akash's provider declares it too)").Says(t, "host "+host+" is kept")
	if hash, set := same(ingresses, id.Namespace(), ingress)[lease.AnnotationDefinition]; set {
		t.Errorf("the Ingress still has our annotation %s", hash)
	}

	// The book shows it, as not claimed, and a release leaves what only Akash's provider wrote.
	theirs, ours, id := newHost("theirs"), newHost("ours"), leaseOf(newTenant(t), 1)
	deployHost(t, id, theirs)
	want := []row{{Host: theirs, Lease: id.String(), Owner: id.Owner, Namespace: id.Namespace(), Service: "web", Port: 80, Target: "ingress", State: "Active"}}
	if diff := cmp.Diff(want, readBook(t, admin(), "-l", ofOwner(id.Owner)).Hosts); diff != "" {
		t.Errorf("hosts (-want +got):\n%s", diff)
	}
	mustRun(t, 0, "apply", "-f", defineParts(t, id, webPart(ours)))
	mustRun(t, 0, "release", id.Group().String()).Prints(t, "host/"+ours+" released", "keeps 2 objects that Akash's provider wrote")
	if diff := cmp.Diff([]string{"ingresses/" + theirs, "providerhosts/" + theirs}, objectsOf(t, id)); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
}

// What Akash's provider writes while an apply is refused is not overwritten: the apply goes by the managers
// of the object that it has read since.
func TestAkashWritesWhileAnApplyIsRefused(t *testing.T) {
	t.Parallel()
	host, former := newDomain(), leaseOf(newOwner(t), 1)
	next := leaseOf(former.Owner, 2)
	mustRun(t, 0, "apply", "-f", define(t, former, web("web", 8080, host)))
	mustRun(t, 0, "transfer", "host/"+host, "--to", next.String())
	asAkash := func(service string) {
		harness.Edit(t, providerServices, hosts, manifests, host, func(o *object) {
			o.SetLabels(next.Labels())
			spec := o.Object["spec"].(map[string]any)
			spec["dseq"], spec["service_name"] = int64(next.DSeq), service
		})
	}
	asAkash("web")
	wrote := sync.OnceFunc(func() { asAkash("other") })
	p := startProxy(t, func(write string) bool {
		if write == "PATCH providerhosts/"+host {
			wrote()
		}
		return false
	})
	out := mustRun(t, 1, "apply", "--kubeconfig", p.kubeconfig, "-f", define(t, next, web("web", 8080, host))).Says(t, providerServices)
	if spec := toText(t, need(t, hosts, manifests, host).Object["spec"]); !strings.Contains(spec, `"service_name":"other"`) {
		t.Errorf("the ProviderHost is %s: %s", spec, out)
	}
}

// Leases come from the Manifest objects that Akash's provider keeps, which are those of many tenants: a bad one is named with its mend, and
// stops no other.
func TestFromCluster(t *testing.T) {
	t.Parallel()
	namespace, blocked, domain, subnet := fmt.Sprint("manifests-", harness.Number()), newDomain(), newDomain(), newNet()
	create(t, namespaces, "{apiVersion: v1, kind: Namespace, metadata: {name: "+namespace+"}}")
	cfg := configure(t, "manifestNamespace: "+namespace, "hosts: {blocked: ["+blocked+"]}", "ip: {ranges: ["+subnet+"0/30]}")
	manifest := func(id lease.ID, exposes ...string) string {
		t.Helper()
		createAs(t, providerServices, akashManifests, fmt.Sprintf(`{apiVersion: akash.network/v2beta2, kind: Manifest, metadata: {name: %s, namespace: %s, labels: %s},
			spec: {lease_id: {owner: %s, dseq: "%d", gseq: 1, oseq: %d, provider: %s},
			group: {name: dcloud, services: [{name: web, image: nginx, count: 1, expose: [%s]}]}}}`,
			id.Namespace(), namespace, labelsOf(id), id.Owner, id.DSeq, id.OSeq, id.Provider, strings.Join(exposes, ", ")))
		return id.Namespace()
	}
	serves := func(host string) string {
		return "{port: 8080, external_port: 80, proto: TCP, global: true, hosts: [" + host + "], endpoint_sequence_number: 0}"
	}
	good, upper, twice := leaseOf(newOwner(t), 1), leaseOf(newOwner(t), 1), leaseOf(newOwner(t), 1)
	again := twice
	again.OSeq++
	manifest(good, serves("good."+domain), "{port: 443, proto: TCP, global: true, ip: public, endpoint_sequence_number: 1}")
	bad := map[string]string{
		manifest(upper, serves("UPPER."+domain)):                                  "is not lower case",
		manifest(leaseOf(newOwner(t), 1), serves(blocked)):                        "blocked",
		manifest(leaseOf(newOwner(t), 1), "{port: 22, proto: TCP, global: true}"): "defines no host and no address",
		manifest(twice, serves("twice."+domain)):                                  "has 2 Manifests, and nothing is changed for it; delete that of a lease that is over: kubectl -n " + namespace + " delete manifests.akash.network " + twice.Namespace(),
		manifest(again, serves("twice."+domain)):                                  "has 2 Manifests",
	}
	do := func(code int, args ...string) result {
		t.Helper()
		return mustRun(t, code, append(args, "--from-cluster", "--config", cfg)...)
	}
	named := func(out result) result {
		t.Helper()
		for name, why := range bad {
			line := strings.Join(slices.DeleteFunc(lines(out.Stderr, "manifests/"+name), func(l string) bool { return !strings.HasPrefix(l, "manifests/") }), "\n")
			if mend := "kubectl -n " + namespace + " edit manifests.akash.network " + name; !strings.Contains(line, why) || !strings.Contains(out.Stderr, mend) && !strings.Contains(line, "; ") {
				t.Errorf("Manifest %s: %q, want %q and a mend: %s", name, line, why, out)
			}
		}
		return out
	}
	do(0, "convert", "--lease", good.String(), "-o", "json").Prints(t, `"kind": "LeaseDefinition"`, good.Owner, "good."+domain, `"ip": "public"`)
	named(do(3, "diff")).Prints(t, "good."+domain)
	named(do(3, "apply", "--dry-run=client")).Prints(t, "host/good."+domain+" claimed (dry run)")
	named(do(3, "apply")).Prints(t, "host/good."+domain+" claimed", "service/web-ip-443-tcp granted "+subnet)
	held(t, "good."+domain, "1 /")
	held(t, "twice."+domain)
	do(3, "reserve").Prints(t, "lease "+good.Group().String()+" is reserved: 1 host, 1 address ("+subnet+"0), unchanged, ").Says(t, "UPPER."+domain)
	do(3, "repair", "-n", good.Namespace()).Says(t, "Nothing to repair.", "UPPER."+domain)

	// A bad one alone is an error of its lease alone, and so are those in files.
	do(3, "apply", "--lease", upper.String()).Says(t, "is not lower case", "is skipped")
	do(0, "apply", "--lease", good.String(), "--wait=false")
	do(3, "apply", "--lease", leaseOf(good.Owner, 99).String()).Says(t, "no Manifest object")
}
