package document

import (
	"iter"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/akash-net/kubectl-akash-net/lease"
)

// Cursor is a value of a document with its position. The value is missing if the node is nil: reading it returns zero
// values and reports no problem.
type Cursor struct {
	doc  *Document
	node *yaml.Node // never an alias

	// parent is the linked path of the value's parent; key or index is the last step.
	parent *lease.Step
	key    string
	index  int
	inList bool
}

// Document returns the document of the value.
func (c Cursor) Document() *Document { return c.doc }

// step returns the value's path. Only problems and containers need it, so it is not stored.
func (c Cursor) step() *lease.Step {
	if c.parent == nil && c.key == "" && c.index == 0 && !c.inList {
		return nil
	}
	return &lease.Step{Parent: c.parent, Key: c.key, Index: c.index}
}

// At returns the value's position.
func (c Cursor) At() lease.Place {
	if c.node == nil {
		return c.doc.place(1, 1, c.step())
	}
	return c.doc.place(c.node.Line, c.node.Column, c.step())
}

// Errorf adds an error at the value.
func (c Cursor) Errorf(format string, args ...any) { c.doc.add(c.At(), false, format, args...) }

// Report adds err as an error at the value, unless err is nil.
func (c Cursor) Report(err error) {
	if err != nil {
		c.Errorf("%v", err)
	}
}

// Warnf adds a warning at the value.
func (c Cursor) Warnf(format string, args ...any) { c.doc.add(c.At(), true, format, args...) }

// IsNull reports whether the value is missing or null.
func (c Cursor) IsNull() bool {
	return c.node == nil || c.node.Kind == yaml.ScalarNode && c.node.Tag == "!!null"
}

// IsMapping reports whether the value is a mapping.
func (c Cursor) IsMapping() bool { return c.node != nil && c.node.Kind == yaml.MappingNode }

// IsList reports whether the value is a list.
func (c Cursor) IsList() bool { return c.node != nil && c.node.Kind == yaml.SequenceNode }

// IsScalar reports whether the value is a text, number, boolean or null.
func (c Cursor) IsScalar() bool { return c.node != nil && c.node.Kind == yaml.ScalarNode }

// List yields the items of a list. Null is an empty list; any other kind of value is an error.
func (c Cursor) List() iter.Seq[Cursor] {
	return func(yield func(Cursor) bool) {
		if c.IsNull() {
			return
		}
		if !c.IsList() {
			c.Errorf("expected a list, found %s", c.kind())
			return
		}
		step := c.step()
		again := c.doc.listed[c.node]
		if c.doc.listed != nil {
			c.doc.listed[c.node] = true
		}
		for i, n := range c.node.Content {
			if again {
				c.doc.repeats--
			}
			if !yield(Cursor{doc: c.doc, node: c.doc.resolve(n), parent: step, index: i, inList: true}) || c.doc.exhausted {
				return
			}
		}
	}
}

// Items yields the items of a list that are not null, as Go's YAML decoders do: Akash's SDL library reads lists so.
func (c Cursor) Items() iter.Seq[Cursor] {
	return func(yield func(Cursor) bool) {
		for item := range c.List() {
			if !item.IsNull() && !yield(item) {
				return
			}
		}
	}
}

// Len returns the number of items of a list, or of keys of a mapping before merges.
func (c Cursor) Len() int {
	switch {
	case c.IsList():
		return len(c.node.Content)
	case c.IsMapping():
		return len(c.node.Content) / 2
	}
	return 0
}

// kind describes the kind of the value for messages.
func (c Cursor) kind() string {
	switch {
	case c.IsNull():
		return "nothing"
	case c.IsMapping():
		return "a mapping"
	case c.IsList():
		return "a list"
	case isSecret(c.key):
		return "a text"
	}
	switch c.node.Tag {
	case "!!int", "!!float":
		return "the number " + shown(c.node)
	case "!!bool":
		return shown(c.node)
	}
	return "the text " + quote(c.node.Value)
}

// JSON decodes a text that is a JSON object, which is faster than YAML. If ok is false, read the text with Documents,
// which reports what is wrong with it.
func (t Text) JSON() (value any, ok bool) {
	data := strings.TrimSpace(t.data)
	if data == "" || data[0] != '{' || !utf8.ValidString(data) {
		return nil, false
	}
	var fields map[string]any
	if err := json.Unmarshal([]byte(data), &fields); err != nil {
		return nil, false
	}
	return fields, true
}

// Value returns the value as Kubernetes represents JSON: maps with string keys, slices, strings, booleans, int64 and
// float64. A timestamp is a string.
func (c Cursor) Value() any {
	switch {
	case c.IsNull():
		return nil
	case c.IsMapping():
		m := c.AnyMapping()
		fields := make(map[string]any, c.Len())
		for key, value := range m.Entries() {
			fields[key.node.Value] = value.Value()
		}
		return fields
	case c.IsList():
		items := make([]any, 0, c.Len())
		for item := range c.List() {
			items = append(items, item.Value())
		}
		return items
	}
	return c.scalar()
}

func (c Cursor) scalar() any {
	text := c.node.Value
	switch c.node.Tag {
	case "!!bool":
		return strings.EqualFold(text, "true")
	case "!!int":
		if n, err := strconv.ParseInt(strings.TrimPrefix(strings.ReplaceAll(text, "_", ""), "+"), 0, 64); err == nil {
			return n
		}
		fallthrough
	case "!!float":
		if f, err := strconv.ParseFloat(strings.ReplaceAll(text, "_", ""), 64); err == nil && !math.IsNaN(f) && !math.IsInf(f, 0) {
			return f
		}
	}
	return text
}

// Repeats says which keys of a mapping may be given more than once, because Akash reads the mapping key by key and decodes each
// value into the same variable (chain-sdk: go/sdl, UnmarshalYAML of v2, v2ResourceGPU, v2GPUAttributes). The number is how
// many levels of mappings below the key are joined, as such a decoder joins maps and structs; 0 means that the last value
// counts, and FirstCounts that the first one does.
type Repeats map[string]int

// FirstCounts is for a key of which only the first value is read.
const FirstCounts = -1

// RepeatingMapping is StrictMapping for a mapping in which keys may be given more than once, with a warning.
func (c Cursor) RepeatingMapping(known []string, repeats Repeats) Mapping {
	return c.mapping(known, mappingRules{strict: true, repeats: repeats})
}

// join makes one value of the values of each key that is repeated.
func (m *Mapping) join(repeats Repeats) {
	if len(repeats) == 0 || !m.needsFlatten() {
		return
	}
	var content []*yaml.Node
	at := map[string]int{}
	values := map[string][]*yaml.Node{}
	for i := 0; i+1 < len(m.content); i += 2 {
		k := m.doc.resolve(m.content[i])
		if k == nil {
			return
		}
		if _, may := repeats[k.Value]; !may || k.Kind != yaml.ScalarNode {
			content = append(content, m.content[i], m.content[i+1])
			continue
		}
		if len(values[k.Value]) == 0 {
			at[k.Value] = len(content)
			content = append(content, m.content[i], nil)
		} else {
			m.keyAt(i).Warnf("key %q is given twice (also in line %d); Akash takes both together", k.Value,
				m.doc.before+content[at[k.Value]].Line)
		}
		values[k.Value] = append(values[k.Value], m.content[i+1])
	}
	for key, i := range at {
		content[i+1] = m.doc.joined(values[key], repeats[key])
	}
	m.content = content
}

// joined returns the value that a decoder ends with that decodes the values one after the other into the same variable.
func (d *Document) joined(values []*yaml.Node, levels int) *yaml.Node {
	if levels == FirstCounts {
		return values[0]
	}
	last := values[len(values)-1]
	if levels == 0 || len(values) == 1 {
		return last
	}
	var out yaml.Node
	type entry struct {
		at, from int
		values   []*yaml.Node
	}
	entries := map[string]*entry{}
	for number, value := range values {
		n := d.resolve(value)
		switch {
		case n == nil:
			return last
		case n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" && levels == 1:
			entries, out.Content = map[string]*entry{}, nil // a map is set to nil, a struct stays
			continue
		case n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null":
			continue
		case n.Kind != yaml.MappingNode:
			return value // an error of its own
		}
		if out.Kind == 0 {
			content := out.Content
			out = *n
			out.Content = content
		}
		for i := 0; i+1 < len(n.Content); i += 2 {
			k, v := n.Content[i], n.Content[i+1]
			known := entries[k.Value]
			switch {
			case k.Kind != yaml.ScalarNode || k.Tag == "!!merge" || known != nil && known.from == number:
				out.Content = append(out.Content, k, v) // a key given twice in one value stays an error
			case known == nil:
				entries[k.Value] = &entry{at: len(out.Content), from: number, values: []*yaml.Node{v}}
				out.Content = append(out.Content, k, v)
			default:
				known.from, known.values = number, append(known.values, v)
			}
		}
	}
	if out.Kind == 0 {
		return last
	}
	for _, e := range entries {
		out.Content[e.at+1] = d.joined(e.values, levels-1)
	}
	return &out
}
