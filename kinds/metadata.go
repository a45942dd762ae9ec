package kinds

import (
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// CheckMetadata returns an error if clients could not read the metadata of an object.
func CheckMetadata(o *unstructured.Unstructured) error {
	if isSimple(o.Object["metadata"]) {
		return nil
	}
	text, err := json.Marshal(o.Object["metadata"])
	if err == nil {
		err = utiljson.Unmarshal(text, &metav1.ObjectMeta{})
	}
	if err != nil {
		return fmt.Errorf("%s %s: metadata: %w", o.GetKind(), o.GetName(), err)
	}
	return nil
}

// isSimple reports whether metadata has nothing but texts, and labels and annotations: nearly all that is rendered has.
func isSimple(metadata any) bool {
	fields, ok := metadata.(map[string]any)
	for name, value := range fields {
		switch name {
		case "name", "namespace", "uid", "resourceVersion":
			_, isText := value.(string)
			ok = ok && isText
		case "labels", "annotations":
			texts, isMap := value.(map[string]any)
			ok = ok && isMap
			for _, v := range texts {
				_, isText := v.(string)
				ok = ok && isText
			}
		default:
			return false
		}
	}
	return ok
}
