// Package emit writes any value that encoding/json can marshal as YAML, JSON or KYAML, with sorted keys.
package emit

import (
	"fmt"
	"io"
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
