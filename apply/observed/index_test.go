package observed_test

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/kinds"
)

// Of two uses of a host the first by namespace and name is the first, in whichever order they were read: it is the one that is named.
func TestUsesAreInOneOrder(t *testing.T) {
	t.Parallel()
	route := func(namespace, name string) *unstructured.Unstructured {
		o := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"rules": []any{map[string]any{
			"host": "a.example.com", "http": map[string]any{"paths": []any{map[string]any{"path": "/"}}},
		}}}}}
		o.SetGroupVersionKind(kinds.Ingress.GroupVersionKind)
		o.SetNamespace(namespace)
		o.SetName(name)
		return o
	}
	s := observed.NewSnapshot()
	s.Index(nil, map[string][]*unstructured.Unstructured{kinds.Ingress.Plural: {route("b", "x"), route("a", "y"), route("a", "x")}})
	got := ""
	for _, u := range s.HostUses["a.example.com"] {
		got += fmt.Sprintf("%s/%s ", u.Namespace, u.Name)
	}
	if want := "a/x a/y b/x "; got != want {
		t.Errorf("the uses are %q, want %q", got, want)
	}
}
