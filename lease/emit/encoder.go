// Package emit writes any value that encoding/json can marshal as YAML, JSON or KYAML, with sorted keys.
package emit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// The formats of an Encoder.
const (
	YAML  = "yaml"
	JSON  = "json"
	KYAML = "kyaml"
)

// flushAt is the number of bytes that an Encoder buffers before it writes.
const flushAt = 32 << 10

// Encoder writes objects as one stream, each with sorted keys: YAML and KYAML as documents, JSON as one List. It does not
// retain the objects.
type Encoder struct {
	w      io.Writer
	format string
	tree   *tree
	out    []byte
	count  int
}

// NewEncoder returns an encoder for one of the formats. The caller must call Close to end the stream.
func NewEncoder(w io.Writer, format string) (*Encoder, error) {
	e := &Encoder{w: w, format: format, tree: newTree()}
	switch format {
	case YAML, KYAML:
	case JSON:
		e.out = append(e.out, "{\n    \"apiVersion\": \"v1\",\n    \"items\": ["...)
	default:
		return nil, fmt.Errorf("output format %q is not one of yaml, json, kyaml", format)
	}
	return e, nil
}

// Encode writes one object.
func (e *Encoder) Encode(object any) error {
	root, err := e.tree.load(object)
	if err != nil {
		return err
	}
	switch e.format {
	case JSON:
		if e.count > 0 {
			e.out = append(e.out, ',')
		}
		e.out = appendIndent(append(e.out, '\n'), 8)
		e.out = e.tree.appendJSON(e.out, root, 8)
	case KYAML:
		err = e.appendKYAML(root)
	default:
		if e.count > 0 {
			e.out = append(e.out, "---\n"...)
		}
		e.out = e.tree.appendYAML(e.out, root)
	}
	e.count++
	if err != nil || len(e.out) < flushAt {
		return err
	}
	return e.flush()
}

// Close writes buffered output and ends the stream. It does not close the writer.
func (e *Encoder) Close() error {
	if e.format == JSON {
		if e.count > 0 {
			e.out = append(e.out, "\n    "...)
		}
		e.out = append(e.out, "],\n    \"kind\": \"List\"\n}\n"...)
	}
	return e.flush()
}

func (e *Encoder) flush() error {
	_, err := e.w.Write(e.out)
	e.out = e.out[:0]
	return err
}

// appendJSON appends a value with kubectl's indentation of four spaces.
func (t *tree) appendJSON(b []byte, n node, indent int) []byte {
	if n.text != "{" && n.text != "[" {
		return append(b, n.text...)
	}
	b = append(b, n.text...)
	for i, child := range t.nodes[n.from:n.to] {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendIndent(append(b, '\n'), indent+4)
		if n.text == "{" {
			b = append(append(b, child.key...), ": "...)
		}
		b = t.appendJSON(b, child, indent+4)
	}
	if n.from < n.to {
		b = appendIndent(append(b, '\n'), indent)
	}
	if n.text == "{" {
		return append(b, '}')
	}
	return append(b, ']')
}

// node is one JSON value of a tree. Its children are tree.nodes[from:to].
type node struct {
	// key is the JSON literal of the member's name; empty for an element of an array.
	key string
	// text is the JSON literal of a scalar, or the opening bracket of an object or array.
	text     string
	from, to int
}

// tree is a parsed JSON document with sorted keys. An Encoder reuses it for all documents to avoid allocations.
type tree struct {
	buf   bytes.Buffer
	enc   *json.Encoder
	in    string
	pos   int
	nodes []node
	// open holds the children of objects and arrays whose closing bracket has not been read.
	open []node
}

func newTree() *tree {
	t := &tree{}
	t.enc = json.NewEncoder(&t.buf)
	t.enc.SetEscapeHTML(false)
	return t
}

// load marshals a value, parses the JSON and returns its root. The parser checks nothing, because encoding/json writes
// valid JSON without white space.
func (t *tree) load(value any) (node, error) {
	t.buf.Reset()
	if err := t.enc.Encode(value); err != nil {
		return node{}, err
	}
	t.in, t.pos = t.buf.String(), 0
	t.nodes, t.open = t.nodes[:0], t.open[:0]
	return t.value(""), nil
}

func (t *tree) value(key string) node {
	n := node{key: key}
	start := t.pos
	switch t.in[t.pos] {
	case '{', '[':
		n.text = t.in[start : start+1]
		t.pos++
		n.from, n.to = t.children(n.text == "{")
	case '"':
		n.text = t.str()
	default:
		for strings.IndexByte(",]}\n", t.in[t.pos]) < 0 {
			t.pos++
		}
		n.text = t.in[start:t.pos]
	}
	return n
}

// children reads the members of an object or the elements of an array up to the closing bracket. It collects them in
// t.open, because their own children come first in t.nodes.
func (t *tree) children(isObject bool) (from, to int) {
	base := len(t.open)
	for t.in[t.pos] != ']' && t.in[t.pos] != '}' {
		if t.in[t.pos] == ',' {
			t.pos++
		}
		key := ""
		if isObject {
			key = t.str()
			t.pos++ // the colon
		}
		t.open = append(t.open, t.value(key))
	}
	t.pos++
	from = len(t.nodes)
	t.nodes = append(t.nodes, t.open[base:]...)
	t.open = t.open[:base]
	if isObject {
		slices.SortFunc(t.nodes[from:], func(a, b node) int {
			return strings.Compare(a.key[1:len(a.key)-1], b.key[1:len(b.key)-1])
		})
	}
	return from, len(t.nodes)
}

// str reads a string literal up to the next unescaped quote.
func (t *tree) str() string {
	start := t.pos
	for t.pos++; ; t.pos++ {
		t.pos += strings.IndexByte(t.in[t.pos:], '"')
		before := strings.TrimRight(t.in[start+1:t.pos], `\`)
		if (t.pos-start-1-len(before))%2 == 0 {
			break
		}
	}
	t.pos++
	return t.in[start:t.pos]
}

// unquote returns the value of a JSON string literal.
func unquote(literal string) string {
	s := literal[1 : len(literal)-1]
	if strings.IndexByte(s, '\\') < 0 && utf8.ValidString(s) {
		return s
	}
	var out string
	_ = json.Unmarshal([]byte(literal), &out) // encoding/json wrote the literal
	return out
}
