package printing

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/pmezard/go-difflib/difflib"
	"k8s.io/apimachinery/pkg/util/duration"
	"sigs.k8s.io/yaml"

	"github.com/akash-net/kubectl-akash-net/plan"
	"github.com/akash-net/kubectl-akash-net/plugin/terminal"
)

// Colours is true for a terminal whose user has not asked for none (NO_COLOR, no-color.org).
func Colours(out io.Writer) bool {
	return terminal.IsTerminal(out) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// PlanText is a plan as people read it: a block an object.
func PlanText(p plan.Plan, coloured bool) []byte {
	t := PlanWriter{Coloured: coloured}
	for _, l := range p.Leases {
		if len(p.Leases) > 1 && l.Differs() {
			t.Line(' ', "lease/"+l.Lease)
		}
		for _, c := range l.Changes {
			t.change(c)
		}
		if l.Refused != "" {
			t.Line(' ', "lease/"+l.Lease)
			t.Line('!', "  refused: "+l.Refused)
		}
	}
	return t.Text()
}

// PlanWriter writes the lines of a plan.
type PlanWriter struct {
	out      bytes.Buffer
	Coloured bool
}

// Text is what has been written.
func (t *PlanWriter) Text() []byte { return t.out.Bytes() }

// The colours of lines, by their first character: as git diff has them, and yellow for what is in the way.
var lineColours = map[byte]string{'-': "\x1b[31m", '+': "\x1b[32m", '!': "\x1b[33m"}

// Line writes one line: a mark, and a text in which nothing is left that a terminal would obey.
func (t *PlanWriter) Line(mark byte, text string) {
	colour := lineColours[mark]
	if !t.Coloured {
		colour = ""
	}
	text = string(terminal.Escape([]byte(terminal.OneLine(text, terminal.MaxCell))))
	if mark == ' ' {
		t.out.WriteString(text + "\n")
		return
	}
	t.out.WriteString(colour + string(mark) + " " + text)
	if colour != "" {
		t.out.WriteString("\x1b[0m")
	}
	t.out.WriteByte('\n')
}

func (t *PlanWriter) change(c plan.Change) {
	name := c.Kind + "/" + c.Name
	if c.Namespace != "" {
		name += " in namespace " + c.Namespace
	}
	t.Line(' ', name)
	switch c.Action {
	case plan.Withhold:
		t.Line('!', "  withheld: "+c.Why)
	case plan.Leave:
		t.Line('!', "  not held: "+c.Why)
	case plan.Delete:
		why := ""
		if c.Why != "" {
			why = ": " + c.Why
		}
		t.Line('-', "  deleted"+why)
	case plan.Claim, plan.GiveUp, plan.Create, plan.Update:
		t.Values(c)
	}
}

// Values shows what is changed of a thing or an object; nothing of one that goes or stays as it is.
func (t *PlanWriter) Values(c plan.Change) {
	switch c.Action {
	case plan.Claim, plan.GiveUp:
		t.parts(c)
	case plan.Create:
		t.document('+', c.After)
	case plan.Withhold, plan.Leave, plan.Delete:
	case plan.Update:
		t.fields(c.Fields)
		if len(c.Fields) == 0 {
			t.Line('+', "  no value changes, only which manager owns the fields")
		}
	}
}

// parts shows what of a thing the lease would hold.
func (t *PlanWriter) parts(c plan.Change) {
	text := func(name string, backend any) string {
		if backend == "" {
			return "  " + name
		}
		if c.Kind == "order" { // they lead nowhere
			return fmt.Sprintf("  %s: %s", name, backend)
		}
		return fmt.Sprintf("  %s -> %s", name, backend)
	}
	for _, name := range sortedNames(c.Before) {
		if after, stays := c.After[name]; !stays || after != c.Before[name] {
			t.Line('-', text(name, c.Before[name]))
		}
	}
	for _, name := range sortedNames(c.After) {
		if before, was := c.Before[name]; !was || before != c.After[name] {
			t.Line('+', text(name, c.After[name]))
		}
	}
}

func sortedNames(parts map[string]any) []string {
	names := make([]string, 0, len(parts))
	for name := range parts {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// fields shows each field below the path of what it stands in.
func (t *PlanWriter) fields(fields []plan.Field) {
	last := ""
	for _, f := range fields {
		above, name := f.Path.Split()
		if above != last && above != "" {
			t.Line(' ', "  "+above)
			last = above
		}
		mark := byte('-')
		if f.Conflict {
			mark = '!'
		}
		if before, after := yamlLines(f.Before), yamlLines(f.After); severalLines(f.Before, before) && severalLines(f.After, after) {
			t.Line(' ', "    "+name+":"+owners(f))
			t.lines(mark, before, after)
			continue
		}
		if f.Before != nil {
			t.value(mark, name, f.Before, owners(f))
		}
		if f.After != nil {
			t.value('+', name, f.After, "")
		}
	}
}

// linesAround is how many lines that do not change are shown before and after those that do.
const linesAround = 2

// lines shows which lines of a value change.
func (t *PlanWriter) lines(mark byte, before, after []string) {
	for i, group := range difflib.NewMatcher(before, after).GetGroupedOpCodes(linesAround) {
		if i > 0 || group[0].I1 > 0 {
			t.Line(' ', "        …")
		}
		for _, op := range group {
			if op.Tag == 'e' {
				for _, line := range before[op.I1:op.I2] {
					t.Line(' ', "        "+line)
				}
				continue
			}
			for _, line := range before[op.I1:op.I2] {
				t.Line(mark, "      "+line)
			}
			for _, line := range after[op.J1:op.J2] {
				t.Line('+', "      "+line)
			}
		}
	}
}

// owners says who owns the value that is there.
func owners(f plan.Field) string {
	var out []string
	for _, o := range f.Owners {
		since := ""
		if f.Conflict && !o.Since.IsZero() {
			since = " since " + duration.HumanDuration(time.Since(o.Since))
		}
		out = append(out, o.Manager+since)
	}
	if len(out) == 0 {
		return ""
	}
	if f.Conflict {
		return "   owned by " + strings.Join(out, ", ")
	}
	return "   (" + strings.Join(out, ", ") + ")"
}

// value shows the value of a field; one of several lines stands below its name.
func (t *PlanWriter) value(mark byte, name string, value any, more string) {
	lines := yamlLines(value)
	if !severalLines(value, lines) {
		t.Line(mark, "    "+name+": "+lines[0]+more)
		return
	}
	t.Line(mark, "    "+name+":"+more)
	for _, line := range lines {
		t.Line(mark, "      "+line)
	}
}

// severalLines is true for a value that stands below its name.
func severalLines(value any, lines []string) bool {
	list, _ := value.([]any)
	return len(lines) > 1 || len(list) > 0
}

// document shows a whole object.
func (t *PlanWriter) document(mark byte, object map[string]any) {
	for _, line := range yamlLines(object) {
		t.Line(mark, "  "+line)
	}
}

func yamlLines(value any) []string {
	text, err := yaml.Marshal(value)
	if err != nil {
		return []string{fmt.Sprint(value)}
	}
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}
