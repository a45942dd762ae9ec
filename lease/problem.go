package lease

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Problem is an error in an input, or a warning about it.
type Problem struct {
	At      Place
	Message string
	// Warning is true if the input is used anyway.
	Warning bool
	// Held is true if the input is valid, but another owner holds or requests the same thing.
	Held bool
}

func (p Problem) Error() string {
	if s := p.At.String(); s != "" {
		return s + ": " + p.Message
	}
	return p.Message
}

// Problems are the problems of the input of a run, in the order of the input. Returned as an error they mean that the
// run has changed nothing.
type Problems []Problem

func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.Error()
	}
	return strings.Join(lines, "\n")
}

// Errors returns the problems that are not warnings.
func (ps Problems) Errors() Problems { return ps.filter(false) }

// Warnings returns the problems that are warnings.
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

// Add appends an error.
func (ps *Problems) Add(at Place, format string, args ...any) {
	*ps = append(*ps, Problem{At: at, Message: Message(format, args...)})
}

// Warn appends a warning: the input is used, but the user should know about it.
func (ps *Problems) Warn(at Place, format string, args ...any) {
	*ps = append(*ps, Problem{At: at, Message: Message(format, args...), Warning: true})
}

// Sorted sorts the problems by line and column, and removes duplicates.
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

// Failed reports whether any problem is an error.
func (ps Problems) Failed() bool {
	return slices.ContainsFunc(ps, func(p Problem) bool { return !p.Warning })
}

// maxShown is the length up to which messages repeat a value in full, in bytes. It is more than the length of any host
// name.
const maxShown = 512

// Clip shortens a value of an input for a message.
func Clip(s string) string {
	if len(s) > maxShown {
		return strings.ToValidUTF8(s[:100], "") + "…"
	}
	return s
}

// Count returns a number with its noun, in the plural unless n is 1.
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if strings.HasSuffix(noun, "s") {
		noun += "e"
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// maxMessage is the length of the longest message about one problem, in bytes.
const maxMessage = 2048

// Message is fmt.Sprintf for messages about inputs: it shortens long string arguments, and the message itself if it is
// still too long.
func Message(format string, args ...any) string {
	for i, arg := range args {
		if s, ok := arg.(string); ok && len(s) > maxShown {
			args[i] = Clip(s)
		}
	}
	s := fmt.Sprintf(format, args...)
	if len(s) > maxMessage {
		return strings.ToValidUTF8(s[:maxMessage], "") + "…"
	}
	return s
}
