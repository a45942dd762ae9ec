package commands

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
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

// restore deletes an object and makes it again as a restore from a backup does: nobody has applied
// anything of it.
func restore(t *testing.T, resource schema.GroupVersionResource, namespace, name string) *object {
	t.Helper()
	o := need(t, resource, namespace, name)
	remove(t, resource, namespace, name)
	eventually(t, "the deletion of "+name, func(context.Context) (bool, error) { return find(t, resource, namespace, name) == nil, nil })
	o.SetManagedFields(nil)
	o.SetResourceVersion("")
	o.SetUID("")
	made, err := harness.Objects.Resource(resource).Namespace(namespace).Create(t.Context(), o, metav1.CreateOptions{FieldManager: "velero-server"})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// What Akash's operators have written over is still released: the managed fields name who made it.
func TestReleaseOfStrippedObjects(t *testing.T) {
	t.Parallel()
	id, host, subnet := leaseOf(newOwner(t), 1), newDomain(), newNet()
	config := configure(t, "ip: {ranges: ["+subnet+"0/29]}")
	mustRun(t, 0, "apply", "--config", config, "-f", define(t, id, web("web", 8080, host), leased("game", "public", 7001)))
	if made := ownedBy(t, id); len(made) != 4 {
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
	id, host, ours := leaseOf(newOwner(t), 1), newDomain(), newDomain()
	declare(t, id, host)
	mustRun(t, 0, "apply", "-f", define(t, id, web("web", 8080, host, ours)))
	strip(t, hosts, "lease", host)
	strip(t, ingresses, id.Namespace(), host)
	mustRun(t, 4, "release", id.Group().String()).Says(t, host, "Akash's provider declares it", "providerhost lease/"+host)
	if left := ownedBy(t, id); !slices.Equal(left, []string{"providerhosts/" + host, "ingresses/" + host}) {
		t.Errorf("after the release there are %q", left)
	}
	held(t, host, "1 /")
	held(t, ours)
	remove(t, hosts, "lease", host)
	remove(t, ingresses, id.Namespace(), host)
	mustRun(t, 0, "release", id.Group().String()).Prints(t, "host/"+host+" released")
	held(t, host)
}

// A claim that was restored from a backup says itself whose it is: each lease gives up its part and no other, a transfer moves it, and
// an apply ends the run that had marked it.
func TestRestoredClaim(t *testing.T) {
	t.Parallel()
	owner, host := newOwner(t), newDomain()
	blue, green := leaseOf(owner, 1), leaseOf(owner, 2)
	mustRun(t, 0, "reserve", "--lease", blue.String(), host)
	mustRun(t, 0, "reserve", "--lease", green.String(), host+"/v2")
	restore(t, claims, ledger, host)
	mustRun(t, 4, "reserve", "--lease", leaseOf(newOwner(t), 1).String(), host).Says(t, blue.Group().String())
	mustRun(t, 0, "release", blue.Group().String()).Prints(t, "host/"+host+" released")
	held(t, host, "2 /v2")
	mustRun(t, 1, "release", blue.Group().String()).Prints(t, "holds nothing")
	mustRun(t, 0, "release", green.Group().String()).Prints(t, "host/"+host+" released")
	held(t, host)

	plant(t, state.HostWant{Host: host}.Hold(blue), func(p *state.Part) { p.Run = "crashed" })
	restore(t, claims, ledger, host)
	mustRun(t, 0, "apply", "--wait=false", "--assume-crashed", "-f", define(t, blue, web("web", 8080, host)))
	if c := claim(t, host); c.Marked() || c.Part(state.RouteKey("/")).Service != "web" {
		t.Errorf("the claim is %+v", c)
	}
	restore(t, claims, ledger, host)
	mustRun(t, 0, "transfer", host, "--to", green.String())
	held(t, host, "2 /")
}

// A claim is kept as long as a route for it is there, however it is given up, and whether or not the command waits: another
// finalizer than a record's keeps it as well. The same command goes on.
func TestClaimOutlivesRoute(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"pruned", "released", "all"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			goes, stays := "goes."+newDomain(), "stays."+newDomain()
			id, other := leaseOf(newOwner(t), 1), leaseOf(newOwner(t), 2)
			ends := map[string][]string{
				"pruned":   {"apply", "-f", define(t, id, web("web", 80, stays)), "--assume-serving"},
				"released": {"release", id.String(), goes},
				"all":      {"release", id.String()},
			}[name]
			mustRun(t, 0, "apply", "-f", define(t, id, web("web", 80, goes, stays)), "--wait=false")
			change(t, ingresses, id.Namespace(), goes, func(o *object) { o.SetFinalizers([]string{"example.com/held"}) })
			kept := "ingress " + id.Namespace() + "/" + goes + " to be gone (finalizers [example.com/held]); its claim is kept until then"
			r := mustRun(t, 5, append(ends, "--wait=false")...).Says(t, "not waited for:", kept)
			// The server has not said that it is gone.
			if r.Prints(t, "ingress/"+goes+" deleting (finalizers [example.com/held])"); regexp.MustCompile("ingress/" + goes + " (deleted|pruned)").MatchString(r.Stdout) {
				t.Errorf("said to be gone: %s", r)
			}
			mustRun(t, 5, append(ends, "--timeout=300ms")...).Says(t, "timed out after 300ms", kept)
			mustRun(t, 4, "reserve", "--lease", other.String(), goes)
			mustRun(t, 1, "state", "--problems", "-n", id.Namespace()).Prints(t, "Terminating", "ingress/"+goes,
				"it is being deleted, and kept by its finalizers example.com/held", "kubectl -n "+id.Namespace()+" edit ingress/"+goes)
			change(t, ingresses, id.Namespace(), goes, func(o *object) { o.SetFinalizers(nil) })
			mustRun(t, 0, append(ends, "--wait=false")...)
			mustRun(t, 0, "reserve", "--lease", other.String(), goes)
		})
	}
}

// An object with finalizers is deleting, and deleted once it is gone.
func TestDeletingBeforeDeleted(t *testing.T) {
	t.Parallel()
	host := "ends." + newDomain()
	id := leaseOf(newOwner(t), 1)
	mustRun(t, 0, "apply", "-f", define(t, id, web("web", 80, host)), "--wait=false")
	change(t, ingresses, id.Namespace(), host, func(o *object) { o.SetFinalizers([]string{"example.com/held"}) })
	p := startProxy(t, nil)
	var taken atomic.Bool
	p.before = func(request string) {
		switch request {
		case "DELETE ingresses/" + host:
			taken.Store(true)
		case "GET ingresses/" + host:
			if taken.CompareAndSwap(true, false) {
				change(t, ingresses, id.Namespace(), host, func(o *object) { o.SetFinalizers(nil) })
			}
		}
	}
	runAs(t.Context(), p.kubeconfig, "release", id.String()).Exits(t, 0).
		Prints(t, "ingress/"+host+" deleting (finalizers [example.com/held])\n", "ingress/"+host+" deleted\n", "host/"+host+" released")
}
