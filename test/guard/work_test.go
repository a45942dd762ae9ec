package guard_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
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

// What this tool does in the normal course, with the guard of both kinds.
func TestOurOwnWorkGoesOn(t *testing.T) {
	for _, strict := range []bool{false, true} {
		t.Run(fmt.Sprintf("strict %v", strict), func(t *testing.T) {
			installGuard(t, config.Default(), strict)
			first := definition(t, "carol", 1, "carol.example.com")
			second := definition(t, "carol", 2, "two.example.com")

			must(t, "apply", "-f", first)
			must(t, "apply", "-f", second) // holds a port of the same address
			if r := must(t, "apply", "-f", first); strings.Contains(r.Stdout, "configured") {
				t.Errorf("a second run writes: %s", r)
			}
			must(t, "apply", "-f", definition(t, "carol", 1, "other.example.com"))
			harness.Run(t.Context(), "apply", "-f", definition(t, "dave", 1, shop)).Exits(t, 4) // a host that is held
			must(t, "release", owner("carol")+"/1/1")                                           // leaves, the other stays
			must(t, "release", owner("carol")+"/2/1")

			// An address that is only reserved may still go to another endpoint.
			erin := owner("erin") + "/1/1/1/" + provider
			must(t, "reserve", "--lease", erin, "--address", "auto", "--endpoint", "other")
			must(t, "reserve", "--lease", erin, "--address", addressOf(t, "erin"), "--endpoint", "public")
			must(t, "release", owner("erin")+"/1/1")

			claims, err := harness.Objects.Resource(leases).Namespace("akash-net").List(t.Context(), metav1.ListOptions{LabelSelector: state.LabelOwner + "=" + owner("carol")})
			if err != nil || len(claims.Items) > 0 {
				t.Errorf("%d claims are left (%v)", len(claims.Items), err)
			}
		})
	}
}

// addressOf is the one address that an owner has claimed.
func addressOf(t *testing.T, name string) string {
	t.Helper()
	claims, err := harness.Objects.Resource(leases).Namespace("akash-net").List(t.Context(), metav1.ListOptions{LabelSelector: state.LabelOwner + "=" + owner(name)})
	if err != nil || len(claims.Items) != 1 {
		t.Fatalf("want one claim of %s: %v (%v)", name, claims, err)
	}
	return strings.ReplaceAll(strings.TrimPrefix(claims.Items[0].GetName(), "ip--"), "-", ".")
}

// owner is the wallet of a tenant.
func owner(name string) string { return leasetest.Wallet(name) }

// definition is a lease of an owner with a host and a port of the endpoint "public": port 7000 and
// the number of the deployment.
func definition(t *testing.T, name string, dseq int, host string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "lease.yaml")
	document := fmt.Sprintf(`apiVersion: net.akash.network/v1alpha1
kind: LeaseDefinition
metadata: {name: %[1]s}
spec:
  lease: {owner: %[2]s, dseq: %[3]d, gseq: 1, oseq: 1, provider: %[4]s}
  services:
  - name: web
    expose:
    - {port: 8080, as: 80, global: true, hosts: [%[5]s]}
    - {port: 8443, as: %[6]d, global: true, ip: public}
  ipEndpoints:
  - name: public
`, name, owner(name), dseq, provider, host, 7000+dseq)
	if err := os.WriteFile(path, []byte(document), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Akash's provider reads, changes and updates whole objects; between owners it deletes and creates.
func TestAkashsOwnWorkGoesOn(t *testing.T) {
	installGuard(t, config.Default(), false)
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

// Whatever stands in a claim, removing its finalizers must end it.
func TestTerminatingObjectsCanEnd(t *testing.T) {
	r := ref{leases, "akash-net", "ends.example.com"}
	garbage := &unstructured.Unstructured{Object: object("coordination.k8s.io/v1", "Lease", r.name)}
	garbage.SetFinalizers([]string{"example.com/test"})
	if _, err := r.client().Create(t.Context(), garbage, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	installGuard(t, config.Default(), false)
	unfinished := []byte(`{"metadata":{"finalizers":null}}`)
	if _, err := r.client().Patch(t.Context(), r.name, types.MergePatchType, unfinished, metav1.PatchOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("what is no claim passes: %v", err)
	}
	if err := r.client().Delete(t.Context(), r.name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.client().Patch(t.Context(), r.name, types.MergePatchType, unfinished, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, "it is gone", func(ctx context.Context) (bool, error) {
		_, err := r.client().Get(ctx, r.name, metav1.GetOptions{})
		return apierrors.IsNotFound(err), ignoreNotFound(err)
	})
}

// Leases of other namespaces are nobody's claims.
func TestOtherLeasesAreNotJudged(t *testing.T) {
	installGuard(t, config.Default(), true)
	r := ref{leases, "default", "leader"}
	if _, err := r.client().Create(t.Context(), &unstructured.Unstructured{Object: object("coordination.k8s.io/v1", "Lease", r.name)}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := r.client().Delete(t.Context(), r.name, metav1.DeleteOptions{}); err != nil {
		t.Error(err)
	}
}

// The rules stay within what the API server lets an expression cost, up to the largest claim.
func TestLargestClaim(t *testing.T) {
	installGuard(t, config.Default(), true)
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
func TestLargestReservation(t *testing.T) {
	installGuard(t, config.Default(), true)
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
