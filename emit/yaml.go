package emit

import (
	"io"
	"strings"
	"unicode"
)

// WriteYAML writes one document of anything that has a JSON form, with sorted keys.
func WriteYAML(w io.Writer, value any) error {
	t := newTree()
	root, err := t.load(value)
	if err != nil {
		return err
	}
	_, err = w.Write(t.appendYAML(nil, root))
	return err
}

// appendYAML appends a document in block style, as kubectl prints one.
func (t *tree) appendYAML(b []byte, root node) []byte {
	if root.from < root.to {
		return t.appendBlock(b, root, 0)
	}
	return append(appendScalar(b, root), '\n')
}

// appendBlock appends the children of a node. The cursor stands where the first one begins.
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

// appendKey appends a member's name and its colon. YAML readers take a name of more than 1,024
// characters only with a question mark before it.
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

// number gives a number with an exponent the form that YAML 1.1 readers want: 1.0e+21.
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

// appendString appends a string plain where no YAML reader can take it for anything else, and
// quoted otherwise.
func appendString(b []byte, s string) []byte {
	if isPlain(s) {
		return append(b, s...)
	}
	const hex = "0123456789abcdef"
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
		default:
			digits := 4
			b = append(b, '\\')
			if r > 0xffff {
				digits = 8
				b = append(b, 'U')
			} else {
				b = append(b, 'u')
			}
			for d := digits - 1; d >= 0; d-- {
				b = append(b, hex[r>>(4*d)&0xf])
			}
		}
	}
	return append(b, '"')
}

// The classes of characters in plain strings; 0 is for those that no plain string has.
const (
	classLetter  = 1 + iota // a letter that no number and no time of any YAML version has
	classNumeric            // any other letter, or a digit
	classSign               // harmless after the first character
	classSpace              // harmless between two others
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

// isPlain is true for a string of letters, digits and a few harmless signs that begins with a
// letter, a digit or a slash and is no word or number of any YAML version. It is stricter than
// any reader.
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
	return !numeric && !isWord(s)
}

// isWord is true for what some YAML version reads as a boolean, a null or a number.
func isWord(s string) bool {
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
