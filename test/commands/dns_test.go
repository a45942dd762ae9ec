package commands

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/state/kept"
	"github.com/akash-net/kubectl-akash-net/test/harness"
)

var dnsRecords = kinds.DNSRecord.Resource()

// byGardener is a configuration of the form gardener.
func byGardener(t *testing.T, dns string, lines ...string) string {
	t.Helper()
	return configure(t, append(lines, "dns: {form: gardener, gardener: {type: aws-route53, secretRef: {name: dns, namespace: garden}}, "+dns+"}")...)
}

// extension stands for the controllers of DNS records: it acts on the objects of one lease as
// Gardener's extensions and external-dns do, until the test ends.
type extension struct {
	mu sync.Mutex
	// fails is the error of each operation; acted the operations, as "reconcile NAME".
	fails string
	acted []string
}

// extend starts the extension for a lease's namespace. With a finalizer it holds DNSRecords back, as
// the real one does, until it has taken them out of the zone.
func extend(t *testing.T, id lease.ID, fails string) *extension {
	t.Helper()
	e := &extension{fails: fails}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var work sync.WaitGroup
	for _, resource := range []schema.GroupVersionResource{dnsRecords, dnsEndpoints} {
		records := harness.Objects.Resource(resource).Namespace(id.Namespace())
		w, err := records.Watch(ctx, metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		work.Go(func() {
			for event := range w.ResultChan() {
				if o, ok := event.Object.(*unstructured.Unstructured); ok {
					e.act(ctx, resource, o)
				}
			}
		})
		t.Cleanup(w.Stop)
	}
	t.Cleanup(func() { cancel(); work.Wait() })
	return e
}

const finalizer = "extensions.gardener.cloud/dnsrecord"

// act reconciles one object. A write that comes too late is followed by another event.
func (e *extension) act(ctx context.Context, resource schema.GroupVersionResource, o *unstructured.Unstructured) {
	objects := harness.Objects.Resource(resource).Namespace(o.GetNamespace())
	observed, _, _ := unstructured.NestedInt64(o.Object, "status", "observedGeneration")
	annotations := o.GetAnnotations()
	update := metav1.UpdateOptions{FieldManager: "extension"}
	switch {
	case resource == dnsEndpoints:
		if observed != o.GetGeneration() {
			_ = unstructured.SetNestedField(o.Object, o.GetGeneration(), "status", "observedGeneration")
			_, _ = objects.UpdateStatus(ctx, o, update)
		}
	case o.GetDeletionTimestamp() != nil:
		if len(o.GetFinalizers()) > 0 {
			o.SetFinalizers(nil)
			if _, err := objects.Update(ctx, o, update); err == nil {
				e.note("delete " + o.GetName())
			}
		}
	case annotations["gardener.cloud/operation"] == "reconcile":
		delete(annotations, "gardener.cloud/operation")
		o.SetAnnotations(annotations)
		o.SetFinalizers([]string{finalizer})
		now, err := objects.Update(ctx, o, update)
		if err != nil {
			return
		}
		e.note("reconcile " + o.GetName())
		state, said := "Succeeded", "done"
		if e.fails != "" {
			state, said = "Error", "the operation did not end well"
			_ = unstructured.SetNestedField(now.Object, e.fails, "status", "lastError", "description")
		}
		_ = unstructured.SetNestedMap(now.Object, map[string]any{
			"description": said, "lastUpdateTime": "2026-11-21T00:00:00Z", "progress": int64(100), "state": state, "type": "Reconcile",
		}, "status", "lastOperation")
		_ = unstructured.SetNestedField(now.Object, now.GetGeneration(), "status", "observedGeneration")
		_ = unstructured.SetNestedField(now.Object, "Z-found", "status", "zone")
		_, _ = objects.UpdateStatus(ctx, now, update)
	}
}

func (e *extension) note(what string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.acted = append(e.acted, what)
}

// did is what the extension has done since it was last asked.
func (e *extension) did() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	acted := e.acted
	e.acted = nil
	return acted
}

// specOf is a field of an object's spec.
func specOf(o *unstructured.Unstructured, name string) string {
	return fmt.Sprint(o.Object["spec"].(map[string]any)[name])
}

// publish writes into an Ingress' status where its controller is reached.
func publish(t *testing.T, namespace, name string, entries ...any) {
	t.Helper()
	o := need(t, ingresses, namespace, name)
	if err := unstructured.SetNestedSlice(o.Object, entries, "status", "loadBalancer", "ingress"); err != nil {
		t.Fatal(err)
	}
	if _, err := harness.Objects.Resource(ingresses).Namespace(namespace).UpdateStatus(t.Context(), o, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// A host gets its records, is live once they are served, and an unchanged lease is not written. A new value is one write of the record,
// and asks the extension to act once more; a new definition that leaves the record as it is does not.
func TestRecordsOfGardener(t *testing.T) {
	t.Parallel()
	r := record(t)
	dns := "targets: [192.0.2.1, '2001:db8::1'], ttl: 300, ownership: true"
	r.config = byGardener(t, dns)
	id, host := leaseOf(newTenant(t), 1), newHost("dns")
	definition := defineParts(t, id, webPart(host))
	e := extend(t, id, "")
	r.do(t, "apply", "-f", definition).Prints(t,
		"dnsrecord/"+host+"-a created", "dnsrecord/"+host+"-aaaa created", "dnsrecord/"+host+"-txt created",
		"dnsrecord/"+host+"-a served (A 192.0.2.1)", "is live")
	a := need(t, dnsRecords, id.Namespace(), host+"-a")
	if got := specOf(a, "name") + " " + specOf(a, "recordType") + " " + specOf(a, "values") + " " + specOf(a, "ttl"); got != host+" A [192.0.2.1] 300" {
		t.Errorf("the record is %s", got)
	}
	if got := specOf(need(t, dnsRecords, id.Namespace(), host+"-txt"), "values"); got != "[heritage=akash-net,akash-net/lease="+id.String()+"]" {
		t.Errorf("the owner's record is %s", got)
	}
	e.did()
	r.sent()
	r.do(t, "apply", "-f", definition).Prints(t, "dnsrecord/"+host+"-a unchanged", "is live", "unchanged")
	if sent := r.sent(); len(writesOf(sent)) > 0 || len(sent) > 18 {
		t.Errorf("the second apply sends %v", sent)
	}

	r.do(t, "state", "dns", "-l", "akash.network/lease.id.owner="+id.Owner).Prints(t, "192.0.2.1", "2001:db8::1", "Z-found", "Reconcile Succeeded", "Active")
	out := r.do(t, "state", "dns", "-o", "json", "-l", "akash.network/lease.id.owner="+id.Owner)
	var book struct{ DNS []map[string]any }
	if err := json.Unmarshal([]byte(out.Stdout), &book); err != nil || len(book.DNS) != 3 || book.DNS[0]["host"] != host || book.DNS[0]["lease"] != id.String() {
		t.Errorf("%v: %s", err, out)
	}

	r.sent()
	u := r.with(byGardener(t, strings.Replace(dns, "192.0.2.1", "192.0.2.2", 1)))
	u.do(t, "apply", "-f", definition).Prints(t, "dnsrecord/"+host+"-a configured", "served (A 192.0.2.2)", "ingress/"+host+" unchanged")
	if diff := cmp.Diff([]string{"PATCH announcement", "PATCH dnsrecords/" + host + "-a", "DELETE announcement"}, writesOf(r.sent())); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"reconcile " + host + "-a"}, e.did()); diff != "" {
		t.Errorf("the extension (-want +got):\n%s", diff)
	}
	now := need(t, dnsRecords, id.Namespace(), host+"-a").GetAnnotations()
	if now["gardener.cloud/timestamp"] == a.GetAnnotations()["gardener.cloud/timestamp"] || now["gardener.cloud/operation"] != "" {
		t.Errorf("annotations %v, before %v", now, a.GetAnnotations())
	}
	u.do(t, "apply", "-f", defineParts(t, id, webPart(host, newHost("more")))).Prints(t, "dnsrecord/"+host+"-a configured")
	if got := e.did(); slices.Contains(got, "reconcile "+host+"-a") {
		t.Errorf("the extension did %v", got)
	}
}

// What cannot be changed is replaced: named in the plan, deleted, waited for until the extension lets it go, and made anew. Until then
// the run ends with the code for a timeout, nothing else of the lease suffers, and the same command goes on.
func TestRecordIsReplaced(t *testing.T) {
	t.Parallel()
	id, host := leaseOf(newTenant(t), 1), newHost("dns")
	definition := defineParts(t, id, webPart(host))
	address, name := admin().with(byGardener(t, "targets: [192.0.2.1, '2001:db8::1']")), admin().with(byGardener(t, "targets: [lb.example.net]"))
	address.do(t, "apply", "-f", definition, "--wait=false")
	o := need(t, dnsRecords, id.Namespace(), host+"-a")
	o.SetFinalizers([]string{finalizer})
	update(t, "extension", dnsRecords, o)
	for _, mode := range []string{"client", "server"} {
		name.do(t, "apply", "-f", definition, "--dry-run="+mode).Prints(t,
			"dnsrecord/"+host+"-a replaced (by dnsrecord/"+host+"-cname)", "dnsrecord/"+host+"-aaaa replaced", "dnsrecord/"+host+"-cname created")
	}
	if o := need(t, dnsRecords, id.Namespace(), host+"-a"); o.GetDeletionTimestamp() != nil {
		t.Error("a dry run deletes")
	}
	name.run(t, "apply", "-f", definition, "--timeout=1s").Exits(t, 5).
		Prints(t, "dnsrecord/"+host+"-cname skipped (what it replaces is still being deleted").Says(t, "to be gone, so that another can take its place")
	need(t, ingresses, id.Namespace(), host)
	unmarked(t, id.Owner)
	e := extend(t, id, "")
	name.do(t, "apply", "-f", definition).Prints(t, "dnsrecord/"+host+"-cname created", "is live")
	if got := e.did(); len(got) == 0 || got[len(got)-1] != "reconcile "+host+"-cname" {
		t.Errorf("the extension: %q", got)
	}

	other := admin().with(configure(t, "dns: {form: gardener, gardener: {type: google-clouddns, class: garden, secretRef: {name: dns, namespace: garden}}, targets: [lb.example.net]}"))
	other.do(t, "apply", "-f", definition, "--dry-run=server").Prints(t,
		`replaced (its type cannot be changed from "aws-route53" to "google-clouddns")`, "-cname created (in place of what was)")
	other.do(t, "apply", "-f", definition).Prints(t, "-cname replaced", "-cname created", "is live")
	if got := specOf(need(t, dnsRecords, id.Namespace(), host+"-cname"), "type"); got != "google-clouddns" {
		t.Errorf("the type is %s", got)
	}

	endpoint := configure(t, "dns: {form: endpoint, targets: [lb.example.net]}")
	admin().with(endpoint).do(t, "apply", "-f", definition).Prints(t, "-cname replaced (by dnsendpoint/"+host+")", "dnsendpoint/"+host+" created", "is live")
	absent(t, dnsRecords, id.Namespace(), host+"-cname")
}

// What its controller cannot do is told with its words, and what it does not do in time is a timeout. explain says which record stands
// for a host, and why it is not served.
func TestRecordFails(t *testing.T) {
	t.Parallel()
	u := admin().with(byGardener(t, "targets: [192.0.2.1]"))
	id, host := leaseOf(newTenant(t), 1), newHost("dns")
	definition := defineParts(t, id, webPart(host))
	u.run(t, "apply", "-f", definition, "--timeout=1s").Exits(t, 5).
		Says(t, "dnsrecord "+id.Namespace()+"/"+host+"-a to be served", "has not taken it up yet", "kubectl -n "+id.Namespace()+" describe dnsrecords.extensions.gardener.cloud")
	need(t, ingresses, id.Namespace(), host)
	unmarked(t, id.Owner)

	extend(t, id, "no hosted zone for the name")
	u.run(t, "apply", "-f", definition).Exits(t, 1).
		Says(t, "dnsrecord "+id.Namespace()+"/"+host+"-a: the record was not made (Reconcile Error): no hosted zone for the name")
	u.do(t, "state", "dns", "-l", "akash.network/lease.id.owner="+id.Owner).Prints(t, "Failed", "no hosted zone for the name")
	u.do(t, "explain", host).Prints(t, "DNS: "+host+" A 192.0.2.1", "in zone Z-found (dnsrecord "+id.Namespace()+"/"+host+"-a).",
		"could not make it (Reconcile Error): no hosted zone for the name", "annotate --overwrite dnsrecords.extensions.gardener.cloud "+host+"-a gardener.cloud/operation=reconcile")
}

// Records go with their hosts, before the routes; the claim is kept until the record is gone.
func TestRecordsGoFirst(t *testing.T) {
	t.Parallel()
	r := record(t)
	r.config = byGardener(t, "targets: [192.0.2.1]")
	id, stays, goes := leaseOf(newTenant(t), 1), newHost("stays"), newHost("goes")
	r.do(t, "apply", "-f", defineParts(t, id, webPart(stays, goes)), "--wait=false")
	o := need(t, dnsRecords, id.Namespace(), goes+"-a")
	o.SetFinalizers([]string{finalizer})
	update(t, "extension", dnsRecords, o)
	r.run(t, "apply", "-f", defineParts(t, id, webPart(stays)), "--timeout=1s").Exits(t, 5).Says(t, "its claim is kept until then")
	need(t, claims, ledger, goes)
	o = need(t, dnsRecords, id.Namespace(), goes+"-a")
	o.SetFinalizers(nil)
	update(t, "extension", dnsRecords, o)
	extend(t, id, "")
	r.do(t, "apply", "-f", defineParts(t, id, webPart(stays))).Prints(t, "host/"+goes+" pruned")
	absent(t, claims, ledger, goes)
	r.sent()
	r.do(t, "release", id.Group().String()).Prints(t, "dnsrecord/"+stays+"-a deleted")
	if diff := cmp.Diff([]string{"PATCH announcement", "DELETE leases/" + kept.Name(id.Group()), "DELETE dnsrecords/" + stays + "-a", "DELETE ingresses/" + stays,
		"DELETE providerhosts/" + stays, "DELETE leases/" + stays, "DELETE announcement"}, writesOf(r.sent())); diff != "" {
		t.Errorf("writes of the release (-want +got):\n%s", diff)
	}
}

// The value comes from the Ingress' status once it is there. Another Ingress of the class says it for one that the controller has not
// seen yet.
func TestRecordFromIngressStatus(t *testing.T) {
	t.Parallel()
	class := newHost("class")
	r := record(t)
	r.config = configure(t, "ingress: {className: "+class+"}", "dns: {form: endpoint}")
	id, host := leaseOf(newTenant(t), 1), newHost("dns")
	extend(t, id, "")
	definition := defineParts(t, id, webPart(host))
	left := "its record is written once the ingress controller has said"
	r.do(t, "apply", "-f", definition, "--wait=false").Prints(t, "dns/"+host+" unconfirmed ("+left)
	r.do(t, "explain", host).Prints(t, "DNS: no record leads to it: "+left)
	absent(t, dnsEndpoints, id.Namespace(), host)

	// The controller answers while the run waits.
	polled, answered := make(chan struct{}), make(chan struct{})
	var once sync.Once
	r.hold(func(_ context.Context, q request) {
		if q.String() == "GET ingresses/"+host {
			once.Do(func() { close(polled) })
		}
	}, nil)
	go func() {
		defer close(answered)
		await(t.Context(), t, polled)
		publish(t, id.Namespace(), host, map[string]any{"ip": "192.0.2.7"}, map[string]any{"hostname": "lb.example.net"})
	}()
	r.do(t, "apply", "-f", definition).Prints(t, "dnsendpoint/"+host+" created", "served (A 192.0.2.7)", "is live")
	<-answered
	r.hold(nil, nil)

	second := newHost("dns")
	r.do(t, "apply", "-f", defineParts(t, leaseOf(id.Owner, 2), webPart(second)), "--wait=false").Prints(t, "dnsendpoint/"+second+" created")
	// A host name takes the place of the address: the object is changed, external-dns does the rest.
	publish(t, id.Namespace(), host, map[string]any{"hostname": "lb.example.net"})
	r.do(t, "apply", "-f", definition).Prints(t, "dnsendpoint/"+host+" configured", "served (CNAME lb.example.net)")
}

// A Gateway's status has the value for HTTPRoutes; leased addresses are known without any status.
func TestRecordFromGatewayAndAddress(t *testing.T) {
	t.Parallel()
	v4, v6 := newRanges()
	roads := newCrossroads(t)
	setStatus(t, gateways, "default", roads.gateway, `{}`)
	u := admin().with(configure(t, "target: httproute", "gateway: {name: "+roads.gateway+", namespace: default}",
		"ip: {ranges: ["+v4+"0/28, '"+v6+"0/124'], families: [IPv4, IPv6]}", "dns: {form: endpoint, sources: [address, status]}"))
	id, host, mx := leaseOf(newTenant(t), 1), newHost("dns"), newHost("mx")
	definition := defineParts(t, id, webPart(host), service("mail", "{port: 25, global: true, ip: public, hosts: ["+mx+"]}"), endpoint("public"))
	u.do(t, "apply", "-f", definition, "--wait=false").Prints(t, "dnsendpoint/"+mx+" created", "dns/"+host+" unconfirmed (its record is written once Gateway default/"+roads.gateway+" has an address")
	if got := answer(t, id, mx); got != "A ["+v4+"0], AAAA ["+v6+"0]" && got != "A ["+v4+"0], AAAA ["+strings.TrimSuffix(v6, ":")+":]" {
		t.Errorf("the leased host has %s (%s, %s)", got, v4, v6)
	}
	setStatus(t, gateways, "default", roads.gateway, `{addresses: [{type: IPAddress, value: 192.0.2.9}, {type: IPAddress, value: "2001:db8::9"}]}`)
	u.do(t, "apply", "-f", definition, "--wait=false").Prints(t, "dnsendpoint/"+host+" created", "dnsendpoint/"+mx+" unchanged")
	if got := answer(t, id, host); got != "A [192.0.2.9], AAAA [2001:db8::9]" {
		t.Errorf("the routed host has %s", got)
	}
}

// A transfer takes the old lease's record away before the new lease's is made: two objects for one
// name would undo each other.
func TestRecordIsTransferred(t *testing.T) {
	t.Parallel()
	u := admin().with(byGardener(t, "targets: [192.0.2.1]"))
	owner, host := newTenant(t), newHost("dns")
	blue, green := leaseOf(owner, 1), leaseOf(owner, 2)
	extend(t, blue, "")
	extend(t, green, "")
	u.do(t, "apply", "-f", defineParts(t, blue, webPart(host)))
	u.do(t, "apply", "-f", defineParts(t, green, webPart(host))).Prints(t, "host/"+host+" withheld")
	u.do(t, "transfer", host, "--to", green.String()).Prints(t, "dnsrecord/"+host+"-a created")
	absent(t, dnsRecords, blue.Namespace(), host+"-a")
	need(t, dnsRecords, green.Namespace(), host+"-a")
	u.do(t, "apply", "-f", defineParts(t, blue, webPart(host)))
	need(t, dnsRecords, green.Namespace(), host+"-a")
	u.do(t, "apply", "-f", defineParts(t, green, webPart(host))).Prints(t, "dnsrecord/"+host+"-a unchanged")
}

// A record that nobody stands for any more, or that says something else than it should, is a problem, and mended.
func TestRecordProblems(t *testing.T) {
	t.Parallel()
	config := byGardener(t, "targets: [192.0.2.1], ttl: 60")
	u := admin().with(config)
	id, stray, drifted := leaseOf(newTenant(t), 1), newHost("stray"), newHost("drifted")
	e := extend(t, id, "")
	u.do(t, "apply", "-f", defineParts(t, id, webPart(stray, drifted)))
	are := func(config string, want ...string) {
		t.Helper()
		if got := append(problemsOf(t, config, stray), problemsOf(t, config, drifted)...); !slices.Equal(got, want) {
			t.Errorf("the problems are %q, want %q", got, want)
		}
	}
	are(config)
	remove(t, ingresses, id.Namespace(), stray)
	remove(t, hosts, manifests, stray)
	remove(t, claims, ledger, stray)
	o := need(t, dnsRecords, id.Namespace(), drifted+"-a")
	if err := unstructured.SetNestedStringSlice(o.Object, []string{"203.0.113.99"}, "spec", "values"); err != nil {
		t.Fatal(err)
	}
	update(t, "hand-editor", dnsRecords, o)
	are(config, "StrayRecord", "RecordDiffers")
	e.did()
	u.do(t, "repair", "RecordDiffers/"+drifted, "StrayRecord/"+stray).Prints(t, "RecordDiffers/"+drifted+" repaired", "StrayRecord/"+stray+" repaired")
	are(config)
	now := need(t, dnsRecords, id.Namespace(), drifted+"-a")
	if got := specOf(now, "values"); got != "[192.0.2.1]" || now.GetAnnotations()[lease.AnnotationDefinition] == "" {
		t.Errorf("the mended record says %s, with %v", got, now.GetAnnotations())
	}
	eventually(t, "the extension takes up the mended record", func(context.Context) (bool, error) {
		return slices.Contains(e.did(), "reconcile "+drifted+"-a"), nil
	})
	eventually(t, "the stray record goes", func(context.Context) (bool, error) {
		return find(t, dnsRecords, id.Namespace(), stray+"-a") == nil, nil
	})
	u.do(t, "apply", "-f", defineParts(t, id, webPart(drifted))).Prints(t, "is live")
	are(configure(t), "StrayRecord") // without a form of records nobody keeps the one that is there
}

// What is rendered is what the resource definitions of Gardener and external-dns have, to the field.
func TestRenderedRecordsFitTheirDefinitions(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../render/testdata/dns-*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, document := range strings.Split(string(text), "---\n") {
			o := parse(t, document)
			resource := map[string]schema.GroupVersionResource{"DNSRecord": dnsRecords, "DNSEndpoint": dnsEndpoints}[o.GetKind()]
			if resource.Resource == "" {
				continue
			}
			seen[o.GetKind()]++
			o.SetNamespace("default")
			_, err := harness.Objects.Resource(resource).Namespace("default").Create(t.Context(), o, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}, FieldValidation: metav1.FieldValidationStrict})
			if err != nil {
				t.Errorf("%s: %v", file, err)
			}
		}
	}
	if seen["DNSRecord"] < 5 || seen["DNSEndpoint"] < 3 {
		t.Errorf("seen %v", seen)
	}
}

// The roles let operators write records, and viewers see them.
func TestRolesForRecords(t *testing.T) {
	t.Parallel()
	id, host := leaseOf(newTenant(t), 1), newHost("dns")
	definition := defineParts(t, id, webPart(host))
	operator, _ := userOf(t, "akash-net-operator", "patch")
	viewer, _ := userOf(t, "akash-net-viewer", "list")
	for _, dns := range []string{"{form: endpoint, targets: [192.0.2.1]}", "{form: gardener, targets: [192.0.2.1], gardener: {type: x, secretRef: {name: x, namespace: x}}}"} {
		operator.with(configure(t, "dns: "+dns)).do(t, "apply", "-f", definition, "--wait=false")
		viewer.do(t, "state", "dns").Prints(t, host, "192.0.2.1")
		viewer.with(configure(t, "dns: "+dns)).run(t, "release", id.Group().String()).Exits(t, 1).Says(t, "not allowed to list manifests")
		operator.with(configure(t, "dns: "+dns)).do(t, "release", id.Group().String()).Prints(t, "deleted")
	}
	operator.with(configure(t, "target: httproute", "dns: {form: endpoint}")).do(t, "apply", "-f", definition, "--wait=false").Prints(t, "dns/"+host+" unconfirmed")
}
