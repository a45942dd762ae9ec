package managed

import (
	"maps"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func entry(text string) Entry {
	e := Entry{metav1.ManagedFieldsEntry{FieldsV1: &metav1.FieldsV1{}}}
	e.FieldsV1.SetRawBytes([]byte(text))
	return e
}

// The fields of an entry are read as the API server writes them, whatever they are.
func TestOwns(t *testing.T) {
	e := entry(`{"f:metadata":{"f:labels":{".":{},"f:akash.network":{}}},"f:spec":{"f:ports":{"k:{\"port\":80,\"protocol\":\"TCP\"}":{".":{},"f:port":{}}}}}`)
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
	for _, text := range []string{`{`, `[]`, `{"x":{}}`, ``} {
		if broken := entry(text); broken.Owns("spec") || broken.Names("spec") != nil && len(broken.Names("spec")) > 0 {
			t.Errorf("%q owns spec", text)
		}
	}
	if (Entry{}).Owns("spec") {
		t.Error("an entry without fields owns spec")
	}
}
