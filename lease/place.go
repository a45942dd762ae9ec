package lease

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Place is the source position of a value: a file ("-" is standard input; it may also be a cluster object), line and
// column, both counted from 1, and the path of the field in its document.
type Place struct {
	File         string
	Line, Column int
	// Path is the field's path as text. Readers leave it empty and set Field instead.
	Path string
	// Field is the field's path as a linked list of steps. It is cheap to build, and converted to text only when the
	// place is printed.
	Field *Step
}

// Step is one step of a field's path: a key of a mapping or, if Key is empty, an index of a list.
type Step struct {
	Parent *Step
	Key    string
	Index  int
}

// String returns the path from the document's root, such as services.web.expose[0].port.
func (s *Step) String() string {
	if s == nil {
		return ""
	}
	parent := s.Parent.String()
	switch {
	case s.Key == "":
		return parent + "[" + strconv.Itoa(s.Index) + "]"
	case strings.ContainsAny(s.Key, ".[]/ \"") || strings.ContainsFunc(s.Key, unprintable) || len(s.Key) > maxShown:
		return parent + "[" + strconv.Quote(Clip(s.Key)) + "]"
	case parent == "":
		return s.Key
	}
	return parent + "." + s.Key
}

// unprintable reports whether r is an encoding error or a character that a terminal may interpret.
func unprintable(r rune) bool { return r == utf8.RuneError || !strconv.IsPrint(r) }

// String returns "file:line:column: path", without the parts that are unknown.
func (p Place) String() string {
	var b strings.Builder
	b.WriteString(p.File)
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", p.Line, p.Column)
	}
	path := p.Path
	if path == "" {
		path = p.Field.String()
	}
	if path != "" {
		if b.Len() > 0 {
			b.WriteString(": ")
		}
		b.WriteString(path)
	}
	return b.String()
}
