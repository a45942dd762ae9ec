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

// Annotated returns a copy of a rendered object with an annotation.
func Annotated(o Object, name, value string) Object {
	body := Rendered(o)
	annotations := body.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[name] = value
	body.SetAnnotations(annotations)
	o.Config = body
	return o
}
