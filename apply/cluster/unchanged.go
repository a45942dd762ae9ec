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

// Unchanged is true when applying the object would change nothing: every field of it stands in
// the live object, and the manager owns no field there that it no longer sends. It spares the
// PATCH of an object that is as it should be.
func Unchanged(o render.Object, live *unstructured.Unstructured, manager string) bool {
	if live == nil || live.GetDeletionTimestamp() != nil {
		return false
	}
	desired := Rendered(o).Object
	if !plan.Contains(live.Object, desired) {
		return false
	}
	entry, ok := managed.Applied(live, manager)
	return ok && ownsNoMore(entry, desired) // else the fields are there, but not as ours
}

// Rendered is an object as the API server would show it. What render makes is plain JSON.
func Rendered(o render.Object) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	if body, err := json.Marshal(o); err == nil {
		_ = utiljson.Unmarshal(body, &u.Object)
	}
	return u
}

// ownsNoMore is true when each field that a manager owns is one that it sends. Members of lists were
// compared by plan.Contains.
func ownsNoMore(entry managed.Entry, desired map[string]any) bool {
	set, ok := entry.Set()
	set.Iterate(func(path fieldpath.Path) { ok = ok && sends(desired, path) })
	return ok
}

// sends is true where a value has the field of the path, as far as the path leads through fields.
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
