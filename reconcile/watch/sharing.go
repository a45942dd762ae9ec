package watch

import (
	"encoding/json"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// mostFields is how many lists of managed fields are shared at most.
const mostFields = 10000

// sharing lets watched objects share the lists of their managed fields, which are the same in many of them and half of what they take.
type sharing struct {
	mu sync.Mutex
	// fields are lists of managed fields by their JSON.
	fields map[string]any
}

// transform is what the cache does with each object before it keeps it.
func (s *sharing) transform(o any) (any, error) {
	switch o := o.(type) {
	case *metav1.PartialObjectMetadata:
		for i, entry := range o.ManagedFields {
			if entry.FieldsV1 != nil {
				o.ManagedFields[i].FieldsV1 = share(s, entry.FieldsV1.GetRawString(), entry.FieldsV1)
			}
		}
	case *unstructured.Unstructured:
		entries, _, _ := unstructured.NestedFieldNoCopy(o.Object, "metadata", "managedFields")
		all, _ := entries.([]any)
		for _, entry := range all {
			fields, _ := entry.(map[string]any)
			if text, err := json.Marshal(fields["fieldsV1"]); err == nil && fields["fieldsV1"] != nil {
				fields["fieldsV1"] = share(s, string(text), fields["fieldsV1"])
			}
		}
	}
	return o, nil
}

// share returns the fields of the same JSON that were seen first.
func share[T any](s *sharing, text string, fields T) T {
	s.mu.Lock()
	defer s.mu.Unlock()
	if first, ok := s.fields[text].(T); ok {
		return first
	}
	if s.fields == nil || len(s.fields) >= mostFields {
		s.fields = map[string]any{}
	}
	s.fields[text] = fields
	return fields
}
