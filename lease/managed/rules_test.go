package managed

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	owner = "akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h"
	apply = metav1.ManagedFieldsOperationApply
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

func TestEntries(t *testing.T) {
	ours := "akash-net/" + owner + "/7/2"
	for name, o := range both(t,
		written("kubectl", "Update", "", "v1", 3),
		written("controller", "Update", "status", "v1", 9),
		written(ours, "Update", "", "v1", 4),
		written(ours, apply, "status", "v1", 5),
		written(ours, apply, "", "v1beta1", 6),
		written("akash-net", apply, "", "v1", 0),
	) {
		t.Run(name, func(t *testing.T) {
			var seen []string
			for e := range Of(o) {
				seen = append(seen, e.Manager)
			}
			if len(seen) != 4 {
				t.Errorf("the entries are of %v; those of a subresource do not count", seen)
			}
			for range Of(o) {
				break // whoever has seen enough is given no more
			}
			e, ok := Applied(o, ours)
			if !ok || e.APIVersion != "v1beta1" || !e.Owns("spec", "a") || e.Time.Unix() != 6 {
				t.Errorf("it has applied %v %+v", ok, e)
			}
			if set, ok := e.Set(); !ok || set.Empty() {
				t.Errorf("its fields are %v, %v", set, ok)
			}
			for _, other := range []string{"kubectl", "controller", ours + "0", "akash-net/", ""} {
				if e, ok := Applied(o, other); ok {
					t.Errorf("%q has applied %+v", other, e)
				}
			}
			for want, subresources := range map[int64][]string{9: nil, 6: {""}, 5: {"nothing", "status"}} {
				if want == 5 {
					want = 9 // the controller's
				}
				if got := LastWritten(o, subresources...); got.Unix() != want {
					t.Errorf("%q was last written at %d, want %d", subresources, got.Unix(), want)
				}
			}
			if got := LastWritten(o, "scale"); !got.IsZero() {
				t.Errorf("what nobody has written was written at %v", got)
			}
			entries, others := OfVersion(o, schema.GroupVersion{Version: "v1beta1"})
			if len(entries) != 1 || entries[0].Manager != ours || others != 5 || len(o.GetManagedFields()) != 6 {
				t.Errorf("of v1beta1 there are %v, and %d others", entries, others)
			}
		})
	}
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
