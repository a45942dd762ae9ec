// Package schema reads the JSON schemas of this program's documents: which keys there are, and what each means.
package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/akash-net/kubectl-akash-net/lease/suggest"
)

// Schema describes a value of a document. References to definitions are resolved.
type Schema struct {
	// Title is the kind of a document; empty for its values.
	Title string `json:"title"`
	// Description is text for people, with code in backticks.
	Description string `json:"description"`
	// Page is the page of docs that says more, with its heading; empty if there is none.
	Page string `json:"$comment"`
	// Default is the value that a missing key has; nil if it has none.
	Default any `json:"default"`
	// Properties are the keys of an object, in the order of the schema.
	Properties Properties `json:"properties"`
	// Required are the keys that an object must have.
	Required []string `json:"required"`
	// Items describes the items of a list.
	Items *Schema `json:"items"`

	Ref        string             `json:"$ref"`
	Type       names              `json:"type"`
	Enum       []any              `json:"enum"`
	Const      any                `json:"const"`
	AnyOf      []*Schema          `json:"anyOf"`
	Additional additional         `json:"additionalProperties"`
	Defs       map[string]*Schema `json:"$defs"`
}

// Property is a key of an object, and the schema of its value.
type Property struct {
	Name  string
	Value *Schema
}

// Properties are the keys of an object, in their order.
type Properties []Property

// UnmarshalJSON reads an object and keeps the order of its keys.
func (p *Properties) UnmarshalJSON(data []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	if _, err := decoder.Token(); err != nil {
		return err
	}
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return err
		}
		property := Property{Name: fmt.Sprint(name), Value: &Schema{}}
		if err := decoder.Decode(property.Value); err != nil {
			return err
		}
		*p = append(*p, property)
	}
	return nil
}

// names are the types of a value: one name, or a list.
type names []string

// UnmarshalJSON reads a name or a list of names.
func (n *names) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*n = names{one}
		return nil
	}
	return json.Unmarshal(data, (*[]string)(n))
}

// additional is the schema of the values of a map; nil if the keys of the object are fixed.
type additional struct{ values *Schema }

// UnmarshalJSON reads a schema. A boolean is none.
func (a *additional) UnmarshalJSON(data []byte) error {
	if data[0] != '{' {
		return nil
	}
	return json.Unmarshal(data, &a.values)
}

// Parse reads a JSON schema, and replaces references to its definitions by these. A description, a default and a page beside a
// reference take precedence over those of the definition.
func Parse(data []byte) (*Schema, error) {
	root := &Schema{}
	if err := json.Unmarshal(data, root); err != nil {
		return nil, err
	}
	return root, root.resolve(root.Defs)
}

func (s *Schema) resolve(defs map[string]*Schema) error {
	if s == nil {
		return nil
	}
	if s.Ref != "" {
		def := defs[strings.TrimPrefix(s.Ref, "#/$defs/")]
		if def == nil {
			return fmt.Errorf("no definition %s", s.Ref)
		}
		own := *s
		*s = *def
		if own.Description != "" {
			s.Description = own.Description
		}
		if own.Page != "" {
			s.Page = own.Page
		}
		if own.Default != nil {
			s.Default = own.Default
		}
		s.Properties = slices.Clone(def.Properties)
		for i, p := range s.Properties {
			value := *p.Value
			s.Properties[i].Value = &value
		}
	}
	for _, inner := range append([]*Schema{s.Items, s.Additional.values}, s.AnyOf...) {
		if err := inner.resolve(defs); err != nil {
			return err
		}
	}
	for _, p := range s.Properties {
		if err := p.Value.resolve(defs); err != nil {
			return err
		}
	}
	return nil
}

// Keys returns the keys below a value: those of an object, of each item of a list, or of each value of a map.
func (s *Schema) Keys() Properties {
	switch {
	case s.Items != nil:
		return s.Items.Keys()
	case s.Additional.values != nil:
		return s.Additional.values.Keys()
	}
	return s.Properties
}

// Needs reports whether an object must have the key.
func (s *Schema) Needs(key string) bool {
	switch {
	case s.Items != nil:
		return s.Items.Needs(key)
	case s.Additional.values != nil:
		return s.Additional.values.Needs(key)
	}
	return slices.Contains(s.Required, key)
}

// Find returns the schema of the value at a path, such as ip.ranges. The error names the key that does not exist.
func (s *Schema) Find(path ...string) (*Schema, error) {
	for i, key := range path {
		var known []string
		var next *Schema
		for _, p := range s.Keys() {
			known = append(known, p.Name)
			if p.Name == key {
				next = p.Value
			}
		}
		if next == nil {
			return nil, fmt.Errorf("key %q does not exist%s", strings.Join(path[:i+1], "."), suggest.For(key, known))
		}
		s = next
	}
	return s, nil
}

// TypeName returns the type of the value as kubectl explain writes it, such as string, []string, map[string]string or Object.
func (s *Schema) TypeName() string {
	types := slices.DeleteFunc(slices.Clone(s.Type), func(name string) bool { return name == "null" })
	switch {
	case s.Items != nil:
		return "[]" + s.Items.TypeName()
	case s.Additional.values != nil:
		return "map[string]" + s.Additional.values.TypeName()
	case slices.Contains(types, "object"):
		return "Object"
	case len(types) > 0:
		return strings.Join(types, "|")
	case len(s.AnyOf) > 0:
		var all []string
		for _, one := range s.AnyOf {
			if name := one.TypeName(); !slices.Contains(all, name) {
				all = append(all, name)
			}
		}
		return strings.Join(all, "|")
	}
	return "string" // the first of an enum, and a const
}

// Choices returns the values that the value, or each item of the list, may have; nil if it may have others.
func (s *Schema) Choices() []string {
	if s.Items != nil {
		return s.Items.Choices()
	}
	var choices []string
	for _, value := range append(s.Enum, s.Const) {
		if text := fmt.Sprint(value); value != nil && text != "" && !slices.Contains(choices, text) {
			choices = append(choices, text)
		}
	}
	return choices
}

// DefaultText returns the default as YAML in one line, or "" if there is none.
func (s *Schema) DefaultText() string {
	if s.Default == nil {
		return ""
	}
	return flow(s.Default, slices.Contains(s.Type, "number"))
}

func flow(value any, fraction bool) string {
	switch v := value.(type) {
	case string:
		if v == "" {
			return `""`
		}
		return v
	case []any:
		var items []string
		for _, item := range v {
			items = append(items, flow(item, fraction))
		}
		return "[" + strings.Join(items, ", ") + "]"
	case float64:
		text := strconv.FormatFloat(v, 'f', -1, 64)
		if fraction && !strings.Contains(text, ".") {
			text += ".0"
		}
		return text
	}
	return fmt.Sprint(value)
}

// Leaves yields the keys below a value that are no objects, each with its path. A list of objects is a leaf, and so are the keys of its
// items, with [] after the list's name.
func (s *Schema) Leaves() iter.Seq2[string, *Schema] {
	return func(yield func(string, *Schema) bool) { s.leaves("", yield) }
}

func (s *Schema) leaves(path string, yield func(string, *Schema) bool) bool {
	for _, p := range s.Keys() {
		at, isObject := path+p.Name, len(p.Value.Properties) > 0
		if !isObject && !yield(at, p.Value) {
			return false
		}
		if !isObject {
			at += "[]"
		}
		if !p.Value.leaves(at+".", yield) {
			return false
		}
	}
	return true
}
