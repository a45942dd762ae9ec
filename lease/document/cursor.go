package document

import (
	"iter"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/akash-net/kubectl-akash-net/lease"
)

// Cursor is one value of a document and where it stands. The zero node is a value that is not
// there: reading it gives zero values and no problem.
type Cursor struct {
	doc  *Document
	node *yaml.Node // never an alias

	// The path's last step; the steps above are linked.
	parent *lease.Step
	key    string
	index  int
	inList bool
}

// Document is the document that the value belongs to.
func (c Cursor) Document() *Document { return c.doc }

// step is the value's path. It is made only when it is needed.
func (c Cursor) step() *lease.Step {
	if c.parent == nil && c.key == "" && c.index == 0 && !c.inList {
		return nil
	}
	return &lease.Step{Parent: c.parent, Key: c.key, Index: c.index}
}

// At is the value's place.
func (c Cursor) At() lease.Place {
	if c.node == nil {
		return c.doc.place(1, 1, c.step())
	}
	return c.doc.place(c.node.Line, c.node.Column, c.step())
}

// Errorf notes an error at the value.
func (c Cursor) Errorf(format string, args ...any) { c.doc.add(c.At(), false, format, args...) }

// Warnf notes a doubt at the value.
func (c Cursor) Warnf(format string, args ...any) { c.doc.add(c.At(), true, format, args...) }

// IsNull is true for a value that is not there or is null.
func (c Cursor) IsNull() bool {
	return c.node == nil || c.node.Kind == yaml.ScalarNode && c.node.Tag == "!!null"
}

// IsMapping and IsList tell the kinds of value apart.
func (c Cursor) IsMapping() bool { return c.node != nil && c.node.Kind == yaml.MappingNode }

// IsList is true for a list.
func (c Cursor) IsList() bool { return c.node != nil && c.node.Kind == yaml.SequenceNode }

// IsScalar is true for a text, number, truth value or null.
func (c Cursor) IsScalar() bool { return c.node != nil && c.node.Kind == yaml.ScalarNode }

// List yields the items of a list. A value of another kind is a problem; null is an empty list.
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
		for i, n := range c.node.Content {
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

// Len is the number of items of a list or keys of a mapping, before merges.
func (c Cursor) Len() int {
	switch {
	case c.IsList():
		return len(c.node.Content)
	case c.IsMapping():
		return len(c.node.Content) / 2
	}
	return 0
}

// kind names the kind of a value for messages.
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
