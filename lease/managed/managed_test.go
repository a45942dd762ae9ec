package managed

import (
	"maps"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akash-net/kubectl-akash-net/lease"
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

// Who has written an object last is another one than this program, if both have written it in one second.
func TestLastWriter(t *testing.T) {
	early, late := written("a", metav1.ManagedFieldsOperationUpdate, "", "v1", 1), written("b", metav1.ManagedFieldsOperationUpdate, Status, "v1", 2)
	ours := written("akash-net/akash1a/1/1", metav1.ManagedFieldsOperationApply, "", "v1", 2)
	for want, entries := range map[string][]metav1.ManagedFieldsEntry{"": nil, "a": {early}, "b": {late, ours, early}, "akash-net/akash1a/1/1": {early, ours}} {
		for form, o := range both(t, entries...) {
			if got := LastWriter(o); got != want {
				t.Errorf("read from %s: %q, want %q", form, got, want)
			}
		}
	}
}

// An object is edited if this program has applied it and kubectl users own fields of it. Controllers do not edit, nor does kubectl edit what
// others have made; who owns nothing but the status is no owner.
func TestEdited(t *testing.T) {
	const ours = lease.FieldManager
	apply, update := metav1.ManagedFieldsOperationApply, metav1.ManagedFieldsOperationUpdate
	for name, tt := range map[string]struct {
		entries []metav1.ManagedFieldsEntry
		want    bool
	}{
		"by nobody":        {[]metav1.ManagedFieldsEntry{written(ours, apply, "", "v1", 0)}, false},
		"by kubectl":       {[]metav1.ManagedFieldsEntry{written(ours, apply, "", "v1", 0), written("kubectl-edit", update, "", "v1", 1)}, true},
		"applied on top":   {[]metav1.ManagedFieldsEntry{written("kubectl", apply, "", "v1", 0), written(ours, apply, "", "v1", 1)}, true},
		"by a controller":  {[]metav1.ManagedFieldsEntry{written(ours, apply, "", "v1", 0), written("kubectlish", update, "", "v1", 1)}, false},
		"a pipeline's":     {[]metav1.ManagedFieldsEntry{written("kubectl", apply, "", "v1", 0), written("kubectl-edit", update, "", "v1", 1)}, false},
		"only the status":  {[]metav1.ManagedFieldsEntry{written(ours, apply, "", "v1", 0), written("kubectl-edit", update, Status, "v1", 1)}, false},
		"no managed field": {nil, false},
	} {
		for form, o := range both(t, tt.entries...) {
			if got := Edited(o); got != tt.want {
				t.Errorf("%s, read from %s: edited %v, want %v", name, form, got, tt.want)
			}
		}
	}
}
