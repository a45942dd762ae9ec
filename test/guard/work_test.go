package guard_test

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/leasetest"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/inventory"
	"github.com/akash-net/kubectl-akash-net/state/reserved"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

// define is a lease with hosts, and with ports of the endpoint "public".
func define(t *testing.T, id lease.ID, hosts []string, ports ...int) string {
	t.Helper()
	exposes := []string{`{port: 80, global: true, hosts: ["` + strings.Join(hosts, `", "`) + `"]}`}
	var endpoints []string
	for _, port := range ports {
		exposes, endpoints = append(exposes, fmt.Sprintf("{port: 8443, as: %d, global: true, ip: public}", port)), []string{"{name: public}"}
	}
	return harness.Define(t, id, []string{"{name: web, expose: [" + strings.Join(exposes, ", ") + "]}"}, endpoints)
}

// bid is an SDL for which an order can be reserved.
func bid(t *testing.T, count int) string {
	t.Helper()
	return harness.File(t, fmt.Sprintf(`version: "2.0"
services: {web: {image: nginx, expose: [{port: 80, as: 80, to: [{global: true}]}]}}
profiles:
  compute: {web: {resources: {cpu: {units: 1}, memory: {size: 1Gi}, storage: {size: 1Gi}}}}
  placement: {dc: {pricing: {web: {denom: uakt, amount: 1}}}}
deployment: {web: {dc: {profile: web, count: %d}}}
`, count))
}

// What this tool does in the normal course, with holds, transfers, addresses and orders, and what a run gives back.
func ourOwnWorkGoesOn(t *testing.T) {
	harness.Node(t, "goes-1", nil, harness.Amounts("8", "16Gi"))
	first := harness.LeaseOf(leasetest.Wallet("carol"), 1)
	second, next := first, first
	second.DSeq, next.OSeq = 2, 2
	host, wildcard := harness.NewHost("web"), "*."+harness.NewDomain()
	cfg := harness.Configure(t, "hosts: {wildcards: true}", "ip: {ranges: [203.0.113.0/28]}")
	work := func(args ...string) harness.Result {
		t.Helper()
		return must(t, append(args, "--config", cfg)...)
	}
	end := func(host string) string {
		claim, _ := state.ReadClaim(meta(t, ref{leases, ledger, state.HostName(host), ""}.get(t)))
		return claim.Parts[0].Expires
	}
	file := define(t, first, []string{host, wildcard}, 7001)
	work("reserve", "-f", file, "--expires", "1h")
	work("reserve", "-f", file, "--expires", "2h")
	was := end(host)
	// A run that cannot get all gives back the hold as it was.
	harness.Run(t.Context(), "apply", "-f", define(t, first, []string{host, wildcard, shop}), "--config", cfg).Exits(t, 4)
	if got := end(host); got != was || was == "" {
		t.Errorf("the hold ends at %q, and ended at %q", got, was)
	}
	work("transfer", host, "--to", second.String())
	if got := end(host); got != "" {
		t.Errorf("after the transfer the claim ends at %q", got)
	}
	work("transfer", host, "--to", first.String())
	work("apply", "-f", file)
	if got := end(host) + end(wildcard); got != "" {
		t.Errorf("after the apply the claims end at %q", got)
	}
	work("apply", "-f", define(t, second, []string{host, "b." + host}, 7002)) // a port of the same address; the host is withheld, which is noted
	work("transfer", host, wildcard, "--to", second.String())
	work("apply", "-f", define(t, second, []string{host, "b." + host, wildcard}, 7002))
	if r := work("apply", "-f", define(t, second, []string{host, "b." + host, wildcard}, 7002)); strings.Contains(r.Stdout, "configured") {
		t.Errorf("a second run writes: %s", r)
	}
	must(t, "suspend", first.Group().String())
	work("apply", "-f", define(t, first, []string{"c." + host}))
	must(t, "resume", first.Group().String())
	work("apply", "-f", define(t, second, []string{host}))
	work("apply", "-f", define(t, next, []string{"c." + host}))
	work("release", next.String())
	work("release", second.String())
	if claims := harness.List(t, leases, state.LabelOwner+"="+first.Owner); len(claims) > 0 {
		t.Errorf("%d claims are left", len(claims))
	}

	// An address that is only reserved may still go to another endpoint.
	work("reserve", "--lease", first.String(), "--address", "auto", "--endpoint", "other")
	claim := harness.List(t, leases, state.LabelOwner+"="+first.Owner)[0].GetName()
	work("reserve", "--lease", first.String(), "--address", strings.ReplaceAll(strings.TrimPrefix(claim, "ip--"), "-", "."), "--endpoint", "public")
	work("release", first.Group().String())

	// kubectl applies a claim as it is, as a restored backup or Argo CD does. Each lease gives up what it holds.
	work("apply", "-f", define(t, first, []string{host}, 7001))
	work("apply", "-f", define(t, second, []string{"b." + host}, 7002))
	for _, claim := range harness.List(t, leases, state.LabelOwner+"="+first.Owner) {
		claim.SetManagedFields(nil)
		of := ref{leases, ledger, claim.GetName(), ""}
		if _, err := of.client().Apply(t.Context(), claim.GetName(), &claim, metav1.ApplyOptions{FieldManager: "kubectl", Force: true}); err != nil {
			t.Fatal(err)
		}
	}
	work("release", second.String())
	work("release", first.String())
	if claims := harness.List(t, leases, state.LabelOwner+"="+first.Owner); len(claims) > 0 {
		t.Errorf("%d claims that kubectl has applied are left", len(claims))
	}

	order := first.Group().String() + "/1"
	for _, args := range [][]string{{"-f", bid(t, 1), "--expires", "5m"}, {"-f", bid(t, 1), "--expires", "10m"}, {"-f", bid(t, 1)}, {"-f", bid(t, 2)}} {
		work(append([]string{"order", "reserve", order}, args...)...)
	}
	work("order", "release", order)
}

// What a crashed run has left can be taken over with the guard: it is fenced, and repaired.
func crashedRunsAreTakenOver(t *testing.T) {
	id := harness.LeaseOf(bob, uint64(300+harness.Number()))
	host := harness.NewHost("web")
	for _, args := range [][]string{{"apply", "-f", define(t, id, []string{host})}, {"repair", "CrashedRun/" + host}} {
		dead := announcement(state.NewNonce(time.Now()), id.Group())
		claim := &state.Claim{Kind: state.Host, Thing: host, Owner: bob}
		part := state.Part{Key: rootPath, Lease: id, Path: "/", Service: "web", Port: 80, Run: dead.Nonce}
		for manager, configuration := range map[string]any{lease.FieldManager: dead.Configuration(ledger), id.Group().FieldManager(): claim.Configuration(ledger, []state.Part{part})} {
			if err := applied(t.Context(), manager, configuration); err != nil {
				t.Fatal(err)
			}
		}
		must(t, args...)
		must(t, "release", id.String(), "--ignore-not-found")
	}
	if harness.Find(t, leases, ledger, host) != nil {
		t.Error("the claim is still there")
	}
}

// Whatever stands in a claim, removing its finalizers must end it.
func terminatingObjectsCanEnd(t *testing.T) {
	in := harness.Objects.Resource(leases).Namespace(ledger)
	end := func() error {
		_, err := in.Patch(t.Context(), "ends.example.com", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
		return err
	}
	if err := end(); !apierrors.IsForbidden(err) {
		t.Errorf("what is no claim passes: %v", err)
	}
	harness.Remove(t, leases, ledger, "ends.example.com")
	if err := end(); err != nil || harness.Find(t, leases, ledger, "ends.example.com") != nil {
		t.Errorf("it is there: %v", err)
	}
}

// The rules stay within what the API server lets an expression cost, up to the largest claim.
func largestClaim(t *testing.T) {
	claim := state.Claim{Kind: state.Host, Thing: "large.example.com", Owner: leasetest.Wallet("erin")}
	r := ref{leases, ledger, claim.Thing, ""}
	parts := make([]state.Part, state.MaxParts)
	for i := range parts {
		path := fmt.Sprintf("/%d/%s", i, strings.Repeat("x", 150))
		parts[i] = state.Part{Key: state.RouteKey(path), Lease: harness.LeaseOf(claim.Owner, uint64(i%state.MaxGroups+1)), Path: path, Service: "web", Port: 80,
			Run: "0123456789abcdef", Expires: "2099-01-01T00:00:00Z"}
	}
	if err := applied(t.Context(), "velero", claim.Configuration(ledger, parts)); err != nil { // as a restore makes it
		t.Fatal(err)
	}
	update := func(o *unstructured.Unstructured, manager string) (*unstructured.Unstructured, error) {
		return r.client().Update(t.Context(), o, metav1.UpdateOptions{FieldManager: manager})
	}
	// A hundred applies take half a minute; managed fields can be written as well.
	o := r.get(t)
	fields := o.GetManagedFields()
	for i := range state.MaxGroups {
		entry := fields[0]
		entry.Manager, entry.FieldsV1 = parts[i].Lease.Group().FieldManager(), metav1.NewFieldsV1(`{"f:spec":{"f:holderIdentity":{}}}`)
		fields = append(fields, entry)
	}
	o.SetManagedFields(fields)
	o, err := update(o, "")
	if err != nil || len(o.GetManagedFields()) < state.MaxGroups {
		t.Fatalf("%d managers, %v", len(o.GetManagedFields()), err)
	}
	if o, err = update(o, ""); err != nil {
		t.Errorf("nothing changes: %v", err)
	}
	annotations := o.GetAnnotations()
	for i := range parts { // one group gets them all
		parts[i].Lease, parts[i].Service, parts[i].Run, parts[i].Expires = parts[0].Lease, "other", "bbbbbbbbbbbbb", "2199-12-31T23:59:59Z"
	}
	maps.Copy(annotations, claim.Configuration(ledger, parts).Annotations)
	o.SetAnnotations(annotations)
	if o, err = update(o, parts[0].Lease.Group().FieldManager()); err != nil {
		t.Fatalf("all parts change: %v", err)
	}
	uid := o.GetUID()
	o.SetManagedFields([]metav1.ManagedFieldsEntry{{}})
	if _, err := update(o, ""); !refusedBy(err, "akash-net-claims") {
		t.Errorf("no managed fields: %v", err)
	}
	if err := r.client().Delete(t.Context(), r.name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}}); err != nil {
		t.Error(err)
	}
}

// The rules stay within what the API server lets an expression cost, up to the largest reservation: announced, bound, and moved.
func largestReservation(t *testing.T) {
	c := &reserved.Claim{Order: lease.Order{Owner: bob, DSeq: 7, GSeq: 1, OSeq: 1}}
	for _, asked := range []string{"a", "b"} {
		p := &reserved.Part{Asked: asked, Hold: inventory.Hold{Nodes: map[string]inventory.Amounts{}}, By: "bob@laptop", Run: nonce}
		p.Expires = time.Now().Add(time.Minute).UTC().Format(time.RFC3339)
		for i := 0; p.Check() == nil; i++ {
			p.Hold.Nodes[fmt.Sprintf("n%d", i)] = inventory.Amounts{}
		}
		delete(p.Hold.Nodes, "n0")
		delete(p.Hold.Nodes, "n1")
		for _, bound := range []bool{false, true} {
			if c.Pending = p; bound {
				c.Bound, c.Pending = p, nil
			}
			if err := applied(t.Context(), c.Order.FieldManager(), c.Configuration(ledger)); err != nil {
				t.Fatalf("%s, bound %t: %v", asked, bound, err)
			}
		}
	}
	must(t, "order", "release", c.Order.String())
}

// What another ledger has, and what follows an owner there: the guard lets nobody make that.
var copies []ref

const follows = "follows.example.com"

// copyTo makes another ledger.
func copyTo(t *testing.T, cfg *config.ProviderConfig) {
	t.Helper()
	for name, namespace := range map[string]string{"claim": cfg.LedgerNamespace, "ProviderLeasedIP": cfg.ManifestNamespace} {
		r := refs[name]
		made := bare(r.get(t))
		made.SetNamespace(namespace)
		harness.Create(t, "somebody", namespaces, "{apiVersion: v1, kind: Namespace, metadata: {name: "+namespace+"}}")
		harness.Create(t, "somebody", r.resource, string(encoded(t, made)))
		copies = append(copies, ref{r.resource, namespace, r.name, ""})
		if r.resource == leases {
			owner := harness.Create(t, "somebody", cluster.ConfigMaps, "{apiVersion: v1, kind: ConfigMap, metadata: {name: owner, namespace: "+namespace+"}}")
			made.SetName(follows)
			made.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "owner", UID: owner.GetUID()}})
			harness.Create(t, "somebody", r.resource, string(encoded(t, made)))
		}
	}
}

// Claims and leased ports must not keep a namespace from going, nor an object from following its owner, and the namespaces are those of the
// configuration.
func strictLetsNamespacesAndOwnersGo(t *testing.T) {
	gone := func(r ref) {
		t.Helper()
		harness.Eventually(t, r.name+" is gone", func(context.Context) (bool, error) {
			return harness.Find(t, r.resource, r.namespace, r.name) == nil, nil
		})
	}
	for _, r := range copies {
		if r.resource == leases {
			harness.Remove(t, cluster.ConfigMaps, r.namespace, "owner")
			gone(ref{r.resource, r.namespace, follows, ""}) // the garbage collector deletes what follows its owner
		}
		if err := r.client().Delete(t.Context(), r.name, metav1.DeleteOptions{}); !apierrors.IsForbidden(err) {
			t.Errorf("%s: %v", r.name, err)
		}
		harness.Remove(t, namespaces, "", r.namespace)
		gone(ref{namespaces, "", r.namespace, ""})
	}
}
