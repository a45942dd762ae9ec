package plan

import (
	"maps"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Hidden replaces values that no plan shows: the data of a Secret, and the registry passwords that Akash's provider
// keeps in Manifests. If such a value changes, its two sides are marked.
const (
	Hidden       = "***"
	hiddenBefore = Hidden + " (before)"
	hiddenAfter  = Hidden + " (after)"
)

// hide replaces the secret values of a change.
func (c *Change) hide() {
	secret := c.Kind == "secret"
	if !secret && c.Kind != "manifest" {
		return
	}
	c.Before, c.After = runtime.DeepCopyJSON(c.Before), runtime.DeepCopyJSON(c.After) // the snapshot has the same lists
	before, after := Hidden, Hidden
	if c.Action == Update && !reflect.DeepEqual(secretValues(c.Before, secret), secretValues(c.After, secret)) {
		before, after = hiddenBefore, hiddenAfter
	}
	hideIn(c.Before, secret, before)
	hideIn(c.After, secret, after)
	for i := range c.Fields {
		f := &c.Fields[i]
		f.Before, f.After = hideAt(f.Path, f.Before, secret, hiddenBefore), hideAt(f.Path, f.After, secret, hiddenAfter)
	}
}

// hideAt returns a copy of the value at a path with its secret values replaced. It builds an object around the value,
// because the path decides what is secret.
func hideAt(path Path, v any, secret bool, by string) any {
	if v == nil {
		return nil
	}
	object, _ := put(nil, path, runtime.DeepCopyJSONValue(v)).(map[string]any)
	hideIn(object, secret, by)
	v, _ = get(object, path)
	return v
}

// secretValues returns the secret values of an object in a stable order.
func secretValues(object map[string]any, secret bool) (values []any) {
	eachHidden(object, secret, func(holder map[string]any, key string) { values = append(values, holder[key]) })
	return values
}

func sortedKeys(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) }

// hideIn replaces the secret values of an object in place.
func hideIn(object map[string]any, secret bool, by string) {
	eachHidden(object, secret, func(holder map[string]any, key string) { holder[key] = by })
}

// eachHidden calls do for each secret value in a stable order: the data of a Secret, or the passwords of any other
// object; then the annotation in which kubectl keeps the last applied object.
func eachHidden(object map[string]any, secret bool, do func(holder map[string]any, key string)) {
	if !secret {
		eachPassword(object, do)
	} else {
		for _, name := range []string{"data", "stringData"} {
			data, _ := object[name].(map[string]any)
			for _, key := range sortedKeys(data) {
				do(data, key)
			}
		}
	}
	metadata, _ := object["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	if _, applied := annotations[corev1.LastAppliedConfigAnnotation]; applied {
		do(annotations, corev1.LastAppliedConfigAnnotation)
	}
}

// eachPassword calls do for the password of each "credentials" object, at any depth.
func eachPassword(value any, do func(holder map[string]any, key string)) {
	switch value := value.(type) {
	case map[string]any:
		for _, key := range sortedKeys(value) {
			if credentials, ok := value[key].(map[string]any); ok && key == "credentials" && credentials["password"] != nil {
				do(credentials, "password")
			}
			eachPassword(value[key], do)
		}
	case []any:
		for _, item := range value {
			eachPassword(item, do)
		}
	}
}
