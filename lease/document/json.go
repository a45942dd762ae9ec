package document

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// maxDepth is the depth to which JSON values may be nested: that of the YAML library and of encoding/json.
const maxDepth = 10_000

// jsonError is a mistake at an offset of a text that begins as JSON.
type jsonError struct {
	offset  int
	message string
}

func (e *jsonError) Error() string { return e.message }

// YAML returns a text for readers of YAML: what begins as JSON is written anew, other texts are returned unchanged.
func YAML(text []byte) ([]byte, error) {
	if !beginsAsJSON(text) {
		return text, nil
	}
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	for next := nodes(text); ; {
		node, err := next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if err := encoder.Encode(node); err != nil {
			return nil, err
		}
	}
	return out.Bytes(), encoder.Close()
}

// nodes returns a function that returns the documents of a text one after the other, and then io.EOF. JSON is not read
// as YAML, which has other escapes and line breaks in texts. A text that begins as JSON, and is YAML but not JSON, is
// YAML: it may have comments, or a comma after the last item.
func nodes(text []byte) func() (*yaml.Node, error) {
	if beginsAsJSON(text) {
		r := &jsonReader{text: text, line: 1, column: 1}
		first, err := r.next()
		if err == nil || !isYAML(text) {
			return func() (*yaml.Node, error) {
				if first == nil && err == nil {
					return r.next()
				}
				node := first
				first = nil
				return node, err
			}
		}
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	return func() (*yaml.Node, error) { return decode(decoder) }
}

// beginsAsJSON reports whether the first value of a text is a list or an object as JSON writes it: empty, or with a
// quoted text as its first item or key, or cut off before it.
func beginsAsJSON(text []byte) bool {
	rest := text[blank(text):]
	inner := bytes.TrimLeft(rest, "[{ \t\r\n")
	return len(inner) < len(rest) && (len(inner) == 0 || strings.IndexByte(`"]}`, inner[0]) >= 0)
}

func isYAML(text []byte) bool {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	for {
		if _, err := decode(decoder); err != nil {
			return errors.Is(err, io.EOF)
		}
	}
}

// blank returns the length of what may stand before a JSON value: a byte order mark, white space, comments, and markers
// of the beginnings and ends of documents.
func blank(text []byte) int {
	rest := bytes.TrimPrefix(text, []byte("\ufeff"))
	for {
		rest = bytes.TrimLeft(rest, " \t\r\n")
		switch {
		case isMarker(rest), bytes.HasPrefix(rest, []byte("...")):
			rest = rest[3:]
		case bytes.HasPrefix(rest, []byte("#")):
			if end := bytes.IndexByte(rest, '\n'); end >= 0 {
				rest = rest[end:]
			} else {
				rest = nil
			}
		default:
			return len(text) - len(rest)
		}
	}
}

// jsonReader reads JSON values with their positions.
type jsonReader struct {
	text    []byte
	decoder *json.Decoder
	// begin is where the decoder began to read, start where the document begins.
	begin, start int
	// at is the offset of the value that was read last; line and column are its position.
	at, line, column int
}

// next returns the next document, or io.EOF.
func (r *jsonReader) next() (*yaml.Node, error) {
	end := 0
	if r.decoder != nil {
		end = r.offset()
	}
	r.start = end + blank(r.text[end:])
	if r.start == len(r.text) {
		return nil, io.EOF
	}
	if r.decoder == nil || len(bytes.TrimSpace(r.text[end:r.start])) > 0 { // the decoder knows no comments
		r.begin = r.start
		r.decoder = json.NewDecoder(bytes.NewReader(r.text[r.begin:]))
		r.decoder.UseNumber()
	}
	value, err := r.value(0)
	if err != nil {
		return nil, r.mistake(err)
	}
	return &yaml.Node{Kind: yaml.DocumentNode, Line: value.Line, Column: value.Column, Content: []*yaml.Node{value}}, nil
}

// offset returns the end of what the decoder has read.
func (r *jsonReader) offset() int { return r.begin + int(r.decoder.InputOffset()) }

// value reads one value, or the key of an object.
func (r *jsonReader) value(depth int) (*yaml.Node, error) {
	n := r.node()
	token, err := r.decoder.Token()
	if err != nil {
		return nil, err
	}
	switch v := token.(type) {
	case json.Delim:
		n.Kind, n.Tag = yaml.SequenceNode, "!!seq"
		if v == '{' {
			n.Kind, n.Tag = yaml.MappingNode, "!!map"
		}
		n.Style = yaml.FlowStyle
		if depth == maxDepth {
			return nil, &jsonError{offset: r.at, message: fmt.Sprintf("the values are nested more than %d deep", maxDepth)}
		}
		for r.decoder.More() {
			item, err := r.value(depth + 1)
			if err != nil {
				return nil, err
			}
			n.Content = append(n.Content, item)
		}
		_, err := r.decoder.Token() // the closing bracket
		return n, err
	case string:
		n.Tag, n.Value, n.Style = "!!str", v, yaml.DoubleQuotedStyle
		if raw := r.text[r.at:r.offset()]; !utf8.Valid(raw) {
			return nil, &jsonError{offset: r.at + invalidUTF8(raw), message: "a character is not UTF-8"}
		}
	case json.Number:
		n.Value = v.String()
		n.Tag = n.ShortTag() // as YAML reads the same number
	case bool:
		n.Tag, n.Value = "!!bool", fmt.Sprint(v)
	default:
		n.Tag, n.Value = "!!null", "null"
	}
	return n, nil
}

// node returns a scalar at the position of the next value.
func (r *jsonReader) node() *yaml.Node {
	next := r.offset()
	next += len(r.text[next:]) - len(bytes.TrimLeft(r.text[next:], " \t\r\n,:"))
	passed := r.text[r.at:next]
	if lines := bytes.Count(passed, []byte("\n")); lines > 0 {
		r.line += lines
		r.column = 1
		passed = passed[bytes.LastIndexByte(passed, '\n')+1:]
	}
	r.column += utf8.RuneCount(passed)
	r.at = next
	return &yaml.Node{Kind: yaml.ScalarNode, Line: r.line, Column: r.column}
}

// mistake gives an error of the decoder its offset in the text, which the decoder counts from a token.
func (r *jsonReader) mistake(err error) error {
	if known, ok := errors.AsType[*jsonError](err); ok {
		return known
	}
	var whole json.RawMessage
	err = json.Unmarshal(bytes.TrimRight(r.text[r.start:], " \t\r\n"), &whole)
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return &jsonError{offset: r.start + int(syntax.Offset) - 1, message: syntax.Error()}
	}
	return &jsonError{offset: r.at, message: "invalid JSON"}
}

// invalidUTF8 returns the offset of the first byte that is not UTF-8.
func invalidUTF8(text []byte) int {
	for at := 0; at < len(text); {
		r, size := utf8.DecodeRune(text[at:])
		if r == utf8.RuneError && size == 1 {
			return at
		}
		at += size
	}
	return len(text)
}

// utf8Text returns a text in UTF-8. One in UTF-16, as PowerShell writes files, begins with a byte order mark, or with a
// character of which one byte is zero.
func utf8Text(text []byte) []byte {
	var order binary.ByteOrder
	switch {
	case len(text) < 2 || len(text)%2 != 0:
		return text
	case bytes.HasPrefix(text, []byte("\xff\xfe")), text[0] != 0 && text[1] == 0:
		order = binary.LittleEndian
	case bytes.HasPrefix(text, []byte("\xfe\xff")), text[0] == 0 && text[1] != 0:
		order = binary.BigEndian
	default:
		return text
	}
	units := make([]uint16, len(text)/2)
	for i := range units {
		units[i] = order.Uint16(text[2*i:])
	}
	return []byte(string(utf16.Decode(units)))
}
