package commands

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/lease"
)

// A dry run tells what would happen and changes nothing, whether the lease is new, changed, held
// by another, or released.
func TestDryRunChangesNothing(t *testing.T) {
	v4, _ := newRanges()
	u := admin().with(configure(t, "ip: {ranges: ["+v4+"0/28]}"))
	id, host, added, goes := leaseOf(newTenant(), 1), newHost("dry"), newHost("added"), newHost("goes")
	u.do(t, "apply", "-f", defineParts(t, id, webPart(host, goes)))
	changed := defineParts(t, id, service("web", served(host, added), leasedPart("public", "TCP", 443)), endpoint("public"))
	unknown := leaseOf(newTenant(), 1)
	fresh := defineParts(t, unknown, webPart(newHost("fresh")))
	stolen := defineParts(t, leaseOf(newTenant(), 1), webPart(host))

	before := fingerprints(t)
	for _, mode := range []string{"client", "server"} {
		u.do(t, "apply", "-f", changed, "--dry-run="+mode).Prints(t,
			"host/"+added+" claimed", "address/"+v4+"0 claimed", "ingress/"+added+" created", "ingress/"+goes+" pruned", "host/"+goes+" pruned", "dry run)")
		u.do(t, "apply", "-f", fresh, "--dry-run="+mode).Prints(t, "namespace/"+unknown.Namespace()+" created")
		u.run(t, "apply", "-f", stolen, "--dry-run="+mode).Exits(t, 4).Says(t, host)
		u.do(t, "release", id.Group().String(), "--dry-run="+mode).Prints(t, "ingress/"+host+" deleted", "host/"+host+" released")
		if diff := cmp.Diff(before, fingerprints(t)); diff != "" {
			t.Fatalf("--dry-run=%s changed the cluster (-before +after):\n%s", mode, diff)
		}
	}
}

// editByHand sets a value of a lease's Ingress that the program set otherwise.
func editByHand(t *testing.T, id lease.ID, host string) {
	t.Helper()
	ingress := need(t, ingresses, id.Namespace(), host)
	annotations := ingress.GetAnnotations()
	annotations["nginx.ingress.kubernetes.io/proxy-body-size"] = "0"
	ingress.SetAnnotations(annotations)
	update(t, "hand-editor", ingresses, ingress)
}

// What somebody else has changed is not overwritten: the run names who manages it, and takes and
// makes nothing beside it.
func TestDriftIsAConflict(t *testing.T) {
	id, host, added := leaseOf(newTenant(), 1), newHost("drift"), newHost("added")
	admin().do(t, "apply", "-f", defineParts(t, id, webPart(host)))
	editByHand(t, id, host)

	before := fingerprints(t)
	admin().run(t, "apply", "-f", defineParts(t, id, webPart(host))).Exits(t, 1).Says(t,
		"ingress/"+host+": fields are managed by hand-editor", "proxy-body-size", "Nothing is forced")
	after := fingerprints(t)
	for _, print := range []map[string]string{before, after} {
		delete(print, "leases "+ledger+"/"+host) // it had the run's mark for a moment
	}
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("the refused run changed the cluster (-before +after):\n%s", diff)
	}
	admin().run(t, "apply", "-f", defineParts(t, id, webPart(host, added))).Exits(t, 1).Says(t, "hand-editor")
	if diff := cmp.Diff([]string{host}, claimsOf(t, id.Owner)); diff != "" {
		t.Errorf("claims after the refused run (-want +got):\n%s", diff)
	}
	if got := objectsOf(t, id); !slices.Equal(got, []string{"ingresses/" + host, "providerhosts/" + host}) {
		t.Errorf("after the refused run the lease has %v", got)
	}
	unmarked(t, id.Owner)
}

// A run that fails takes back also those objects whose creation was under way when it failed.
func TestFailedRunLeavesNoStray(t *testing.T) {
	t.Parallel()
	id, host, added := leaseOf(newTenant(), 1), newHost("drift"), newHost("a-added")
	admin().do(t, "apply", "-f", defineParts(t, id, webPart(host)))
	editByHand(t, id, host)

	r := record(t)
	refused, made := make(chan struct{}), make(chan struct{})
	r.hold(func(_ context.Context, q request) {
		if q.String() == "PATCH ingresses/"+added {
			await(t.Context(), t, refused) // made only once the other write has been refused
		}
	}, func(_ context.Context, q request) {
		switch q.String() {
		case "PATCH ingresses/" + host:
			close(refused)
		case "PATCH ingresses/" + added:
			close(made)
		}
	})
	r.run(t, "apply", "-f", defineParts(t, id, webPart(host, added))).Exits(t, 1).Says(t, "hand-editor")
	arrives(t, "the other Ingress is made", made)
	if got := objectsOf(t, id); !slices.Equal(got, []string{"ingresses/" + host, "providerhosts/" + host}) {
		t.Errorf("after the failed run the lease has %v", got)
	}
	absent(t, claims, ledger, added)
}

// What has been removed by hand is made again.
func TestRemovedObjectIsMadeAgain(t *testing.T) {
	t.Parallel()
	id, host := leaseOf(newTenant(), 1), newHost("again")
	definition := defineParts(t, id, webPart(host))
	admin().do(t, "apply", "-f", definition)
	remove(t, ingresses, id.Namespace(), host)
	admin().do(t, "apply", "-f", definition).Prints(t, "ingress/"+host+" created", "providerhost/"+host+" unchanged")
	remove(t, claims, ledger, host)
	admin().do(t, "apply", "-f", definition).Prints(t, "host/"+host+" claimed", "ingress/"+host+" unchanged")
	need(t, claims, ledger, host)
	unmarked(t, id.Owner)
}

// A change of the configuration reaches the objects.
func TestChangedConfiguration(t *testing.T) {
	t.Parallel()
	id, host := leaseOf(newTenant(), 1), newHost("class")
	definition := defineParts(t, id, webPart(host))
	admin().do(t, "apply", "-f", definition)
	out := admin().with(configure(t, "ingress: {className: other}")).do(t, "apply", "-f", definition).
		Prints(t, "ingress/"+host+" configured", "providerhost/"+host+" unchanged")
	if strings.Contains(out.Stdout, "created") {
		t.Error(out)
	}
	class, _, _ := unstructured.NestedString(need(t, ingresses, id.Namespace(), host).Object, "spec", "ingressClassName")
	if class != "other" {
		t.Errorf("the class is %q", class)
	}
}
