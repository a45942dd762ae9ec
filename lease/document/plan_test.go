package document

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// CompareSchema compares what a JSON schema says of a value with what Decode reads.
func CompareSchema(t *testing.T, at string, root map[string]any, of any) {
	t.Helper()
	compare(t, at, root, root, planOf(reflect.TypeOf(of)))
}

// types are the types that a value has in a schema.
var types = map[how]string{
	asText: "string", asString: "string", asBool: "boolean", asDuration: "string", asInt: "integer", asUint: "integer", asFloat: "number",
	asMapping: "object", asList: "array", asEntries: "object", asMap: "object",
}

// compare leaves out a type of Kubernetes, whose fields have no tags of ours, and two values whose rules are lease.Check's.
func compare(t *testing.T, at string, root, s map[string]any, f *field) {
	t.Helper()
	say := func(what string, schema, program any) {
		if fmt.Sprint(schema) != fmt.Sprint(program) {
			t.Errorf("%s: %s is %v in the schema, and %v in the program", at, what, schema, program)
		}
	}
	if ref, ok := s["$ref"].(string); ok {
		s = of(of(root, "$defs"), strings.TrimPrefix(ref, "#/$defs/"))
	}
	if f.text != nil {
		f = f.text
	}
	choices := slices.DeleteFunc(texts(s["enum"]), func(word string) bool { return word == "" || word == "<nil>" })
	if isTyped := s["type"] != nil && f.how != byItself && f.how != asPointer; isTyped && !slices.Contains(append(texts(s["type"]), fmt.Sprint(s["type"])), types[f.how]) {
		say("the type", s["type"], types[f.how])
	}
	switch f.how {
	case asPointer:
		compare(t, at, root, s, f.of)
	case asList:
		compare(t, at+"[]", root, of(s, "items"), f.of)
	case asMap:
		compare(t, at+"{}", root, of(s, "additionalProperties"), f.of)
	case asMapping:
		var required []string
		say("the list of keys", slices.Sorted(maps.Keys(of(s, "properties"))), slices.Sorted(slices.Values(f.keys)))
		say("what other keys are", s["additionalProperties"], false)
		for _, one := range f.fields {
			compare(t, at+"."+one.key, root, of(of(s, "properties"), one.key), one)
			if one.required {
				required = append(required, one.key)
			}
		}
		if !strings.HasSuffix(at, "matchExpressions[]") {
			say("what must be there", texts(s["required"]), required)
		}
	case asString:
		if !strings.HasSuffix(at, "operator") && !strings.HasSuffix(at, "nextCases[]") {
			say("the list of choices", choices, f.oneOf)
		}
	case asInt, asUint:
		if strings.HasSuffix(at, "gpu.units") {
			return
		}
		if s["anyOf"] == nil {
			say("the least", number64(s["minimum"]), float64(f.min))
			say("the most", number64(s["maximum"]), float64(f.max))
		}
	}
}

func of(s map[string]any, key string) map[string]any {
	inner, _ := s[key].(map[string]any)
	return inner
}

func texts(list any) []string {
	var out []string
	items, _ := list.([]any)
	for _, item := range items {
		out = append(out, fmt.Sprint(item))
	}
	return out
}

func number64(n any) float64 {
	f, _ := n.(float64)
	return f
}
