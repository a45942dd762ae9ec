package guard_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/leasetest"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/inventory"
	"github.com/akash-net/kubectl-akash-net/state/reserved"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// What this tool does in the normal course.
func ourOwnWorkGoesOn(t *testing.T) {
	first := definition(t, "carol", 1, "carol.example.com")
	must(t, "apply", "-f", first)
	must(t, "apply", "-f", definition(t, "carol", 2, "two.example.com")) // holds a port of the same address
	if r := must(t, "apply", "-f", first); strings.Contains(r.Stdout, "configured") {
		t.Errorf("a second run writes: %s", r)
	}
	must(t, "apply", "-f", definition(t, "carol", 1, "other.example.com"))
	harness.Run(t.Context(), "apply", "-f", definition(t, "dave", 1, shop)).Exits(t, 4) // a host that is held
	must(t, "release", owner("carol")+"/1/1")                                           // leaves, the other stays
	must(t, "release", owner("carol")+"/2/1")
	if claims := harness.List(t, leases, state.LabelOwner+"="+owner("carol")); len(claims) > 0 {
		t.Errorf("%d claims are left", len(claims))
	}

	// An address that is only reserved may still go to another endpoint.
	erin := owner("erin") + "/1/1/1/" + provider
	must(t, "reserve", "--lease", erin, "--address", "auto", "--endpoint", "other")
	claim := harness.List(t, leases, state.LabelOwner+"="+owner("erin"))[0].GetName()
	must(t, "reserve", "--lease", erin, "--address", strings.ReplaceAll(strings.TrimPrefix(claim, "ip--"), "-", "."), "--endpoint", "public")
	must(t, "release", owner("erin")+"/1/1")
}

// owner is the wallet of a tenant.
func owner(name string) string { return leasetest.Wallet(name) }

// definition is a lease of an owner with a host and a port of the endpoint "public": port 7000 and the number of the deployment.
func definition(t *testing.T, name string, dseq uint64, host string) string {
	t.Helper()
	return harness.Define(t, harness.LeaseOf(owner(name), dseq), []string{fmt.Sprintf(
		"{name: web, expose: [{port: 8080, as: 80, global: true, hosts: [%s]}, {port: 8443, as: %d, global: true, ip: public}]}", host, 7000+dseq)}, []string{"{name: public}"})
}

// Akash's provider reads, changes and updates whole objects; between owners it deletes and creates.
func akashsOwnWorkGoesOn(t *testing.T) {
	update := metav1.UpdateOptions{FieldManager: "provider-services"}
	for _, r := range []ref{aliceHost, alicePort} {
		o := r.get(t)
		for key, value := range aliceLease.Labels() {
			set(value, "metadata", "labels", key)(o)
		}
		set("9", "metadata", "labels", lease.LabelDSeq)(o)
		set("other", "spec", "service_name")(o)
		annotate(lease.AnnotationUpdatedAt, "2026-01-01T00:00:00Z")(o)
		mine := r.get(t)
		if _, err := r.client().Update(t.Context(), o, update); err != nil {
			t.Errorf("%s: %v", r.name, err)
		}
		r.restore(t, mine)
	}
	r := ref{hosts, "lease", "handed.example.com"}
	mine := bare(aliceHost.get(t))
	mine.SetName(r.name)
	set(r.name, "spec", "hostname")(mine)
	for _, o := range []*unstructured.Unstructured{mine, bobs(t, mine)} {
		if _, err := r.client().Create(t.Context(), o, metav1.CreateOptions{FieldManager: "provider-services"}); err != nil {
			t.Fatal(err)
		}
		if err := r.client().Delete(t.Context(), r.name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

var garbage = ref{leases, "akash-net", "ends.example.com"}

func makeGarbage(t *testing.T) {
	harness.Create(t, "somebody", leases, "{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: ends.example.com, namespace: akash-net, finalizers: [example.com/test]}}")
}

// Whatever stands in a claim, removing its finalizers must end it.
func terminatingObjectsCanEnd(t *testing.T) {
	end := func() error {
		_, err := garbage.client().Patch(t.Context(), garbage.name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
		return err
	}
	if err := end(); !apierrors.IsForbidden(err) {
		t.Errorf("what is no claim passes: %v", err)
	}
	harness.Remove(t, leases, garbage.namespace, garbage.name)
	if err := end(); err != nil {
		t.Fatal(err)
	}
	if harness.Find(t, leases, garbage.namespace, garbage.name) != nil {
		t.Error("it is there")
	}
}

// Leases of other namespaces are nobody's claims.
func otherLeasesAreNotJudged(t *testing.T) {
	harness.Create(t, "somebody", leases, "{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: leader, namespace: default}}")
	harness.Remove(t, leases, "default", "leader")
}

// The rules stay within what the API server lets an expression cost, up to the largest claim.
func largestClaim(t *testing.T) {
	claim := state.Claim{Kind: state.Host, Thing: "large.example.com", Owner: owner("erin")}
	r := ref{leases, "akash-net", claim.Thing}
	groups := make([]lease.ID, state.MaxGroups)
	for i := range groups {
		groups[i] = lease.ID{Owner: claim.Owner, DSeq: uint64(i) + 1, GSeq: 1, OSeq: 1, Provider: provider}
	}
	parts := make([]state.Part, state.MaxParts)
	for i := range parts {
		path := fmt.Sprintf("/%d/%s", i, strings.Repeat("x", 150))
		parts[i] = state.Part{Key: state.RouteKey(path), Lease: groups[i%len(groups)], Path: path, Service: "web", Port: 80, Run: "0123456789abcdef", Expires: "2099-01-01T00:00:00Z"}
	}
	body := []byte(text(t, claim.Configuration(r.namespace, parts))) // as a restore makes it
	if _, err := r.client().Patch(t.Context(), r.name, types.ApplyPatchType, body, metav1.PatchOptions{FieldManager: "velero"}); err != nil {
		t.Fatal(err)
	}
	// A hundred applies take half a minute; managed fields can be written as well.
	o := r.get(t)
	fields := o.GetManagedFields()
	for _, g := range groups {
		entry := fields[0]
		entry.Manager = g.Group().FieldManager()
		entry.FieldsV1 = metav1.NewFieldsV1(`{"f:spec":{"f:holderIdentity":{}}}`)
		fields = append(fields, entry)
	}
	o.SetManagedFields(fields)
	o, err := r.client().Update(t.Context(), o, metav1.UpdateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(o.GetManagedFields()); n < len(groups) {
		t.Fatalf("%d managers", n)
	}
	if o, err = r.client().Update(t.Context(), o, metav1.UpdateOptions{}); err != nil {
		t.Errorf("nothing changes: %v", err)
	}
	for _, p := range parts { // one group gets them all
		annotate(p.Key, part(groups[0], fmt.Sprintf(`,"path":%q,"service":"other","run":"bbbbbbbbbbbbb","expires":"2199-12-31T23:59:59Z"`, p.Path)))(o)
	}
	if o, err = r.client().Update(t.Context(), o, metav1.UpdateOptions{FieldManager: groups[0].Group().FieldManager()}); err != nil {
		t.Fatalf("all parts change: %v", err)
	}
	uid := o.GetUID()
	o.SetManagedFields([]metav1.ManagedFieldsEntry{{}})
	if _, err := r.client().Update(t.Context(), o, metav1.UpdateOptions{}); !refusedBy(err, "akash-net-claims") {
		t.Errorf("no managed fields: %v", err)
	}
	if err := r.client().Delete(t.Context(), r.name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}}); err != nil {
		t.Error(err)
	}
}

// The rules stay within what the API server lets an expression cost, up to the largest reservation.
func largestReservation(t *testing.T) {
	largest := func(asked string) *reserved.Part {
		p := &reserved.Part{Asked: asked, Hold: inventory.Hold{Nodes: map[string]inventory.Amounts{}}, By: "bob@laptop", Run: "3a3l2dqngtg4w", Expires: seconds(time.Minute)}
		for i := 0; p.Check() == nil; i++ {
			p.Hold.Nodes[fmt.Sprintf("n%d", i)] = inventory.Amounts{}
		}
		delete(p.Hold.Nodes, "n0")
		delete(p.Hold.Nodes, "n1")
		return p
	}
	c := &reserved.Claim{Order: lease.Order{Owner: bob, DSeq: 7, GSeq: 1, OSeq: 1}}
	r := ref{leases, "akash-net", reserved.Name(c.Order)}
	put := func(what string) {
		t.Helper()
		body := []byte(text(t, c.Configuration(r.namespace)))
		if _, err := r.client().Patch(t.Context(), r.name, types.ApplyPatchType, body, metav1.PatchOptions{FieldManager: c.Order.FieldManager()}); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	c.Pending = largest("a")
	put("it is announced")
	c.Bound, c.Pending = c.Pending, nil
	put("it is bound")
	c.Pending = largest("b")
	put("it is announced for another group")
	c.Bound, c.Pending = c.Pending, nil
	put("it is moved")
	uid := r.get(t).GetUID()
	if err := r.client().Delete(t.Context(), r.name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}}); err != nil {
		t.Error(err)
	}
}

// Reconcilers may elect one in the ledger's namespace. The Lease by which they do so is judged as any other once it looks like a claim.
func elections(t *testing.T) {
	ledger := harness.Objects.Resource(leases).Namespace("akash-net")
	for name, tt := range map[string]struct {
		meta    map[string]any
		refused bool
	}{
		"an election":            {map[string]any{"name": state.ElectionName(nil)}, false},
		"with a claim's label":   {map[string]any{"name": state.ElectionName(nil), "labels": map[string]any{"net.akash.network/kind": "host"}}, true},
		"with a part of a claim": {map[string]any{"name": state.ElectionName(nil), "annotations": map[string]any{"route.net.akash.network/x": "{}"}}, true},
		"failing leases":         {map[string]any{"name": state.FailingName(nil), "annotations": map[string]any{"net.akash.network/failing": "{}"}}, false},
		"with a claim's holder":  {map[string]any{"name": state.FailingName(nil), "annotations": map[string]any{"net.akash.network/bound": "{}"}}, true},
		"of another name":        {map[string]any{"name": "el--x"}, true},
	} {
		_, err := ledger.Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": tt.meta, "spec": map[string]any{"holderIdentity": "somebody"},
		}}, metav1.CreateOptions{DryRun: dryRun})
		if refused := refusedBy(err, "akash-net-claims"); refused != tt.refused || err != nil && !refused {
			t.Errorf("%s: refused %v, want %v: %v", name, refused, tt.refused, err)
		}
	}
}

// What another ledger has, and what follows an owner there: the guard lets nobody make that.
var (
	copies              map[ref]ref
	following, followed ref
)

// copyTo makes another ledger.
func copyTo(t *testing.T, cfg *config.ProviderConfig) {
	t.Helper()
	copies = map[ref]ref{
		aliceClaim: {leases, cfg.LedgerNamespace, aliceClaim.name},
		alicePort:  {leasedIPs, cfg.ManifestNamespace, alicePort.name},
	}
	for original, r := range copies {
		harness.Create(t, "somebody", namespaces, "{apiVersion: v1, kind: Namespace, metadata: {name: "+r.namespace+"}}")
		made := bare(original.get(t))
		made.SetNamespace(r.namespace)
		if _, err := r.client().Create(t.Context(), made, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	following, followed = follower(t, copies[aliceClaim])
}

// Claims and leased ports must not keep a namespace from going, nor an object from following its owner, and the namespaces are those of the
// configuration.
func strictLetsNamespacesAndOwnersGo(t *testing.T) {
	if err := followed.client().Delete(t.Context(), followed.name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}

	harness.Eventually(t, "the garbage collector deletes what follows an owner", func(ctx context.Context) (bool, error) {
		_, err := following.client().Get(ctx, following.name, metav1.GetOptions{})
		return apierrors.IsNotFound(err), ignoreNotFound(err)
	})
	for _, r := range copies {
		if err := r.client().Delete(t.Context(), r.name, metav1.DeleteOptions{}); !apierrors.IsForbidden(err) {
			t.Errorf("%s: %v", r.name, err)
		}
		if err := harness.Objects.Resource(namespaces).Delete(t.Context(), r.namespace, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		harness.Eventually(t, "namespace "+r.namespace+" is gone", func(ctx context.Context) (bool, error) {
			_, err := harness.Objects.Resource(namespaces).Get(ctx, r.namespace, metav1.GetOptions{})
			return apierrors.IsNotFound(err), ignoreNotFound(err)
		})
	}
}

// follower makes a claim whose owner reference names a ConfigMap.
func follower(t *testing.T, like ref) (following, followed ref) {
	t.Helper()
	followed = ref{namespaces.GroupVersion().WithResource("configmaps"), like.namespace, "owner"}
	owner, err := followed.client().Create(t.Context(), &unstructured.Unstructured{Object: object("v1", "ConfigMap", "owner")}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	o := bare(like.get(t))
	o.SetName("follows.example.com")
	o.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: owner.GetName(), UID: owner.GetUID()}})
	if _, err := like.client().Create(t.Context(), o, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return ref{like.resource, like.namespace, o.GetName()}, followed
}

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
