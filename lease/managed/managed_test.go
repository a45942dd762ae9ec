package managed

import (
	"maps"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func entry(text string) Entry {
	e := Entry{ManagedFieldsEntry: metav1.ManagedFieldsEntry{FieldsV1: &metav1.FieldsV1{}}}
	e.FieldsV1.SetRawBytes([]byte(text))
	return e
}

// The fields of an entry are read as the API server writes them, whatever they are.
func TestOwns(t *testing.T) {
	const text = `{"f:metadata":{"f:labels":{".":{},"f:akash.network":{}}},"f:spec":{"f:ports":{"k:{\"port\":80,\"protocol\":\"TCP\"}":{".":{},"f:port":{}}}}}`
	typed := entry(text)
	var read Entry
	o := &unstructured.Unstructured{}
	if err := o.UnmarshalJSON([]byte(`{"kind":"Ingress","apiVersion":"v1","metadata":{"managedFields":[{"manager":"a","operation":"Update","subresource":"status","fieldsV1":{"f:status":{}}},
		{"manager":"a","operation":"Apply","apiVersion":"v1","time":"2026-11-22T10:00:00Z","fieldsV1":` + text + `}]}}`)); err != nil {
		t.Fatal(err)
	}
	for e := range Of(o) {
		read = e
	}
	if read.Manager != "a" || read.Operation != metav1.ManagedFieldsOperationApply || read.APIVersion != "v1" || read.Time.Hour() != 10 {
		t.Errorf("read %+v", read)
	}
	for _, e := range []Entry{typed, read} {
		testOwns(t, e)
	}
	other := entry(`{"f:spec":{}}`)
	if typed.Same(read) {
		t.Error("an entry without a time is of one write with another")
	}
	typed.Time, other.Time = read.Time, read.Time
	if !typed.Same(read) || !read.Same(typed) || typed.Same(other) {
		t.Error("entries of one time are not compared by their fields")
	}
	for _, text := range []string{`{`, `[]`, `{"x":{}}`, ``} {
		if broken := entry(text); broken.Owns("spec") || len(broken.Names("spec")) > 0 {
			t.Errorf("%q owns spec", text)
		}
	}
	if (Entry{}).Owns("spec") {
		t.Error("an entry without fields owns spec")
	}
}

func testOwns(t *testing.T, e Entry) {
	t.Helper()
	for _, tt := range []struct {
		path []string
		want bool
	}{
		{nil, true},
		{[]string{"spec"}, true},
		{[]string{"spec", "ports"}, true},
		{[]string{"spec", "type"}, false},
		{[]string{"status"}, false},
		{[]string{"metadata", "labels", "akash.network"}, true},
		{[]string{"metadata", "labels", "akash.network", "below"}, false},
		{[]string{"metadata", "annotations"}, false},
	} {
		if got := e.Owns(tt.path...); got != tt.want {
			t.Errorf("owns %v: %v, want %v", tt.path, got, tt.want)
		}
	}
	if got := slices.Collect(maps.Keys(e.Names("metadata", "labels"))); !slices.Equal(got, []string{"akash.network"}) {
		t.Errorf("the labels are %v", got)
	}
}
