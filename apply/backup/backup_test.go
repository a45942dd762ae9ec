package backup_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/backup"
	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/lease/document"
	"github.com/akash-net/kubectl-akash-net/state/kept"
)

const (
	shop = "akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h"
	blog = "akash1n44zc8l6gfm0hpydldndpg8n05xjjwmuahc6nn"
	at   = "akash1nxq8gmsw2vlz3m68qvyvcf3kh6q269ajvqw6y0"
)

// objects reads YAML documents.
func objects(t *testing.T, texts ...string) (out []*unstructured.Unstructured) {
	t.Helper()
	for _, text := range texts {
		o := &unstructured.Unstructured{}
		if err := document.Unmarshal([]byte(text), &o.Object); err != nil {
			t.Fatal(err)
		}
		out = append(out, o)
	}
	return out
}

func object(name, more string) string {
	return "{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {namespace: akash-net, uid: u-" + name + ", resourceVersion: '7', name: " + name +
		", managedFields: [{manager: m}], creationTimestamp: 2026-11-01T00:00:00Z" + more
}

// claim is the claim of an owner on a host.
func claim(name, kind, owner string) string {
	return object(name, fmt.Sprintf(", labels: {net.akash.network/kind: %s, net.akash.network/owner: %s}, annotations: {net.akash.network/ledger: v1, "+
		"kubectl.kubernetes.io/last-applied-configuration: x, route.net.akash.network/h9fdlck2cci468cu0kf4lnhd3ldroposf0853fok6u4npffuk3og: "+
		`'{"lease":"%s/7/1/1/%s","path":"/"}'}}, spec: {holderIdentity: %s}}`, kind, owner, owner, at, owner))
}

func config1(ranges string) string {
	return "{kind: ConfigMap, metadata: {name: config, namespace: akash-net, uid: c}, data: {config.yaml: '" + ranges + "'}}"
}

// A backup has the claims, the reservations and the definitions of a ledger, in the order in which to write them, without what belongs to
// one cluster, and without what runs now.
func TestReadsLedger(t *testing.T) {
	c, err := cluster.OfObjects(objects(t,
		object("df--a", ", labels: {net.akash.network/definition-of: "+shop+"}}, spec: {holderIdentity: "+shop+"/7/1}}"),
		claim("shop.example.com", "host", shop),
		object("rs--b", ", annotations: {net.akash.network/order: "+shop+"/8/1/1}}, spec: {holderIdentity: "+shop+"}}"),
		object("run--0123456789abcdef", "}}"), object("el--x", "}}"), object("fl--x", "}}"), object("somebodys", "}}"),
		object("gone.example.com", ", deletionTimestamp: 2026-11-01T00:00:00Z, finalizers: [a/b], labels: {net.akash.network/kind: host}}}"),
		"{apiVersion: v1, "+config1("a: b")[1:],
	))
	if err != nil {
		t.Fatal(err)
	}
	l, err := backup.Read(t.Context(), c, "akash-net")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, o := range l.Objects() {
		got = append(got, o.GetKind()+" "+o.GetName())
		for _, key := range []string{"uid", "resourceVersion", "managedFields", "creationTimestamp"} {
			if _, found, _ := unstructured.NestedFieldNoCopy(o.Object, "metadata", key); found {
				t.Errorf("%s has %s", o.GetName(), key)
			}
		}
		if o.GetAPIVersion() == "" || o.GetAnnotations()["kubectl.kubernetes.io/last-applied-configuration"] != "" {
			t.Errorf("%v", o.Object)
		}
	}
	if diff := cmp.Diff([]string{"ConfigMap config", "Lease rs--b", "Lease shop.example.com", "Lease df--a"}, got); diff != "" {
		t.Error(diff)
	}
	if l.Config != "a: b" {
		t.Errorf("the configuration is %q", l.Config)
	}
}

// What is no object of the ledger is refused, and so what is of another namespace.
func TestRefusesOthers(t *testing.T) {
	_, problems := backup.Of(objects(t, claim("shop.example.com", "host", shop), object("somebodys", "}}"), "{apiVersion: v1, kind: Secret, metadata: {name: s}}",
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: other}}", "{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: a.example.com, namespace: other}}",
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: config}, data: {}}"), "akash-net")
	if len(problems.Errors()) != 5 {
		t.Errorf("%v", problems)
	}
	if _, problems = backup.Of(nil, "akash-net"); !problems.Failed() {
		t.Error("a restore of nothing is taken for one")
	}
}

// A restore creates what is not there and changes nothing that is. What another owner has, claims over or below it, or serves, stays his;
// what cannot be restored stops nothing else. Running it again finds it done.
func TestRestores(t *testing.T) {
	const ingress = "{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: served, namespace: %s, labels: {akash.network/lease.id.owner: %s, " +
		"akash.network/lease.id.dseq: '9', akash.network/lease.id.gseq: '1', akash.network/lease.id.oseq: '1', akash.network/lease.id.provider: %s}}, spec: {rules: [{host: served.example.com}]}}"
	live, err := cluster.OfObjects(objects(t,
		claim("same.example.com", "host", shop), strings.Replace(claim("moved.example.com", "host", shop), "/7/1/1/", "/9/1/1/", 1),
		claim("taken.example.com", "host", blog), claim("wc--any.example.net", "wildcard", blog), claim("a.example.org", "host", blog),
		claim("wc--any.example.edu", "wildcard", shop),
		fmt.Sprintf(ingress, namespaceOf(blog), blog, at),
	))
	if err != nil {
		t.Fatal(err)
	}
	live = live.DryRun(cluster.DryRunClient)
	backed, problems := backup.Of(objects(t,
		definition(t),
		claim("new.example.com", "host", shop), claim("same.example.com", "host", shop), claim("moved.example.com", "host", shop),
		claim("taken.example.com", "host", shop), claim("b.example.net", "host", shop), claim("wc--any.example.org", "wildcard", shop),
		claim("c.example.edu", "host", shop), claim("served.example.com", "host", shop),
	), "akash-net")
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	restore := func() (did []string, err error) {
		r := backup.Restorer{Cluster: live, Namespace: config.Default().LedgerNamespace, Concurrency: 1, Report: func(e report.Event) {
			did = append(did, strings.TrimSpace(fmt.Sprintf("%s/%s %s %s", e.Kind, e.Name, e.Action, e.Message)))
		}}
		return did, r.Restore(t.Context(), backed.Records)
	}
	did, err := restore()
	want := []string{
		"host/c.example.edu created", "host/moved.example.com unchanged it exists, and differs from the one in the backup", "host/new.example.com created",
		"host/same.example.com unchanged", "definition/" + shop + "/7/1 created",
	}
	if diff := cmp.Diff(want, did); diff != "" {
		t.Errorf("%s", diff)
	}
	for _, held := range []string{
		"host/taken.example.com was held by owner " + shop + ", and is held by owner " + blog + " now", "host/b.example.net was held by owner " + shop + ", and is kept off by wildcard",
		"wildcard/*.example.org was held by owner " + shop + ", and is kept off by host a.example.org of owner " + blog, "host/served.example.com was held by owner " + shop + ", and is used by ingress",
	} {
		if err == nil || !strings.Contains(err.Error(), held) {
			t.Errorf("%v\ndoes not say %s", err, held)
		}
	}
	again, _ := restore()
	if i := slices.IndexFunc(again, func(s string) bool { return strings.HasSuffix(s, "created") }); i >= 0 || len(again) != len(did) {
		t.Errorf("again it did %q", again)
	}
	o, err := live.Dynamic.Resource(cluster.Leases).Namespace("akash-net").Get(t.Context(), "taken.example.com", metav1.GetOptions{})
	if err != nil || o.GetLabels()["net.akash.network/owner"] != blog {
		t.Errorf("%v, %v", o, err)
	}
}

func namespaceOf(owner string) string {
	return lease.ID{Owner: owner, DSeq: 9, GSeq: 1, OSeq: 1, Provider: at}.Namespace()
}

// definition is the text of the definition that the ledger keeps of a lease of shop.
func definition(t *testing.T) string {
	t.Helper()
	def := &lease.Definition{Name: "shop", Lease: lease.ID{Owner: shop, DSeq: 7, GSeq: 1, OSeq: 1, Provider: at}}
	def.Hash = lease.Sum(def)
	d, err := kept.New(def, "run")
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(d.Configuration("akash-net", def.Lease.Group(), nil))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
