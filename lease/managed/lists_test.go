package managed

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const listFields = `{"f:spec":{
	"f:ports":{"k:{\"port\":80,\"protocol\":\"TCP\"}":{".":{},"f:port":{}}},
	"f:rules":{},
	"f:finalizers":{"v:\"a\"":{}}}}`

func TestListsAreKeyedByWhatManagedFieldsName(t *testing.T) {
	e := written("a", metav1.ManagedFieldsOperationApply, "", "v1", 0)
	e.FieldsV1 = metav1.NewFieldsV1(listFields)
	status := written("b", metav1.ManagedFieldsOperationUpdate, Status, "v1", 0)
	status.FieldsV1 = metav1.NewFieldsV1(`{"f:spec":{"f:rules":{"k:{\"name\":\"x\"}":{}}}}`)
	broken := written("c", metav1.ManagedFieldsOperationUpdate, "", "v1", 0)
	broken.FieldsV1 = metav1.NewFieldsV1(`{`)
	for form, o := range both(t, e, status) {
		for _, tt := range []struct {
			name string
			path []string
			want []string
		}{
			{"a list with two keys", []string{"spec", "ports"}, []string{"port", "protocol"}},
			{"an atomic list, whatever a subresource's entry says", []string{"spec", "rules"}, nil},
			{"a set", []string{"spec", "finalizers"}, nil},
			{"a field inside an item", []string{"spec", "ports", `k:{"port":80,"protocol":"TCP"}`}, nil},
			{"a missing field", []string{"spec", "paths"}, nil},
		} {
			if got := Keys(o, tt.path...); !slices.Equal(got, tt.want) {
				t.Errorf("%s, read from %s: %v, want %v", tt.name, form, got, tt.want)
			}
		}
	}
	if got := Keys(&metav1.ObjectMeta{ManagedFields: []metav1.ManagedFieldsEntry{broken}}, "spec", "ports"); got != nil {
		t.Errorf("an entry that cannot be read names the keys %v", got)
	}
}

func TestItemsOfListsAreOwnedByTheirKeys(t *testing.T) {
	e := written("a", metav1.ManagedFieldsOperationApply, "", "v1", 0)
	e.FieldsV1 = metav1.NewFieldsV1(listFields)
	for form, o := range both(t, e) {
		applied, ok := Applied(o, "a")
		if !ok {
			t.Fatalf("read from %s: nothing is applied", form)
		}
		for path, want := range map[string]bool{
			`k:{"port":80,"protocol":"TCP"}`:  true,
			`k:{"port":443,"protocol":"TCP"}`: false,
			`k:{"port":80`:                    false,
			"port":                            false,
		} {
			if got := applied.Owns("spec", "ports", path); got != want {
				t.Errorf("%s, read from %s: owned %v, want %v", path, form, got, want)
			}
		}
	}
}
