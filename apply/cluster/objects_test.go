package cluster

import (
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/render"
)

func objectsOf(t *testing.T, texts ...string) []*unstructured.Unstructured {
	t.Helper()
	var objects []*unstructured.Unstructured
	for _, text := range texts {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
			t.Fatal(err)
		}
		objects = append(objects, o)
	}
	return objects
}

// A cluster of objects lists and gets them as the API server does, and takes no write.
func TestClusterOfObjects(t *testing.T) {
	c, err := OfObjects(objectsOf(t,
		`{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: a, namespace: one, labels: {l: "1"}}, spec: {x: 1}}`,
		`{apiVersion: networking.k8s.io/v1beta1, kind: Ingress, metadata: {name: b, namespace: two}}`,
		`{apiVersion: v1, kind: Namespace, metadata: {name: one}}`,
		`{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: nowhere}}`,
	))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		namespace, selector string
		want                []string
	}{{"", "", []string{"a", "b"}}, {"one", "", []string{"a"}}, {"", "l=1", []string{"a"}}, {"two", "l=1", nil}, {"three", "", nil}} {
		list, err := c.Objects(t.Context(), kinds.Ingress.Resource(), tt.namespace, metav1.ListOptions{LabelSelector: tt.selector})
		var got []string
		for _, o := range list {
			got = append(got, o.GetName())
		}
		if err != nil || !slices.Equal(got, tt.want) {
			t.Errorf("namespace %q, selector %q: %v %v, want %v", tt.namespace, tt.selector, got, err, tt.want)
		}
	}
	if o, err := c.Get(t.Context(), kinds.Ingress, "one", "a"); err != nil || o == nil || o.Object["spec"].(map[string]any)["x"] != int64(1) { //nolint:forcetypeassert // a panic fails the test
		t.Errorf("get: %v %v", o, err)
	}
	if o, err := c.Get(t.Context(), kinds.Ingress, "two", "a"); err != nil || o != nil {
		t.Errorf("get of what is not there: %v %v", o, err)
	}
	for resource, want := range map[string]string{"namespaces": "one", "leases": "nowhere"} {
		gvr, namespace := Namespaces, ""
		if resource == "leases" {
			gvr, namespace = Leases, "akash-net"
		}
		if metas, err := c.Metas(t.Context(), gvr, namespace); err != nil || len(metas) != 1 || metas[0].Name != want {
			t.Errorf("metadata of %s: %v %v", resource, metas, err)
		}
	}
	if text, _, err := c.Config(t.Context()); text != "" || err != nil {
		t.Errorf("the configuration is %q %v", text, err)
	}
	object := render.Object{Kind: kinds.Ingress, Namespace: "one", Name: "a", Config: map[string]any{"apiVersion": "networking.k8s.io/v1", "kind": "Ingress"}}
	if _, _, err := c.As("m").applyObject(t.Context(), object, metav1.PatchOptions{}); err == nil {
		t.Error("a write is taken")
	}
}

func TestObjectsWithoutMetadata(t *testing.T) {
	for _, metadata := range []string{"[1]", "{name: {a: b}}", "{labels: [a]}", "{generation: 1.5}", "7"} {
		if _, err := OfObjects(objectsOf(t, "{apiVersion: v1, kind: Service, metadata: "+metadata+"}")); err == nil || !strings.HasPrefix(err.Error(), "Service") {
			t.Errorf("metadata %s: %v", metadata, err)
		}
	}
	if _, err := OfObjects(objectsOf(t, "{apiVersion: v1, kind: Service}")); err != nil {
		t.Error(err)
	}
}
