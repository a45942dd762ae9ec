package examine

import (
	"fmt"
	"slices"
	"strings"
)

// Result is the result of a check.
type Result string

// The results.
const (
	OK Result = "ok"
	// Warning is something that limits commands, or protects less than possible. Nothing has to change.
	Warning Result = "warning"
	// Problem is something that makes commands fail, or leases unreachable.
	Problem Result = "problem"
	// Unknown means that the cluster has not said what the check needs.
	Unknown Result = "unknown"
)

// Line is what a check has found.
type Line struct {
	// Check names the check; several lines may have the same name.
	Check  string `json:"check"`
	Result Result `json:"result"`
	Text   string `json:"text"`
	// Mend is the command, or the words, that mends the problem; "" if there is nothing to mend.
	Mend string `json:"mend,omitempty"`
}

// Lines returns the lines of all checks, in the order in which to mend.
func Lines(s *Seen) []Line {
	var lines []Line
	for _, check := range checks {
		if s.Before && !check.before {
			continue
		}
		for _, line := range check.lines(s) {
			line.Check = check.name
			lines = append(lines, line)
		}
	}
	return lines
}

// Count returns how many lines have the result.
func Count(lines []Line, r Result) (n int) {
	for _, line := range lines {
		if line.Result == r {
			n++
		}
	}
	return n
}

// checks are the checks in the order of their lines; before is true for those that hold before install as well.
var checks = []struct {
	name   string
	before bool
	lines  func(*Seen) []Line
}{
	{"kubernetes", true, (*Seen).kubernetes},
	{"clock", true, (*Seen).clock},
	{"configuration", true, (*Seen).configuration},
	{"namespaces", true, (*Seen).namespaces},
	{"definitions", true, (*Seen).definitions},
	{"rights", true, (*Seen).rights},
	{"metallb", true, func(s *Seen) []Line { return append(s.metallb(), s.prefix()...) }},
	{"pools", true, (*Seen).pools},
	{"routes", true, (*Seen).routes},
	{"dns", true, (*Seen).dns},
	{"webhooks", true, (*Seen).webhooks},
	{"operators", true, (*Seen).operators},
	{"guard", false, (*Seen).guard},
	{"reconciler", false, (*Seen).reconciler},
}

func ok(format string, args ...any) Line { return Line{Result: OK, Text: fmt.Sprintf(format, args...)} }

func warning(mend, format string, args ...any) Line {
	return Line{Result: Warning, Text: fmt.Sprintf(format, args...), Mend: mend}
}

func problem(mend, format string, args ...any) Line {
	return Line{Result: Problem, Text: fmt.Sprintf(format, args...), Mend: mend}
}

// unknown returns the line about something that was not read.
func (s *Seen) unknown(u *Unread) Line {
	line := Line{Result: Unknown, Text: u.Message}
	if u.Right != (Right{}) {
		line.Text = "you may not " + u.Right.String()
		line.Mend = s.grants(u.Right)
	}
	return line
}

// list joins names: "a, b and c".
func list(names []string) string {
	if n := len(names); n > 1 {
		return strings.Join(names[:n-1], ", ") + " and " + names[n-1]
	}
	return strings.Join(names, "")
}

// some is list, with at most three of the names.
func some(names []string) string {
	if more := len(names) - 3; more > 0 {
		names = append(slices.Clone(names[:3]), fmt.Sprintf("%d more", more))
	}
	return list(names)
}
