package lease

import (
	"fmt"
	"strings"
)

// Place is where something was read: a file (or "-" for standard input, or a cluster object), a
// line and a column, both from 1, and the path of the field within its document.
type Place struct {
	File         string
	Line, Column int
	Path         string
}

// String is file:line:column: path, without the parts that are not known.
func (p Place) String() string {
	var b strings.Builder
	b.WriteString(p.File)
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", p.Line, p.Column)
	}
	if p.Path != "" {
		if b.Len() > 0 {
			b.WriteString(": ")
		}
		b.WriteString(p.Path)
	}
	return b.String()
}

// Problem is one thing that is wrong, or doubtful, with an input.
type Problem struct {
	At      Place
	Message string
	// Warning is true for what is read all the same.
	Warning bool
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

// Errors are the problems that are not warnings, Warnings the others.
func (ps Problems) Errors() Problems   { return ps.filter(false) }
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
	*ps = append(*ps, Problem{At: at, Message: fmt.Sprintf(format, args...)})
}

// Warn notes something that is read all the same but that the user should know of.
func (ps *Problems) Warn(at Place, format string, args ...any) {
	*ps = append(*ps, Problem{At: at, Message: fmt.Sprintf(format, args...), Warning: true})
}
