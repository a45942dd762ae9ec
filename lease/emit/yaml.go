package emit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode"

	"sigs.k8s.io/yaml/kyaml"
)

// WriteYAML writes a value that encoding/json can marshal as one YAML document with sorted keys.
func WriteYAML(w io.Writer, value any) error {
	t := newTree()
	root, err := t.load(value)
	if err != nil {
		return err
	}
	_, err = w.Write(t.appendYAML(nil, root))
	return err
}

// appendYAML appends a document in block style, as kubectl prints it.
func (t *tree) appendYAML(b []byte, root node) []byte {
	if root.from < root.to {
		return t.appendBlock(b, root, 0)
	}
	return append(appendScalar(b, root), '\n')
}

// appendBlock appends the children of a node. The caller has indented the first one.
func (t *tree) appendBlock(b []byte, n node, indent int) []byte {
	for i, child := range t.nodes[n.from:n.to] {
		if i > 0 {
			b = appendIndent(b, indent)
		}
		if n.text == "[" {
			b = append(b, '-', ' ')
			if child.from < child.to {
				b = t.appendBlock(b, child, indent+2)
				continue
			}
			b = append(appendScalar(b, child), '\n')
			continue
		}
		b = appendKey(b, child.key, indent)
		switch {
		case child.from == child.to:
			b = append(b, ' ')
			b = append(appendScalar(b, child), '\n')
		case child.text == "[":
			b = appendIndent(append(b, '\n'), indent)
			b = t.appendBlock(b, child, indent)
		default:
			b = appendIndent(append(b, '\n'), indent+2)
			b = t.appendBlock(b, child, indent+2)
		}
	}
	return b
}

// appendKey appends a key and its colon. YAML limits a key without a question mark to 1,024 characters (YAML 1.2, 7.4.2).
func appendKey(b []byte, key string, indent int) []byte {
	if len(key) < 256 {
		return append(appendString(b, unquote(key)), ':')
	}
	b = append(b, '?', ' ')
	b = appendString(b, unquote(key))
	return append(appendIndent(append(b, '\n'), indent), ':')
}

func appendScalar(b []byte, n node) []byte {
	switch c := n.text[0]; {
	case c == '"':
		return appendString(b, unquote(n.text))
	case c == '{':
		return append(b, "{}"...)
	case c == '[':
		return append(b, "[]"...)
	case c == '-' || c >= '0' && c <= '9':
		return append(b, number(n.text)...)
	}
	return append(b, n.text...)
}

// number returns a JSON number in a form that YAML 1.1 also reads as a number: 1.0e+21 instead of 1e21.
func number(s string) string {
	mantissa, exponent, ok := strings.Cut(strings.ToLower(s), "e")
	if !ok {
		return s
	}
	if !strings.Contains(mantissa, ".") {
		mantissa += ".0"
	}
	if exponent[0] != '-' && exponent[0] != '+' {
		exponent = "+" + exponent
	}
	return mantissa + "e" + exponent
}

// appendString appends a string, quoted unless every YAML version reads it as the same string without quotes.
func appendString(b []byte, s string) []byte {
	if isPlain(s) {
		return append(b, s...)
	}
	b = append(b, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r == '\n':
			b = append(b, '\\', 'n')
		case r == '\t':
			b = append(b, '\\', 't')
		case r == ' ' || unicode.IsPrint(r):
			b = append(b, string(r)...)
		case r > 0xffff:
			b = fmt.Appendf(b, `\U%08x`, r)
		default:
			b = fmt.Appendf(b, `\u%04x`, r)
		}
	}
	return append(b, '"')
}

// The classes of characters that a plain string may contain. All others have class 0.
const (
	classLetter  = 1 + iota // a letter that occurs in no number or timestamp of any YAML version
	classNumeric            // any other letter, or a digit
	classSign               // allowed after the first character
	classSpace              // allowed between two other characters
)

var classes = func() (table [256]byte) {
	for _, c := range []struct {
		chars string
		class byte
	}{
		{"ghijklmnpqrsuvwyGHIJKLMNPQRSUVWY", classLetter},
		{"0123456789abcdefotxzABCDEFOTXZ", classNumeric},
		{"_-./@+", classSign},
		{" :", classSpace},
	} {
		for i := range len(c.chars) {
			table[c.chars[i]] = c.class
		}
	}
	return table
}()

// isPlain reports whether a string needs no quotes: it consists of letters, digits and a few signs, begins with a letter, a
// digit or a slash, and is not a keyword or number of any YAML version. It is stricter than any YAML reader.
func isPlain(s string) bool {
	if s == "" || s[0] != '/' && classes[s[0]] != classLetter && classes[s[0]] != classNumeric {
		return false
	}
	numeric := s[0] <= '9' && s[0] >= '0'
	for i := range len(s) {
		switch classes[s[i]] {
		case 0:
			return false
		case classLetter:
			numeric = false
		case classSpace:
			if i+1 == len(s) || s[i+1] == ' ' {
				return false
			}
		}
	}
	return !numeric && !isKeyword(s)
}

// isKeyword reports whether some YAML version reads a string as a boolean, a null or a number.
func isKeyword(s string) bool {
	if len(s) > len("infinity") {
		return false
	}
	switch strings.ToLower(s) {
	case "y", "n", "yes", "no", "on", "off", "true", "false", "null", "nil", "none", "nan", "inf", "infinity":
		return true
	}
	return false
}

const spaces = "                                                                "

func appendIndent(b []byte, n int) []byte {
	for ; n > len(spaces); n -= len(spaces) {
		b = append(b, spaces...)
	}
	return append(b, spaces[:n]...)
}

// WriteJSON writes a value as indented JSON. It keeps the order of fields and does not escape HTML.
func WriteJSON(w io.Writer, value any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(value)
}

// These patterns match the output of appendYAML, which writes each quoted string on one line.
var (
	quoted = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
	// spacedLine matches a line of a string that begins with Unicode white space other than a blank or a tab.
	spacedLine = regexp.MustCompile(`(?:^"|\\n)\\u(?:000[bcd]|0085|00a0|1680|20[0-9a-f]{2}|3000)`)
	escape     = regexp.MustCompile(`\\.`)
)

// appendKYAML appends a document that sigs.k8s.io/yaml formats; the library keeps the order of keys.
//
// The library writes each line of a multi-line string on a line of its own. Version 1.6 escapes Unicode white space at the
// start of such a line twice. appendKYAML avoids this: it passes the string as one line, with a private-use character that
// the document does not contain instead of each newline, and puts the newlines back afterwards.
func (e *Encoder) appendKYAML(root node) error {
	text := e.tree.appendYAML(nil, root)
	newline := ""
	if bytes.Contains(text, []byte(`\u`)) {
		for r := 0xe000; newline == "" || bytes.Contains(text, []byte(newline[2:])); r++ {
			newline = fmt.Sprintf(`\u%04x`, r)
		}
		text = quoted.ReplaceAllFunc(text, func(s []byte) []byte {
			if !spacedLine.Match(s) {
				return s
			}
			return escape.ReplaceAllFunc(s, func(c []byte) []byte {
				if string(c) == `\n` {
					return []byte(newline)
				}
				return c
			})
		})
	}
	var out bytes.Buffer
	if err := new(kyaml.Encoder).FromYAML(bytes.NewReader(text), &out); err != nil {
		return err
	}
	written := out.Bytes()
	if newline != "" {
		written = bytes.ReplaceAll(written, []byte(newline), []byte(`\n`))
	}
	e.out = append(e.out, written...)
	return nil
}
