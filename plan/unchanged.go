package plan

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/akash-net/kubectl-akash-net/lease/managed"
	"github.com/akash-net/kubectl-akash-net/render"
)

// Unchanged reports whether applying the object would change nothing: the live object has every field of it, the
// manager owns no other field, and nobody keeps one that was delivered. It saves the PATCH.
func Unchanged(o render.Object, live *unstructured.Unstructured, manager string) bool {
	if live == nil || live.GetDeletionTimestamp() != nil {
		return false
	}
	desired := render.Rendered(o).Object
	if !Contains(live.Object, desired) {
		return false
	}
	entry, ok := managed.Applied(live, manager)
	if !ok || !ownsOnly(entry, desired) {
		return false // another manager set the fields
	}
	c := comparison{live: live}
	c.addKept(desired)
	return len(c.fields) == 0
}

// ownsOnly reports whether the manager owns only fields that it still sends. Contains has compared list items.
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
