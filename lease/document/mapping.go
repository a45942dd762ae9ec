package document

import (
	"iter"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/suggest"
)

// Mapping is a mapping with validated keys. A missing mapping has no keys.
type Mapping struct {
	// Cursor is the mapping itself.
	Cursor
	path *lease.Step
	// content has keys and values alternately, with merges resolved.
	content []*yaml.Node
}

// Present reports whether the mapping exists.
func (m Mapping) Present() bool { return m.content != nil }

// Mapping reads a mapping that may have the known keys. An unknown key is an error in a strict document and otherwise a
// warning. Null is an empty mapping; any other kind of value is an error.
func (c Cursor) Mapping(known []string) Mapping {
	return c.mapping(known, mappingRules{strict: c.doc.Strict})
}

// StrictMapping is Mapping, but an unknown key is an error in any document.
func (c Cursor) StrictMapping(known []string) Mapping {
	return c.mapping(known, mappingRules{strict: true})
}

// SpelledMapping is Mapping, but accepts keys that differ from a known key only in case and underscores, with a
// warning.
func (c Cursor) SpelledMapping(known []string) Mapping {
	return c.mapping(known, mappingRules{strict: c.doc.Strict, spelled: true})
}

// AnyMapping reads a mapping whose keys the user chooses.
func (c Cursor) AnyMapping() Mapping {
	m, ok := c.open()
	if ok {
		m.flatten()
	}
	return m
}

func (c Cursor) open() (Mapping, bool) {
	m := Mapping{Cursor: c}
	if c.IsNull() {
		return m, false
	}
	if !c.IsMapping() {
		c.Errorf("expected a mapping, found %s", c.kind())
		return m, false
	}
	m.path = c.step()
	m.content = c.node.Content
	if m.content == nil {
		m.content = []*yaml.Node{}
	}
	return m, true
}

// mappingRules says how the keys of a mapping are read.
type mappingRules struct {
	// strict makes an unknown key an error, and spelled accepts other spellings of a known one.
	strict, spelled bool
	// repeats are the keys that may be given more than once.
	repeats Repeats
}

func (c Cursor) mapping(known []string, rules mappingRules) Mapping {
	m, ok := c.open()
	if !ok {
		return m
	}
	m.join(rules.repeats)
	m.flatten()
	for i := 0; i+1 < len(m.content); i += 2 {
		key := m.content[i].Value
		if slices.Contains(known, key) {
			continue
		}
		if rules.spelled {
			if same := sameSpelling(key, known); same != "" && m.find(same) == nil {
				m.keyAt(i).Warnf("%q is read as %q", key, same)
				m.rename(i, same)
				continue
			}
		}
		if rules.strict {
			m.keyAt(i).Errorf("unknown key %q%s", key, suggest.For(key, known))
		} else {
			m.keyAt(i).Warnf("unknown key %q is ignored%s", key, suggest.For(key, known))
		}
	}
	return m
}

func sameSpelling(key string, known []string) string {
	plain := func(s string) string { return strings.ToLower(strings.ReplaceAll(s, "_", "")) }
	for _, k := range known {
		if plain(k) == plain(key) {
			return k
		}
	}
	return ""
}

func (m *Mapping) rename(i int, key string) {
	m.content = slices.Clone(m.content)
	n := *m.content[i]
	n.Value = key
	m.content[i] = &n
}

// flatten validates the keys and resolves merges. The mapping's own keys take precedence over merged ones, and an
// earlier merge over a later one.
func (m *Mapping) flatten() {
	if !m.needsFlatten() {
		return
	}
	own, merges := []*yaml.Node{}, []*yaml.Node{}
	seen := make(map[string]*yaml.Node, len(m.content)/2)
	for i := 0; i+1 < len(m.content) && !m.doc.exhausted; i += 2 {
		k := m.doc.resolve(m.content[i])
		switch {
		case k == nil:
		case k.Kind != yaml.ScalarNode:
			m.keyAt(i).Errorf("a key must be a text")
		case k.Tag == "!!merge":
			merges = append(merges, m.content[i+1])
		case seen[k.Value] != nil:
			m.doc.add(m.doc.place(m.content[i].Line, m.content[i].Column, &lease.Step{Parent: m.path, Key: k.Value}), false,
				"key %q is given twice (also in line %d)", k.Value, m.doc.before+seen[k.Value].Line)
		default:
			seen[k.Value] = k
			own = append(own, k, m.content[i+1])
		}
	}
	m.content = own
	for _, n := range merges {
		m.merge(n, seen, 0)
	}
}

// needsFlatten is false for simple mappings, which most are: scalar keys without duplicates and merges.
func (m *Mapping) needsFlatten() bool {
	if len(m.content) > 32 {
		return true
	}
	for i := 0; i+1 < len(m.content); i += 2 {
		k := m.content[i]
		if k.Kind != yaml.ScalarNode || k.Tag == "!!merge" {
			return true
		}
		for j := 0; j < i; j += 2 {
			if m.content[j].Value == k.Value {
				return true
			}
		}
	}
	return false
}

// merge adds the keys of a merged mapping, or of a list of mappings, that do not exist yet.
func (m *Mapping) merge(n *yaml.Node, seen map[string]*yaml.Node, depth int) {
	n = m.doc.resolve(n)
	if n == nil {
		return
	}
	at := m.doc.place(n.Line, n.Column, m.path)
	if depth > 100 {
		m.doc.add(at, false, "merges are nested too deeply")
		return
	}
	switch n.Kind {
	case yaml.SequenceNode:
		for _, item := range n.Content {
			m.merge(item, seen, depth+1)
		}
	case yaml.MappingNode:
		var nested []*yaml.Node
		for i := 0; i+1 < len(n.Content) && !m.doc.exhausted; i += 2 {
			k := m.doc.resolve(n.Content[i])
			switch {
			case k == nil || k.Kind != yaml.ScalarNode:
			case k.Tag == "!!merge":
				nested = append(nested, n.Content[i+1])
			case seen[k.Value] == nil:
				seen[k.Value] = k
				m.content = append(m.content, k, n.Content[i+1])
			}
		}
		for _, item := range nested {
			m.merge(item, seen, depth+1)
		}
	default:
		m.doc.add(at, false, "only mappings can be merged by <<")
	}
}

// keyAt returns the key itself, for the position of a problem.
func (m Mapping) keyAt(i int) Cursor {
	k := m.content[i]
	return Cursor{doc: m.doc, node: k, parent: m.path, key: k.Value}
}

func (m Mapping) find(key string) *yaml.Node {
	for i := 0; i+1 < len(m.content); i += 2 {
		if m.content[i].Value == key {
			return m.content[i+1]
		}
	}
	return nil
}

// Get returns the value of a key, or a missing value.
func (m Mapping) Get(key string) Cursor {
	c := Cursor{doc: m.doc, parent: m.path, key: key}
	if n := m.find(key); n != nil {
		c.node = m.doc.resolve(n)
	}
	return c
}

// Require is Get, but reports a missing or null value as an error.
func (m Mapping) Require(key string) Cursor {
	c := m.Get(key)
	if m.Present() && c.IsNull() {
		m.Errorf("%q is missing", key)
	}
	return c
}

// Entries yields keys and values in the document's order.
func (m Mapping) Entries() iter.Seq2[Cursor, Cursor] {
	return func(yield func(Cursor, Cursor) bool) {
		for i := 0; i+1 < len(m.content) && !m.doc.exhausted; i += 2 {
			key := m.keyAt(i)
			value := key
			value.node = m.doc.resolve(m.content[i+1])
			if !yield(key, value) {
				return
			}
		}
	}
}

// Get returns the value of a key of a mapping, or a missing value.
func (c Cursor) Get(key string) Cursor { return c.AnyMapping().Get(key) }

// Key returns the key of the value in its mapping.
func (c Cursor) Key() string { return c.key }

// Peek returns the text of a key before the mapping is validated; "" if the key is missing or not a text.
func (c Cursor) Peek(key string) string {
	if !c.IsMapping() {
		return ""
	}
	return Mapping{Cursor: c, content: c.node.Content}.Get(key).Raw()
}

// Has reports whether a mapping has the key.
func (c Cursor) Has(key string) bool {
	return c.IsMapping() && Mapping{content: c.node.Content}.find(key) != nil
}
