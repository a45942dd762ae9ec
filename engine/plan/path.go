package plan

import (
	"slices"
	"strings"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	smdvalue "sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/akash-net/kubectl-akash-net/lease/managed"
)

// Path is the path of a field from the top of its object: names of fields, and items of lists that the API server
// merges by keys, written as in managed fields: k:{"name":"web"}. Any other list is one field.
type Path []string

// String formats the path as kubectl does: spec.containers[name="web"].image.
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

// Split returns the path of the object that has the field, and the field's name; the name of an item includes its list.
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

// Identifies reports whether the field is part of the object's identity.
func (p Path) Identifies() bool {
	switch p.String() {
	case "apiVersion", "kind", "metadata.name", "metadata.namespace":
		return true
	}
	return false
}

// keyed parses a path element as the keys of a list item; ok is false for the name of a field.
func keyed(name string) (element fieldpath.PathElement, ok bool) {
	if !strings.HasPrefix(name, managed.KeyPrefix) {
		return element, false
	}
	element, err := fieldpath.DeserializePathElement(name)
	return element, err == nil && element.Key != nil
}

// toElement formats an element of a managed field path.
func toElement(element fieldpath.PathElement) string {
	if element.FieldName != nil {
		return *element.FieldName
	}
	text, _ := fieldpath.SerializePathElement(element) // it fails for no valid key
	return text
}

// elementOf returns the path element of a list item. It omits keys that the item lacks, because their defaults are
// unknown; ok is false if the item has no key.
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

// find returns the index of the item that has all keys of the element. If no item has all, it returns the only item
// that shares a key and contradicts none; -1 if there is none, or more than one.
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

// get returns the value at a path.
func get(from any, path Path) (v any, exists bool) {
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
		if from, exists = fields[name]; !exists {
			return nil, false
		}
	}
	return from, true
}

// put sets the value at a path and returns the changed container; nil removes the path, and a list that becomes empty.
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
	value := put(fields[path[0]], path[1:], v)
	if list, ok := value.([]any); v == nil && (value == nil || ok && len(list) == 0) {
		delete(fields, path[0])
	} else {
		fields[path[0]] = value
	}
	return fields
}

// putItem is put for an item of a list that is merged by keys.
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
