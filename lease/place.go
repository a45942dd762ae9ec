package lease

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Place is where something was read: a file (or "-" for standard input, or a cluster object), a
// line and a column, both from 1, and the path of the field within its document.
type Place struct {
	File         string
	Line, Column int
	// Path is the field's path as a text. Readers leave it empty and set Field instead.
	Path string
	// Field is the field's path as steps, which is cheap to make and spelled out only when a
	// place is printed.
	Field *Step
}

// Step is one step of a field's path: a key of a mapping, or the index in a list where Key is
// empty.
type Step struct {
	Parent *Step
	Key    string
	Index  int
}

// String is the path from the document's root, such as services.web.expose[0].port.
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

// unprintable is true for what is no character, and for those that a terminal obeys.
func unprintable(r rune) bool { return r == utf8.RuneError || !strconv.IsPrint(r) }

// String is file:line:column: path, without the parts that are not known.
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

// Problem is one thing that is wrong, or doubtful, with an input.
type Problem struct {
	At      Place
	Message string
	// Warning is true for what is read all the same.
	Warning bool
	// Held is true where the input is good, and another owner has, or wants, what it asks for.
	Held bool
}

func (p Problem) Error() string {
	if s := p.At.String(); s != "" {
		return s + ": " + p.Message
	}
	return p.Message
}

// Problems are all that is wrong with the input of a run, in the order of the input. As an error
// they mean that nothing was done.
type Problems []Problem

func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.Error()
	}
	return strings.Join(lines, "\n")
}

// Errors are the problems that are not warnings.
func (ps Problems) Errors() Problems { return ps.filter(false) }

// Warnings are the problems that are only doubts.
func (ps Problems) Warnings() Problems { return ps.filter(true) }

func (ps Problems) filter(warning bool) Problems {
	var out Problems
	for _, p := range ps {
		if p.Warning == warning {
			out = append(out, p)
		}
	}
	return out
}

// Add notes an error, Warn a doubt.
func (ps *Problems) Add(at Place, format string, args ...any) {
	*ps = append(*ps, Problem{At: at, Message: Message(format, args...)})
}

// Warn notes something that is read all the same but that the user should know of.
func (ps *Problems) Warn(at Place, format string, args ...any) {
	*ps = append(*ps, Problem{At: at, Message: Message(format, args...), Warning: true})
}

// Sorted are the problems in the order of their lines, each once.
func (ps Problems) Sorted() Problems {
	if len(ps) < 2 {
		return ps
	}
	slices.SortStableFunc(ps, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.At.Line, b.At.Line), cmp.Compare(a.At.Column, b.At.Column))
	})
	type key struct {
		file, message string
		line, column  int
	}
	seen := make(map[key]bool, len(ps))
	return slices.DeleteFunc(ps, func(p Problem) bool {
		k := key{p.At.File, p.Message, p.At.Line, p.At.Column}
		if p.At.Line == 0 {
			k.file = p.At.String()
		}
		again := seen[k]
		seen[k] = true
		return again
	})
}

// Failed is true when one of the problems is an error.
func (ps Problems) Failed() bool {
	return slices.ContainsFunc(ps, func(p Problem) bool { return !p.Warning })
}
