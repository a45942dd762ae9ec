package apply

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/engine/observed"
	"github.com/akash-net/kubectl-akash-net/engine/plan"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/listed"
	"github.com/akash-net/kubectl-akash-net/lease/managed"
	"github.com/akash-net/kubectl-akash-net/state"
)

// unknownUID is the prefix of the UIDs given to objects whose files have none.
const unknownUID = "unknown-"

// Files are the objects of files, for planning. What a plan needs and files lack is added: a namespace for every object, UIDs, and managed
// fields for objects with this program's marks. A rendered object counts as written by this program completely. Of an object exported
// without managed fields only the marks count.
type Files struct {
	// Unowned is the number of objects that were exported without managed fields.
	Unowned int
	objects []cluster.File
	// spaces are the namespaces that objects have, true for those that are objects themselves.
	spaces map[string]bool
}

// Add adds an object whose metadata can be read, as files.Take has it.
func (f *Files) Add(o *unstructured.Unstructured, again func() *unstructured.Unstructured) {
	if f.spaces == nil {
		f.spaces = map[string]bool{}
	}
	kind, key := o.GroupVersionKind(), o.GetNamespace()+"/"+o.GetName()
	if _, known := f.spaces[o.GetNamespace()]; !known {
		f.spaces[o.GetNamespace()] = false
	}
	if kind.GroupKind() == kinds.Namespace.GroupKind() {
		f.spaces[o.GetName()] = true
	}
	if lacksWriter(o) && isExported(o) {
		f.Unowned++
	}
	n := len(f.objects)
	file := cluster.File{Kind: kind}
	if again == nil {
		complete(o, n)
		file.Object = listed.New(key, o)
	} else {
		file.Object = listed.Unread(key, func() *unstructured.Unstructured { return complete(again(), n) })
	}
	f.objects = append(f.objects, file)
}

// Cluster returns a cluster with the objects.
func (f *Files) Cluster() (*cluster.Cluster, error) {
	for _, name := range slices.Sorted(maps.Keys(f.spaces)) {
		if name != "" && !f.spaces[name] {
			n := len(f.objects)
			f.objects = append(f.objects, cluster.File{Kind: kinds.Namespace.GroupVersionKind, Object: listed.Unread("/"+name, func() *unstructured.Unstructured {
				o := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": name}}}
				o.SetGroupVersionKind(kinds.Namespace.GroupVersionKind)
				return complete(o, n)
			})})
		}
	}
	return cluster.OfFiles(f.objects)
}

// complete adds to the object with a number what a plan needs.
func complete(o *unstructured.Unstructured, n int) *unstructured.Unstructured {
	if lacksWriter(o) {
		addWriter(o)
	}
	if o.GetUID() == "" {
		o.SetUID(types.UID(fmt.Sprintf("%s%d", unknownUID, n)))
	}
	return o
}

// lacksWriter reports whether an object has this program's marks, and no managed fields.
func lacksWriter(o *unstructured.Unstructured) bool {
	metadata := state.Field(o.Object, "metadata")
	if managers, _ := state.Field(metadata, "managedFields").([]any); len(managers) > 0 {
		return false
	}
	annotation, _ := state.Field(metadata, "annotations", lease.AnnotationDefinition).(string)
	label, _ := state.Field(metadata, "labels", lease.LabelOurs).(string)
	return annotation+label != ""
}

// isExported reports whether an object was exported from a cluster. Nobody can tell which of its fields are this program's.
func isExported(o *unstructured.Unstructured) bool {
	return o.GetUID() != "" || o.GetResourceVersion() != ""
}

// addWriter adds the managed fields that this program would own.
func addWriter(o *unstructured.Unstructured) {
	metadata, _ := o.Object["metadata"].(map[string]any)
	exported := isExported(o)
	fields := map[string]any{"metadata": pick(metadata, "annotations", "labels")}
	if exported {
		fields["metadata"] = map[string]any{
			"annotations": pick(o.GetAnnotations(), lease.AnnotationDefinition),
			"labels":      pick(o.GetLabels(), lease.LabelOwner, lease.LabelOurs),
		}
	}
	for name, value := range o.Object {
		switch {
		case slices.Contains([]string{"apiVersion", "kind", "metadata", managed.Status}, name):
		case exported:
			fields[name] = nil
		default:
			fields[name] = value
		}
	}
	metadata["managedFields"] = []any{map[string]any{
		"manager": writerOf(o), "operation": string(metav1.ManagedFieldsOperationApply), "apiVersion": o.GetAPIVersion(),
		"fieldsType": "FieldsV1", "fieldsV1": fieldsOf(fields),
	}}
}

// writerOf returns the field manager under which this program writes an object.
func writerOf(o *unstructured.Unstructured) string {
	labels, _ := state.Field(o.Object, "metadata", "labels").(map[string]any)
	id, labelled := lease.IDFrom(func(name string) string { text, _ := labels[name].(string); return text })
	if kind := kinds.Of(o.GetKind()); labelled && kind.GroupKind() == o.GroupVersionKind().GroupKind() {
		return observed.ManagerOf(kind, id.Group())
	}
	return lease.FieldManager
}

// pick returns the entries of a map with the given keys.
func pick[V any](have map[string]V, keys ...string) map[string]any {
	out := map[string]any{}
	for _, key := range keys {
		if value, there := have[key]; there {
			out[key] = value
		}
	}
	return out
}

// leaf are the fields of a value that has none.
var leaf = map[string]any{}

// fieldsOf returns the fields of a value in the format of managed fields. A list counts as one field; a map without
// fields is left out.
func fieldsOf(value any) map[string]any {
	fields, isMap := value.(map[string]any)
	if !isMap || len(fields) == 0 {
		return leaf
	}
	out := make(map[string]any, len(fields))
	for name, value := range fields {
		below := fieldsOf(value)
		if _, isMap := value.(map[string]any); !isMap || len(below) > 0 {
			out["f:"+name] = below
		}
	}
	return out
}

// forget removes from a change what OfFiles and the dry run have added. The API server sets the time of a field manager, but where
// that has applied what was there.
func forget(c *plan.Change) {
	for i, f := range c.Fields {
		c.Fields[i].Owners = slices.DeleteFunc(f.Owners, func(o plan.Owner) bool { return o.Own && o.Since.IsZero() })
	}
	c.Unpinned, c.Planned = strings.HasPrefix(string(c.UID), unknownUID), cluster.IsDraft(c.UID)
	if c.Unpinned || c.Planned {
		c.UID = ""
		drop(c, "uid")
	}
	if cluster.IsDraft(c.ResourceVersion) {
		c.ResourceVersion = ""
		drop(c, "resourceVersion")
	}
}

// drop removes a field of the metadata before and after the change.
func drop(c *plan.Change, field string) {
	unstructured.RemoveNestedField(c.Before, "metadata", field)
	unstructured.RemoveNestedField(c.After, "metadata", field)
}
