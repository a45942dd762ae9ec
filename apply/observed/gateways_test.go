package observed_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/apply/observed"
)

// A route without host names uses those of the listeners of its Gateway, and one that none of them serves uses nothing.
func TestRoutesUseWhatListenersServe(t *testing.T) {
	var objects []*unstructured.Unstructured
	for _, text := range []string{
		`{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {name: g, namespace: g}, spec: {listeners: [{name: http, port: 80, hostname: shop.example.com}]}}`,
		`{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: old, namespace: a}, spec: {parentRefs: [{name: g, namespace: g}]}}`,
		`{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: none, namespace: b}, spec: {hostnames: [blog.example.com], parentRefs: [{name: g, namespace: g}]}}`,
	} {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
			t.Fatal(err)
		}
		objects = append(objects, o)
	}
	c, err := cluster.OfObjects(objects)
	if err != nil {
		t.Fatal(err)
	}
	s, err := observed.Read(t.Context(), c, ledger.New(c, "akash-net"), observed.Reading{})
	if err != nil {
		t.Fatal(err)
	}
	if uses := s.HostUses["shop.example.com"]; len(uses) != 1 || uses[0].Name != "old" || len(s.HostUses) != 1 {
		t.Errorf("the hosts are used by %v", s.HostUses)
	}
}
