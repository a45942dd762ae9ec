package deployed

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// LeaveDropped is the object that is wanted without what API servers may drop: how many pods of a StatefulSet are replaced
// at a time, where that is one, which is what happens anyway. The field stands behind a feature gate; sent to a server
// that drops it, the object would never be as it is wanted.
func LeaveDropped(want map[string]any) map[string]any {
	path := []string{"spec", "updateStrategy", "rollingUpdate", "maxUnavailable"}
	if n, found, _ := unstructured.NestedInt64(want, path...); want["kind"] != "StatefulSet" || !found || n != 1 {
		return want
	}
	want = runtime.DeepCopyJSON(want)
	unstructured.RemoveNestedField(want, path...)
	return want
}
