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

// unknownUID begins the UID of an object whose file shows none.
const unknownUID = "unknown-"

// OfFiles is a cluster of the objects of files, to plan on. It adds to the objects what a plan needs and files do
// not show. A namespace exists where anything is in it. An object with the marks of this program counts as written
// by it: all of an object that was rendered, and of one that was exported without managed fields (unowned) what it is known by.
func OfFiles(objects []*unstructured.Unstructured) (c *cluster.Cluster, unowned int, err error) {
	exists := map[string]bool{}
	for _, o := range objects {
		if isNamespace(o) {
			exists[o.GetName()] = true
		}
	}
	for i, o := range slices.Clone(objects) {
		if name := o.GetNamespace(); name != "" && !exists[name] {
			exists[name] = true
			objects = append(objects, cluster.Rendered(render.Object{Config: map[string]any{
				"apiVersion": "v1", "kind": kinds.Namespace.Kind, "metadata": map[string]any{"name": name},
			}}))
		}
		if addWriter(o) {
			unowned++
		}
		if o.GetUID() == "" {
			o.SetUID(types.UID(fmt.Sprintf("%s%d", unknownUID, i)))
		}
	}
	c, err = cluster.OfObjects(objects)
	return c, unowned, err
}

func isNamespace(o *unstructured.Unstructured) bool {
	return o.GroupVersionKind().GroupKind() == kinds.Namespace.GroupKind()
}

// addWriter gives an object with the marks of this program, and without managed fields, those that this program
// would own. It is true for one that was exported from a cluster: what of it is this program's cannot be told.
func addWriter(o *unstructured.Unstructured) (exported bool) {
	metadata, _ := o.Object["metadata"].(map[string]any)
	marked := o.GetAnnotations()[lease.AnnotationDefinition] != "" || o.GetLabels()[lease.LabelOurs] != ""
	if !marked || len(o.GetManagedFields()) > 0 {
		return false
	}
	exported = o.GetUID() != "" || o.GetResourceVersion() != ""
	fields := map[string]any{"metadata": among(metadata, "annotations", "labels")}
	if exported {
		fields["metadata"] = map[string]any{
			"annotations": among(o.GetAnnotations(), lease.AnnotationDefinition), "labels": among(o.GetLabels(), lease.LabelOwner, lease.LabelOurs),
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

// writerOf is the field manager under which this program writes an object.
func writerOf(o *unstructured.Unstructured) string {
	if id, labelled := lease.IDFromLabels(o.GetLabels()); labelled {
		for _, kind := range kinds.ClaimLike {
			if kind.GroupKind() == o.GroupVersionKind().GroupKind() {
				return observed.ManagerOf(kind, id.Group())
			}
		}
	}
	return lease.FieldManager
}

// among are those of the keys that a map has.
func among[V any](have map[string]V, keys ...string) map[string]any {
	out := map[string]any{}
	for _, key := range keys {
		if value, there := have[key]; there {
			out[key] = value
		}
	}
	return out
}

// fieldsOf are the fields of a value as managed fields write them; a list is one field. A map that has none is left out.
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

// forget takes out of a change what OfFiles and the dry run have added. The API server says of every manager when it wrote.
func forget(c *plan.Change) {
	for i, f := range c.Fields {
		c.Fields[i].Owners = slices.DeleteFunc(f.Owners, func(o plan.Owner) bool { return o.Since.IsZero() })
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

// drop leaves a field of the metadata out of the object as it is and as it would be.
func drop(c *plan.Change, field string) {
	unstructured.RemoveNestedField(c.Before, "metadata", field)
	unstructured.RemoveNestedField(c.After, "metadata", field)
}
