package document

import (
	"iter"

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
