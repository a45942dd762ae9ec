package execute

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/lease"
)

func TestIsUnwritten(t *testing.T) {
	made := func(change func(*unstructured.Unstructured)) *unstructured.Unstructured {
		o := &unstructured.Unstructured{Object: map[string]any{}}
		o.SetResourceVersion("1")
		o.SetGeneration(1)
		o.SetLabels(map[string]string{"app": "web"})
		o.SetAnnotations(map[string]string{"hash": "a"})
		if change != nil {
			o.SetResourceVersion("2")
			change(o)
		}
		return o
	}
	for name, c := range map[string]struct {
		change func(*unstructured.Unstructured)
		want   bool
	}{
		"as it was": {nil, true},
		"a controller's status": {func(o *unstructured.Unstructured) {
			_ = unstructured.SetNestedField(o.Object, int64(1), "status", "replicas")
		}, true},
		"a controller's annotation": {func(o *unstructured.Unstructured) {
			o.SetAnnotations(map[string]string{"hash": "a", "deployment.kubernetes.io/revision": "1"})
		}, true},
		"another specification": {func(o *unstructured.Unstructured) { o.SetGeneration(2) }, false},
		"without a generation":  {func(o *unstructured.Unstructured) { o.SetGeneration(0) }, false},
		"another label":         {func(o *unstructured.Unstructured) { o.SetLabels(map[string]string{"app": "api"}) }, false},
		"another annotation":    {func(o *unstructured.Unstructured) { o.SetAnnotations(map[string]string{"hash": "b"}) }, false},
		"touched": {func(o *unstructured.Unstructured) {
			o.SetAnnotations(map[string]string{"hash": "a", lease.AnnotationTaken: "other"})
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := isUnwritten(made(nil), made(c.change)); got != c.want {
				t.Errorf("got %v", got)
			}
		})
	}
}
