package watch

import (
	"reflect"
	"strconv"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// managed is an object whose fields two managers have.
func managed(name, field string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": name, "managedFields": []any{
		map[string]any{"manager": "a", "time": name, "fieldsV1": map[string]any{"f:" + field: map[string]any{}}},
		map[string]any{"manager": "b", "subresource": "status"},
	}}}}
}

func fieldsOf(o *unstructured.Unstructured) uintptr {
	entries, _, _ := unstructured.NestedFieldNoCopy(o.Object, "metadata", "managedFields")
	return reflect.ValueOf(entries.([]any)[0].(map[string]any)["fieldsV1"]).Pointer()
}

// Objects with the same managed fields share them, and nothing about an object changes.
func TestSharing(t *testing.T) {
	s := &sharing{}
	first, second, other := managed("first", "spec"), managed("second", "spec"), managed("other", "data")
	for _, o := range []*unstructured.Unstructured{first, second, other} {
		before := o.DeepCopy()
		if out, err := s.transform(o); err != nil || out != any(o) || !reflect.DeepEqual(o, before) {
			t.Errorf("%v, %v, want %v", out, err, before)
		}
	}
	if fieldsOf(first) != fieldsOf(second) || fieldsOf(first) == fieldsOf(other) {
		t.Error("not those share their fields that have the same")
	}
	of := func(raw string) *metav1.PartialObjectMetadata {
		return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
			ManagedFields: []metav1.ManagedFieldsEntry{{FieldsV1: metav1.NewFieldsV1(raw)}, {}},
		}}
	}
	one, same := of("{}"), of("{}")
	for _, o := range []*metav1.PartialObjectMetadata{one, same} {
		if _, err := s.transform(o); err != nil {
			t.Error(err)
		}
	}
	if one.ManagedFields[0].FieldsV1 != same.ManagedFields[0].FieldsV1 {
		t.Error("metadata does not share its fields")
	}
	if odd, err := s.transform("a tombstone"); err != nil || odd != "a tombstone" {
		t.Errorf("%v, %v", odd, err)
	}
	if _, err := s.transform(&unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"managedFields": []any{"hostile", map[string]any{}}}}}); err != nil {
		t.Error(err)
	}
	for i := range 2 * mostFields {
		if _, err := s.transform(managed("", strconv.Itoa(i))); err != nil || len(s.fields) > mostFields {
			t.Fatal(len(s.fields), err)
		}
	}
}
