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
	text, err := json.Marshal(o.Object["metadata"])
	if err == nil {
		err = utiljson.Unmarshal(text, &metav1.ObjectMeta{})
	}
	if err != nil {
		return fmt.Errorf("%s %s: metadata: %w", o.GetKind(), o.GetName(), err)
	}
	return nil
}
