package managed

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

const (
	owner = "akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h"
)

// both are the object as structs and as plain maps: what is read of them is the same.
func both(t *testing.T, entries ...metav1.ManagedFieldsEntry) map[string]metav1.Object {
	t.Helper()
	typed := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{ManagedFields: entries}}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]metav1.Object{"structs": typed, "maps": &unstructured.Unstructured{Object: fields}}
}

func written(manager string, operation metav1.ManagedFieldsOperationType, subresource, version string, second int) metav1.ManagedFieldsEntry {
	e := metav1.ManagedFieldsEntry{
		Manager: manager, Operation: operation, Subresource: subresource, APIVersion: version,
		FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:a":{}}}`),
	}
	if second > 0 {
		e.Time = &metav1.Time{Time: time.Unix(int64(second), 0).UTC()}
	}
	return e
}

func TestNamesOfManagers(t *testing.T) {
	for _, tt := range []struct {
		metadata any
		want     bool
	}{
		{map[string]any{"managedFields": []any{map[string]any{"manager": "kubectl"}, map[string]any{"manager": "akash-net/a"}}}, true},
		{map[string]any{"managedFields": []any{map[string]any{"manager": "xakash-net"}}}, false},
		{map[string]any{"managedFields": []any{map[string]any{"manager": 7}, "akash-net", map[string]any{}}}, false},
		{map[string]any{"managedFields": "akash-net"}, false},
		{map[string]any{}, false},
		{nil, false},
	} {
		o := &unstructured.Unstructured{Object: map[string]any{"metadata": tt.metadata}}
		if got := Names(o, "akash-net"); got != tt.want {
			t.Errorf("%v: %v", tt.metadata, got)
		}
		if tt.want {
			continue
		}
		for e := range Of(o) {
			if e.Manager == "akash-net" {
				t.Errorf("%v: an entry of %q", tt.metadata, e.Manager)
			}
		}
	}
}

// The names directly below a path are those of fields, and not of items of lists.
func TestNamesBelow(t *testing.T) {
	e := entry(`{"f:a":{".":{},"f:b":{},"k:{\"c\":1}":{},"v:1":{},"i:0":{}}}`)
	if names := e.Names("a"); len(names) != 1 || !names["b"] {
		t.Errorf("the names are %v", names)
	}
	if names := e.Names("x"); len(names) != 0 {
		t.Errorf("the names below nothing are %v", names)
	}
}
