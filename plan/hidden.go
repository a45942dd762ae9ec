package plan

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Hidden stands for a value that no plan shows: what a Secret holds, and passwords of registries, which Akash's provider
// keeps in Manifests. Where such a value would change, its two sides say so.
const (
	Hidden       = "***"
	hiddenBefore = Hidden + " (before)"
	hiddenAfter  = Hidden + " (after)"
)

// hide takes the values out of the change that nobody is to see.
func (c *Change) hide() {
	secret := c.Kind == "secret"
	if !secret && c.Kind != "manifest" {
		return
	}
	c.Before, c.After = runtime.DeepCopyJSON(c.Before), runtime.DeepCopyJSON(c.After) // they share lists with what was read
	before, after := Hidden, Hidden
	if c.Action == Update && !slices.Equal(hidden(c.Before, secret), hidden(c.After, secret)) {
		before, after = hiddenBefore, hiddenAfter
	}
	replace(c.Before, secret, before)
	replace(c.After, secret, after)
	for i := range c.Fields {
		f := &c.Fields[i]
		// A field is looked at where it stands in its object; a text can only be replaced in what holds it.
		f.Before, f.After = replaced(f.Path, f.Before, secret, hiddenBefore), replaced(f.Path, f.After, secret, hiddenAfter)
	}
}

// replaced is the value of a path with what is hidden replaced.
func replaced(path Path, v any, secret bool, by string) any {
	if v == nil {
		return nil
	}
	object, _ := put(nil, path, runtime.DeepCopyJSONValue(v)).(map[string]any)
	replace(object, secret, by)
	v, _ = get(object, path)
	return v
}

// hidden are the values of an object that nobody is to see.
func hidden(object map[string]any, secret bool) (values []string) {
	eachHidden(object, secret, func(holder map[string]any, key string) { values = append(values, toText(holder[key])) })
	return values
}

func toText(value any) string {
	s, _ := value.(string)
	return s
}

func sortedKeys(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) }

// replace replaces them in the object itself.
func replace(object map[string]any, secret bool, by string) {
	eachHidden(object, secret, func(holder map[string]any, key string) { holder[key] = by })
}

// eachHidden calls do for each value that nobody is to see, in an order of its own: those of a Secret, and passwords; and the
// whole object as kubectl has last applied it.
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

// eachPassword finds passwords in credentials, however deep they stand.
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
