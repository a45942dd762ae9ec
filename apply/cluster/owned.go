package cluster

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/akash-net/kubectl-akash-net/kinds"
	"github.com/akash-net/kubectl-akash-net/lease/managed"
)

// Owned returns the fields that a manager has applied to an object, with their current values: applying it again
// changes nothing.
func Owned(live *unstructured.Unstructured, manager string) (map[string]any, error) {
	out := map[string]any{}
	if entry, ok := managed.Applied(live, manager); ok {
		set, ok := entry.Set()
		if !ok {
			return nil, fmt.Errorf("the managed fields of %s cannot be read", manager)
		}
		out = pickFields(live.Object, set)
	}
	o := &unstructured.Unstructured{Object: out}
	o.SetAPIVersion(live.GetAPIVersion())
	o.SetKind(live.GetKind())
	o.SetNamespace(live.GetNamespace())
	o.SetName(live.GetName())
	return out, nil
}

// Annotate sets an annotation by an apply of what the manager has applied to the live object, pinned to it. So the manager's
// next apply can change the annotation; after a merge patch it would conflict with itself. The apply is forced: the API
// server compares field managers before versions, so that an object whose fields somebody else has taken since would be
// refused as theirs, and not as changed. What is forced has the values of the version that it is pinned to.
func (c *Cluster) Annotate(ctx context.Context, kind kinds.Kind, live *unstructured.Unstructured, key, value, manager string) error {
	owned, err := Owned(live, manager)
	if err != nil {
		return err
	}
	o := &unstructured.Unstructured{Object: owned}
	annotations := o.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[key] = value
	o.SetAnnotations(annotations)
	o.SetUID(live.GetUID())
	o.SetResourceVersion(live.GetResourceVersion())
	body, err := o.MarshalJSON()
	if err != nil {
		return err
	}
	force := true
	opts := metav1.PatchOptions{FieldManager: manager, Force: &force, FieldValidation: SkipFieldValidation}
	_, err = c.patch(ctx, kind, live.GetNamespace(), live.GetName(), types.ApplyPatchType, body, opts)
	return err
}

// LetGo removes what a manager has applied to an object that stays, pinned to the object as it is read.
func (c *Cluster) LetGo(ctx context.Context, kind kinds.Kind, live *unstructured.Unstructured, manager string) error {
	nothing := &unstructured.Unstructured{}
	nothing.SetGroupVersionKind(kind.GroupVersionKind)
	nothing.SetNamespace(live.GetNamespace())
	nothing.SetName(live.GetName())
	err := c.Rewrite(ctx, kind, live, func(_ context.Context, now *unstructured.Unstructured) (func(context.Context) error, error) {
		return func(ctx context.Context) error {
			_, _, err := c.Patch(ctx, pinned(Applicable(kind, nothing), now), manager)
			return err
		}, nil
	})
	return c.Explain(err, "patch", kind.Resource())
}

// pick returns the part of a value that is in a set of fields.
func pick(from any, set *fieldpath.Set) any {
	switch from := from.(type) {
	case map[string]any:
		return pickFields(from, set)
	case []any:
		return pickItems(from, set)
	}
	return from
}

func pickFields(from map[string]any, set *fieldpath.Set) map[string]any {
	out := map[string]any{}
	for name, v := range from {
		element := fieldpath.FieldNameElement(name)
		if below, ok := set.Children.Get(element); ok {
			out[name] = pick(v, below)
		} else if set.Members.Has(element) {
			out[name] = v
		}
	}
	return out
}

func pickItems(from []any, set *fieldpath.Set) []any {
	out := []any{}
	for _, item := range from {
		for element := range set.Children.All() {
			if below, _ := set.Children.Get(element); isItem(element, item) {
				out = append(out, pick(item, below))
			}
		}
		for element := range set.Members.All() {
			if _, parted := set.Children.Get(element); !parted && isItem(element, item) {
				out = append(out, item)
			}
		}
	}
	return out
}

// isItem reports whether a path element selects a list item, by its keys or by its value.
func isItem(element fieldpath.PathElement, item any) bool {
	if element.Value != nil {
		return value.Equals(*element.Value, value.NewValueInterface(item))
	}
	fields, ok := item.(map[string]any)
	if element.Key == nil || !ok {
		return false
	}
	for _, key := range *element.Key {
		if v, has := fields[key.Name]; !has || !value.Equals(key.Value, value.NewValueInterface(v)) {
			return false
		}
	}
	return true
}
