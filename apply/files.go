package apply

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/managed"
	"github.com/akash-net/kubectl-akash-net/plan"
	"github.com/akash-net/kubectl-akash-net/render"
)

// unknownUID is the prefix of the UIDs given to objects whose files have none.
const unknownUID = "unknown-"

// OfFiles returns a cluster with the objects of files, for planning. It adds what a plan needs and files lack: a
// namespace for every object, UIDs, and managed fields for objects with this program's marks. A rendered object counts
// as written by this program completely. Of an object exported without managed fields only the marks count; unowned is
// the number of those.
func OfFiles(objects []*unstructured.Unstructured) (c *cluster.Cluster, unowned int, err error) {
	exists := map[string]bool{}
	for _, o := range objects {
		if isNamespace(o) {
			exists[o.GetName()] = true
		}
	}
	for _, o := range slices.Clone(objects) {
		if name := o.GetNamespace(); name != "" && !exists[name] {
			exists[name] = true
			objects = append(objects, cluster.Rendered(render.Object{Config: map[string]any{
				"apiVersion": "v1", "kind": kinds.Namespace.Kind, "metadata": map[string]any{"name": name},
			}}))
		}
	}
	if c, err = cluster.OfObjects(objects); err != nil { // as they are: what is added can be read
		return nil, 0, err
	}
	for i, o := range objects {
		if addWriter(o) {
			unowned++
		}
		if o.GetUID() == "" {
			o.SetUID(types.UID(fmt.Sprintf("%s%d", unknownUID, i)))
		}
	}
	return c, unowned, nil
}

func isNamespace(o *unstructured.Unstructured) bool {
	return o.GroupVersionKind().GroupKind() == kinds.Namespace.GroupKind()
}

// addWriter adds the managed fields that this program would own to an object with its marks but without managed fields.
// It returns true for an object that was exported from a cluster: nobody can tell which of its fields are this
// program's.
func addWriter(o *unstructured.Unstructured) (exported bool) {
	metadata, _ := o.Object["metadata"].(map[string]any)
	marked := o.GetAnnotations()[lease.AnnotationDefinition] != "" || o.GetLabels()[lease.LabelOurs] != ""
	if !marked || len(o.GetManagedFields()) > 0 {
		return false
	}
	exported = o.GetUID() != "" || o.GetResourceVersion() != ""
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
	return exported
}

// writerOf returns the field manager under which this program writes an object.
func writerOf(o *unstructured.Unstructured) string {
	id, labelled := lease.IDFromLabels(o.GetLabels())
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

// fieldsOf returns the fields of a value in the format of managed fields. A list counts as one field; a map without
// fields is left out.
func fieldsOf(value any) map[string]any {
	out := map[string]any{}
	if fields, ok := value.(map[string]any); ok {
		for name, value := range fields {
			below := fieldsOf(value)
			if _, isMap := value.(map[string]any); !isMap || len(below) > 0 {
				out["f:"+name] = below
			}
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
