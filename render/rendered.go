package render

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// Rendered converts an object to the form in which the API server returns it. Rendered objects are plain JSON.
func Rendered(o Object) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	if body, err := json.Marshal(o); err == nil {
		_ = utiljson.Unmarshal(body, &u.Object)
	}
	return u
}
