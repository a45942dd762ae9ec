package cluster

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/akash-net/kubectl-akash-net/render"
)

// Unchanged is true when applying the object would change nothing: every field of it stands in
// the live object, and the manager owns no field there that it no longer sends. It spares the
// PATCH of an object that is as it should be.
func Unchanged(o render.Object, live *unstructured.Unstructured, manager string) bool {
	if live == nil || live.GetDeletionTimestamp() != nil {
		return false
	}
	desired := Rendered(o).Object
	if !Contains(live.Object, desired) {
		return false
	}
	for _, entry := range live.GetManagedFields() {
		if entry.Manager == manager && entry.Operation == metav1.ManagedFieldsOperationApply && entry.Subresource == "" {
			return ownsNoMore(entry, desired)
		}
	}
	return false // the fields are there, but not as ours
}

// Rendered is an object as the API server would show it. What render makes is plain JSON.
func Rendered(o render.Object) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	if body, err := json.Marshal(o); err == nil {
		_ = utiljson.Unmarshal(body, &u.Object)
	}
	return u
}

// Contains is true when every field of want stands in have with the same value. Lists have the
// same length; the maps in them may have further fields (defaults).
func Contains(have, want any) bool {
	switch want := want.(type) {
	case map[string]any:
		have, ok := have.(map[string]any)
		if !ok {
			return false
		}
		for k, v := range want {
			if !Contains(have[k], v) {
				return false
			}
		}
		return true
	case []any:
		have, ok := have.([]any)
		if !ok || len(have) != len(want) {
			return false
		}
		for i := range want {
			if !Contains(have[i], want[i]) {
				return false
			}
		}
		return true
	}
	return reflect.DeepEqual(have, want)
}

// ownsNoMore is true when each field that a manager owns is one that it sends.
func ownsNoMore(entry metav1.ManagedFieldsEntry, desired map[string]any) bool {
	if entry.FieldsV1 == nil {
		return false
	}
	var owned map[string]any
	decoder := json.NewDecoder(bytes.NewReader(entry.FieldsV1.GetRawBytes()))
	if err := decoder.Decode(&owned); err != nil {
		return false
	}
	return covered(owned, desired)
}

// covered compares a set of fields ("f:name": {…}) with a value. Members of lists ("k:…", "v:…")
// were compared by contains.
func covered(owned map[string]any, value any) bool {
	for key, below := range owned {
		name, isField := strings.CutPrefix(key, "f:")
		if !isField {
			continue
		}
		m, ok := value.(map[string]any)
		if !ok {
			return false
		}
		v, sent := m[name]
		if !sent {
			return false
		}
		if below, ok := below.(map[string]any); ok && !covered(below, v) {
			return false
		}
	}
	return true
}
