package plan

import (
	"slices"
	"strings"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	smdvalue "sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/akash-net/kubectl-akash-net/lease/managed"
)

// Path is where a field stands in its object, from the top: names of fields, and items of lists that the API server merges by
// keys, as managed fields write them: k:{"name":"web"}. Any other list is one field.
type Path []string

// String is the path as kubectl writes it: spec.containers[name="web"].image.
func (p Path) String() string {
	var out strings.Builder
	for _, name := range p {
		if element, ok := keyed(name); ok {
			out.WriteString(element.String())
			continue
		}
		if out.Len() > 0 {
			out.WriteByte('.')
		}
		out.WriteString(name)
	}
	return out.String()
}

// Split is the path of what holds the field, and the field's name in it; an item goes with its list.
func (p Path) Split() (above, name string) {
	at := len(p) - 1
	for at > 0 {
		if _, ok := keyed(p[at]); !ok {
			break
		}
		at--
	}
	return p[:at].String(), p[at:].String()
}

// Identifies is true for what names an object.
func (p Path) Identifies() bool {
	switch p.String() {
	case "apiVersion", "kind", "metadata.name", "metadata.namespace":
		return true
	}
	return false
}

// keyed is the item that an element of a path stands for; ok is false for the name of a field.
func keyed(name string) (element fieldpath.PathElement, ok bool) {
	if !strings.HasPrefix(name, managed.KeyPrefix) {
		return element, false
	}
	element, err := fieldpath.DeserializePathElement(name)
	return element, err == nil && element.Key != nil
}

// toElement is an element of a path.
func toElement(element fieldpath.PathElement) string {
	if element.FieldName != nil {
		return *element.FieldName
	}
	text, _ := fieldpath.SerializePathElement(element) // keys are texts and numbers
	return text
}

// elementOf is the item of a list by its keys. Those that it lacks are left out, as their defaults are not known; ok is false
// where it has none.
func elementOf(item any, keys []string) (element fieldpath.PathElement, ok bool) {
	fields, _ := item.(map[string]any)
	var list smdvalue.FieldList
	for _, key := range keys {
		if v, has := fields[key]; has {
			list = append(list, smdvalue.Field{Name: key, Value: smdvalue.NewValueInterface(v)})
		}
	}
	list.Sort()
	return fieldpath.PathElement{Key: &list}, len(list) > 0
}

// find is the place of the item that has the keys; of the one item that says nothing against them where none has all; -1 for
// none.
func find(list []any, element fieldpath.PathElement) int {
	matches := func(whole bool) func(any) bool {
		return func(item any) bool {
			fields, ok := item.(map[string]any)
			shared := 0
			for _, key := range *element.Key {
				v, has := fields[key.Name]
				if has && !equal(v, key.Value.Unstructured()) || !has && whole {
					return false
				}
				if has {
					shared++
				}
			}
			return ok && shared > 0
		}
	}
	if at := slices.IndexFunc(list, matches(true)); at >= 0 {
		return at
	}
	at := slices.IndexFunc(list, matches(false))
	if at >= 0 && slices.ContainsFunc(list[at+1:], matches(false)) {
		return -1
	}
	return at
}

func asList(v any) []any {
	list, _ := v.([]any)
	return list
}

// get is the value of a path.
func get(from any, path Path) (v any, there bool) {
	for _, name := range path {
		if element, ok := keyed(name); ok {
			list := asList(from)
			at := find(list, element)
			if at < 0 {
				return nil, false
			}
			from = list[at]
			continue
		}
		fields, ok := from.(map[string]any)
		if !ok {
			return nil, false
		}
		if from, there = fields[name]; !there {
			return nil, false
		}
	}
	return from, true
}

// put is what holds a value, with the value of the path set; with nil the path is taken away.
func put(in any, path Path, v any) any {
	if len(path) == 0 {
		return v
	}
	if element, ok := keyed(path[0]); ok {
		return putItem(asList(in), element, path[1:], v)
	}
	fields, ok := in.(map[string]any)
	if !ok {
		fields = map[string]any{}
	}
	now := put(fields[path[0]], path[1:], v)
	if list, ok := now.([]any); v == nil && (now == nil || ok && len(list) == 0) {
		delete(fields, path[0])
	} else {
		fields[path[0]] = now
	}
	return fields
}

func putItem(list []any, element fieldpath.PathElement, below Path, v any) any {
	at := find(list, element)
	switch {
	case at < 0 && v == nil:
		return list
	case at < 0 && len(below) == 0:
		return append(list, v)
	case at < 0:
		item := map[string]any{}
		for _, key := range *element.Key {
			item[key.Name] = key.Value.Unstructured()
		}
		return append(list, put(item, below, v))
	case len(below) == 0 && v == nil:
		return slices.Delete(list, at, at+1)
	}
	list[at] = put(list[at], below, v)
	return list
}
