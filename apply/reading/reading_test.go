package reading_test

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/command"
	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/apply/reading"
	"github.com/akash-net/kubectl-akash-net/engine/observed"
	ot "github.com/akash-net/kubectl-akash-net/engine/observed/observedtest"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/manifests"
	"github.com/akash-net/kubectl-akash-net/test/golden"
)

// A snapshot knows the leases of namespaces, what each group wrote, and whether the ledger is closing; another look at one
// owner sees no other's objects.
func TestReadAndLook(t *testing.T) {
	namespace := func(name string, labels, annotations map[string]string) *unstructured.Unstructured {
		o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace"}}
		o.SetName(name)
		o.SetLabels(labels)
		o.SetAnnotations(annotations)
		return o
	}
	tenant := func(s *observed.Snapshot) lease.ID {
		id, _ := s.Tenant(ot.Shop.Namespace())
		return id
	}
	c, err := cluster.OfObjects([]*unstructured.Unstructured{
		namespace(ot.Shop.Namespace(), ot.Shop.Labels(), nil),
		namespace("akash-net", nil, map[string]string{lease.AnnotationClosing: "n"}),
		ot.Ours(ot.Ingress(ot.Shop, "shop.example.com", "/")), ot.Ours(ot.Ingress(ot.Blog, "blog.example.com", "/")),
	})
	if err != nil {
		t.Fatal(err)
	}
	cmd := command.New(c, command.Options{Config: config.Default(), Concurrency: 4})
	s, err := reading.Read(t.Context(), c, ledger.New(c, "akash-net"), reading.Reading{})
	if err != nil {
		t.Fatal(err)
	}
	if s.ClosedBy != "n" || tenant(s) != ot.Shop || !s.Namespaces()["akash-net"] {
		t.Errorf("closed by %q, tenant %s, namespaces %v", s.ClosedBy, tenant(s), s.Namespaces())
	}
	if !s.Written.Has(ot.Shop.Group()) || !s.Written.Has(ot.Blog.Group()) || !s.HostUses.Has("blog.example.com") {
		t.Errorf("written are %v", s.Written)
	}
	again, err := reading.Look(t.Context(), cmd, s, ot.Shop.Owner)
	if err != nil {
		t.Fatal(err)
	}
	if !again.Written.Has(ot.Shop.Group()) || again.Written.Has(ot.Blog.Group()) || tenant(again) != ot.Shop {
		t.Errorf("another look has %v, tenant %s", again.Written, tenant(again))
	}
}

// A route without host names uses those of the listeners of its Gateway, and one that none of them serves or allows uses nothing, also where somebody
// has written an annotation of this program's on them.
func TestRoutesUseWhatListenersServe(t *testing.T) {
	var objects []*unstructured.Unstructured
	for _, text := range []string{
		`{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {name: g, namespace: g, annotations: {%[1]s: ""}}, spec: {listeners: [{name: http, port: 80, hostname: shop.example.com}, {name: picky, allowedRoutes: {namespaces: {from: Selector, selector: {matchLabels: {l: x}}}}}]}}`,
		`{apiVersion: v1, kind: Namespace, metadata: {name: refused, labels: {l: z}, annotations: {%[1]s: ""}}}`,
		`{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: refused, namespace: refused, annotations: {%[1]s: forged}}, spec: {hostnames: [blog.example.com], parentRefs: [{name: g, namespace: g, sectionName: picky}]}}`,
		`{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: old, namespace: a, annotations: {%[1]s: forged}}, spec: {parentRefs: [{name: g, namespace: g, port: 80}]}}`,
		`{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: none, namespace: b, annotations: {%[1]s: forged}}, spec: {hostnames: [blog.example.com], parentRefs: [{name: g, namespace: g, sectionName: http}]}}`,
	} {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(fmt.Sprintf(text, lease.AnnotationDefinition)), &o.Object); err != nil {
			t.Fatal(err)
		}
		objects = append(objects, o)
	}
	c, err := cluster.OfObjects(objects)
	if err != nil {
		t.Fatal(err)
	}
	s, err := reading.Read(t.Context(), c, ledger.New(c, "akash-net"), reading.Reading{})
	if err != nil {
		t.Fatal(err)
	}
	if uses := s.HostUses.At("shop.example.com"); len(uses) != 1 || uses[0].Name != "old" || s.HostUses.Len() != 1 {
		t.Errorf("the hosts are used by %v", s.HostUses.Map())
	}
}

// What is read of Akash's operators, and of whom: testdata/tables.txt.
//
//	running MODE [NAME=REPLICAS...]   which operators count: their Deployments, by any name, are not scaled to zero, or the user says so
//	owner LEASE...                    the one whom a LIST of these groups may name
func TestTables(t *testing.T) {
	golden.Rules{
		"running": func(line string) string {
			words := strings.Fields(line)
			var deployments []*unstructured.Unstructured
			for _, word := range words[1:] {
				name, replicas, _ := strings.Cut(word, "=")
				o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "spec": map[string]any{"replicas": int64(replicas[0] - '0')}}}
				o.SetNamespace(manifests.OperatorsNamespace)
				o.SetName(name)
				deployments = append(deployments, o)
			}
			c, err := cluster.OfObjects(deployments)
			if err != nil {
				t.Fatal(err)
			}
			opts := command.Options{Config: config.Default(), Operators: strings.Trim(words[0], "-"), Concurrency: 4}
			s, err := reading.ReadWithOperators(t.Context(), command.New(c, opts), reading.Reading{})
			if err != nil {
				t.Fatal(err)
			}
			return fmt.Sprintf("hostname %t, ip %t, off %t", s.Operators.Hostname, s.Operators.IP, s.Operators.Off)
		},
		"owner": func(line string) string {
			var groups []lease.Group
			for _, word := range strings.Fields(line) {
				groups = append(groups, ot.WordLease(t, word).Group())
			}
			return strings.NewReplacer(ot.Shop.Owner, "OWNER", ot.Blog.Owner, "OTHER").Replace(reading.OnlyOwner(groups))
		},
	}.Check(t, "testdata/tables.txt")
}
