package engine_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/akash-net/kubectl-akash-net/engine"
)

// A route is the same to a migration whatever its controller writes; another object with its name, or one that is being deleted, is not.
func TestSameRoute(t *testing.T) {
	const route = "{metadata: {name: a, labels: {l: a}, annotations: {n: a}}, spec: {hosts: [a], class: c}}"
	for name, c := range map[string]struct {
		now  string
		same bool
	}{
		"nothing has changed":           {route, true},
		"a controller wrote the status": {"{metadata: {name: a, resourceVersion: \"9\", labels: {l: a}, annotations: {n: a}}, spec: {hosts: [a], class: c}, status: {x: 1}}", true},
		"a field of the spec differs":   {"{metadata: {labels: {l: a}, annotations: {n: a}}, spec: {hosts: [b], class: c}}", false},
		"a field of the spec is new":    {"{metadata: {labels: {l: a}, annotations: {n: a}}, spec: {hosts: [a], class: c, x: y}}", false},
		"a field of the spec is gone":   {"{metadata: {labels: {l: a}, annotations: {n: a}}, spec: {hosts: [a]}}", false},
		"a label differs":               {"{metadata: {labels: {l: b}, annotations: {n: a}}, spec: {hosts: [a], class: c}}", false},
		"an annotation is new":          {"{metadata: {labels: {l: a}, annotations: {n: a, m: b}}, spec: {hosts: [a], class: c}}", false},
		"it is another object":          {"{metadata: {uid: other, labels: {l: a}, annotations: {n: a}}, spec: {hosts: [a], class: c}}", false},
		"it is being deleted":           {"{metadata: {deletionTimestamp: \"2026-11-20T12:00:00Z\", labels: {l: a}, annotations: {n: a}}, spec: {hosts: [a], class: c}}", false},
	} {
		parse := func(text string) *unstructured.Unstructured {
			o := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
				t.Fatal(err)
			}
			return o
		}
		if got := engine.SameRoute(parse(route), parse(c.now)); got != c.same {
			t.Errorf("%s: got %t, want %t", name, got, c.same)
		}
	}
}
