package plugin

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
)

// colours is true for a terminal whose user has not asked for none (NO_COLOR, no-color.org).
func colours(out io.Writer) bool {
	return isTerminal(out) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// planText is a plan as people read it: a block an object.
func planText(p plan.Plan, coloured bool) []byte {
	t := planWriter{coloured: coloured}
	for _, l := range p.Leases {
		if len(p.Leases) > 1 && l.Differs() {
			t.line(' ', "lease/"+l.Lease)
		}
		for _, c := range l.Changes {
			t.change(c)
		}
		if l.Refused != "" {
			t.line(' ', "lease/"+l.Lease)
			t.line('!', "  refused: "+l.Refused)
		}
	}
	return t.out.Bytes()
}

// planWriter writes the lines of a plan.
type planWriter struct {
	out      bytes.Buffer
	coloured bool
}

// The colours of lines, by their first character: as git diff has them, and yellow for what is in the way.
var lineColours = map[byte]string{'-': "\x1b[31m", '+': "\x1b[32m", '!': "\x1b[33m"}

// line writes one line: a mark, and a text in which nothing is left that a terminal would obey.
func (t *planWriter) line(mark byte, text string) {
	colour := lineColours[mark]
	if !t.coloured {
		colour = ""
	}
	text = string(visible([]byte(oneLine(text, maxCell))))
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

func (t *planWriter) change(c plan.Change) {
	name := c.Kind + "/" + c.Name
	if c.Namespace != "" {
		name += " in namespace " + c.Namespace
	}
	t.line(' ', name)
	switch c.Action {
	case plan.Withhold:
		t.line('!', "  withheld: "+c.Why)
	case plan.Leave:
		t.line('!', "  not held: "+c.Why)
	case plan.Delete:
		why := ""
		if c.Why != "" {
			why = ": " + c.Why
		}
		t.line('-', "  deleted"+why)
	case plan.Claim, plan.GiveUp, plan.Create, plan.Update:
		t.values(c)
	}
}

// values shows what is changed of a thing or an object; nothing of one that goes or stays as it is.
func (t *planWriter) values(c plan.Change) {
	switch c.Action {
	case plan.Claim, plan.GiveUp:
		t.parts(c)
	case plan.Create:
		t.document('+', c.After)
	case plan.Withhold, plan.Leave, plan.Delete:
	case plan.Update:
		t.fields(c.Fields)
		if len(c.Fields) == 0 {
			t.line('+', "  no value changes, only which manager owns the fields")
		}
	}
}

// parts shows what of a thing the lease would hold.
func (t *planWriter) parts(c plan.Change) {
	text := func(name string, backend any) string {
		if backend == "" {
			return "  " + name
		}
		return fmt.Sprintf("  %s -> %s", name, backend)
	}
	for _, name := range sortedNames(c.Before) {
		if after, stays := c.After[name]; !stays || after != c.Before[name] {
			t.line('-', text(name, c.Before[name]))
		}
	}
	for _, name := range sortedNames(c.After) {
		if before, was := c.Before[name]; !was || before != c.After[name] {
			t.line('+', text(name, c.After[name]))
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
func (t *planWriter) fields(fields []plan.Field) {
	last := ""
	for _, f := range fields {
		above, name := f.Path.Split()
		if above != last && above != "" {
			t.line(' ', "  "+above)
			last = above
		}
		mark := byte('-')
		if f.Conflict {
			mark = '!'
		}
		if before, after := yamlLines(f.Before), yamlLines(f.After); severalLines(f.Before, before) && severalLines(f.After, after) {
			t.line(' ', "    "+name+":"+owners(f))
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
func (t *planWriter) lines(mark byte, before, after []string) {
	for i, group := range difflib.NewMatcher(before, after).GetGroupedOpCodes(linesAround) {
		if i > 0 || group[0].I1 > 0 {
			t.line(' ', "        …")
		}
		for _, op := range group {
			if op.Tag == 'e' {
				for _, line := range before[op.I1:op.I2] {
					t.line(' ', "        "+line)
				}
				continue
			}
			for _, line := range before[op.I1:op.I2] {
				t.line(mark, "      "+line)
			}
			for _, line := range after[op.J1:op.J2] {
				t.line('+', "      "+line)
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
func (t *planWriter) value(mark byte, name string, value any, more string) {
	lines := yamlLines(value)
	if !severalLines(value, lines) {
		t.line(mark, "    "+name+": "+lines[0]+more)
		return
	}
	t.line(mark, "    "+name+":"+more)
	for _, line := range lines {
		t.line(mark, "      "+line)
	}
}

// severalLines is true for a value that stands below its name.
func severalLines(value any, lines []string) bool {
	list, _ := value.([]any)
	return len(lines) > 1 || len(list) > 0
}

// document shows a whole object.
func (t *planWriter) document(mark byte, object map[string]any) {
	for _, line := range yamlLines(object) {
		t.line(mark, "  "+line)
	}
}

func yamlLines(value any) []string {
	text, err := yaml.Marshal(value)
	if err != nil {
		return []string{fmt.Sprint(value)}
	}
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}
