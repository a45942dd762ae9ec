package cluster

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/akash-net/kubectl-akash-net/lease/managed"
	"github.com/akash-net/kubectl-akash-net/plan"
	"github.com/akash-net/kubectl-akash-net/render"
)

// Unchanged reports whether applying the object would change nothing: the live object has every field of it, and the
// manager owns no other field. It saves the PATCH.
func Unchanged(o render.Object, live *unstructured.Unstructured, manager string) bool {
	if live == nil || live.GetDeletionTimestamp() != nil {
		return false
	}
	desired := Rendered(o).Object
	if !plan.Contains(live.Object, desired) {
		return false
	}
	entry, ok := managed.Applied(live, manager)
	return ok && ownsOnly(entry, desired) // otherwise another manager set the fields
}

// Rendered converts an object to the form in which the API server returns it. Rendered objects are plain JSON.
func Rendered(o render.Object) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	if body, err := json.Marshal(o); err == nil {
		_ = utiljson.Unmarshal(body, &u.Object)
	}
	return u
}

// ownsOnly reports whether the manager owns only fields that it still sends. plan.Contains has compared list items.
func ownsOnly(entry managed.Entry, desired map[string]any) bool {
	set, ok := entry.Set()
	set.Iterate(func(path fieldpath.Path) { ok = ok && sends(desired, path) })
	return ok
}

// sends reports whether a value has the field at the path, up to the first list in it.
func sends(value any, path fieldpath.Path) bool {
	for _, element := range path {
		if element.FieldName == nil {
			return true
		}
		m, ok := value.(map[string]any)
		if !ok {
			return false
		}
		if value, ok = m[*element.FieldName]; !ok {
			return false
		}
	}
	return true
}
