package printing

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/akash-net/kubectl-akash-net/engine/plan"
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease/document"
	"github.com/akash-net/kubectl-akash-net/lease/thing"
	"github.com/akash-net/kubectl-akash-net/plugin/terminal"
)

// Actions are the actions that an apply reports for each planned action, the most common one first.
var Actions = map[plan.Action][]report.Action{
	plan.Claim: {report.Claimed}, plan.Withhold: {report.Withheld}, plan.Leave: {report.Kept}, plan.Create: {report.Created},
	plan.Update: {report.Configured}, plan.Delete: {report.Pruned, report.Replaced, report.Deleted}, plan.GiveUp: {report.Pruned},
}

// OnlyHash says of an object that only the hash of its definition changes.
const OnlyHash = "only the definition's hash changes"

// PlanText returns a plan as text, with a block for each object, and the numbers of the changes at the end.
func PlanText(p plan.Plan, coloured bool) []byte {
	t := PlanWriter{Coloured: coloured}
	var tally report.Tally
	for _, l := range p.Leases {
		if len(p.Leases) > 1 && l.Differs() || l.Refused != "" {
			t.Line(' ', "lease/"+l.Lease)
		}
		for _, c := range l.Changes {
			t.change(c)
			tally.Add(Actions[c.Action][0], c.Kind)
		}
		if l.Refused != "" {
			t.Line('!', "  refused: "+l.Refused)
			tally.Add(report.Failed, "lease")
		}
	}
	t.Tally(&tally)
	return t.Text()
}

// PlanNames returns the names of what a plan changes, each once, and "lease/…" for a lease that would be refused.
func PlanNames(p plan.Plan) []byte {
	t, seen := PlanWriter{}, map[string]bool{}
	for _, l := range p.Leases {
		for _, c := range l.Changes {
			if !seen[c.ID()] {
				t.Line(' ', thing.Print(c.Kind, c.Name))
			}
			seen[c.ID()] = true
		}
		if l.Refused != "" {
			t.Line(' ', "lease/"+l.Lease)
		}
	}
	return t.Text()
}

// Tally writes a tally as the last line, unless it is empty.
func (t *PlanWriter) Tally(tally *report.Tally) {
	if text := tally.String(); text != "" {
		t.Line(' ', text)
	}
}

// PlanWriter writes the text of a plan.
type PlanWriter struct {
	out      bytes.Buffer
	Coloured bool
}

// Text returns the written text.
func (t *PlanWriter) Text() []byte { return t.out.Bytes() }

// lineColours are the colours of lines by mark: those of "git diff", and yellow for conflicts.
var lineColours = map[byte]string{'-': "\x1b[31m", '+': "\x1b[32m", '!': "\x1b[33m"}

// Line writes a mark and a text as one line. It escapes everything that a terminal would interpret.
func (t *PlanWriter) Line(mark byte, text string) {
	colour := lineColours[mark]
	if !t.Coloured {
		colour = ""
	}
	text = terminal.Cell(text)
	if mark != ' ' {
		text = colour + string(mark) + " " + text
	}
	if colour != "" {
		text += "\x1b[0m"
	}
	t.out.WriteString(text + "\n")
}

func (t *PlanWriter) change(c plan.Change) {
	name := c.Kind + "/" + c.Name
	if c.Namespace != "" {
		name += " in namespace " + c.Namespace
	}
	if c.OnlyHash() {
		name += ": " + OnlyHash
	}
	t.Line(' ', name)
	switch c.Action {
	case plan.Withhold:
		t.Line('!', "  withheld: "+c.Why)
	case plan.Leave:
		if c.Namespace != "" { // an object, not a thing
			t.Line('!', "  kept: "+c.Why)
			return
		}
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

// Values writes the changed parts of a thing or fields of an object. It writes nothing for one that is deleted or stays.
func (t *PlanWriter) Values(c plan.Change) {
	switch c.Action {
	case plan.Claim, plan.GiveUp:
		t.parts(c)
	case plan.Create:
		for _, line := range yamlLines(c.After) {
			t.Line('+', "  "+line)
		}
	case plan.Withhold, plan.Leave, plan.Delete:
	case plan.Update:
		t.fields(c.Telling())
		if len(c.Fields) == 0 {
			t.Line('+', "  no value changes, only which manager owns the fields")
		}
	}
}

// parts writes the changed parts of a claimed thing with their backends, or those of an order with their amounts.
func (t *PlanWriter) parts(c plan.Change) {
	text := func(name string, value any) string {
		switch {
		case value == "":
			return "  " + name
		case c.Kind == string(thing.Order):
			return fmt.Sprintf("  %s: %s", name, value)
		}
		return fmt.Sprintf("  %s -> %s", name, value)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Before)) {
		if after, stays := c.After[name]; !stays || after != c.Before[name] {
			t.Line('-', text(name, c.Before[name]))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.After)) {
		if before, existed := c.Before[name]; !existed || before != c.After[name] {
			t.Line('+', text(name, c.After[name]))
		}
	}
}

// fields writes each changed field below the path of its parent.
func (t *PlanWriter) fields(fields []plan.Field) {
	last := ""
	for _, f := range fields {
		parent, name := f.Path.Split()
		if parent != last && parent != "" {
			t.Line(' ', "  "+parent)
			last = parent
		}
		mark := byte('-')
		if f.Conflict {
			mark = '!'
		}
		if before, after := yamlLines(f.Before), yamlLines(f.After); isBlock(f.Before, before) && isBlock(f.After, after) {
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

// contextLines is the number of unchanged lines before and after changed ones.
const contextLines = 2

// lines writes the changed lines of a value. mark is for removed lines.
func (t *PlanWriter) lines(mark byte, before, after []string) {
	write := func(mark byte, indent string, lines []string) {
		for _, line := range lines {
			t.Line(mark, indent+line)
		}
	}
	const same, cut = "        ", "        …"
	runs := plan.Lines(before, after)
	for i, run := range runs {
		first, last, n := i == 0, i == len(runs)-1, len(run.Before)
		switch {
		case !run.Same:
			write(mark, "      ", run.Before)
			write('+', "      ", run.After)
		case first && last: // nothing has changed
		case first && n > contextLines:
			t.Line(' ', cut)
			write(' ', same, run.Before[n-contextLines:])
		case last && n > contextLines:
			write(' ', same, run.Before[:contextLines])
		case !first && !last && n > 2*contextLines:
			write(' ', same, run.Before[:contextLines])
			t.Line(' ', cut)
			write(' ', same, run.Before[n-contextLines:])
		default:
			write(' ', same, run.Before)
		}
	}
}

// owners returns the field managers of the current value and, in a conflict, since when they own it.
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

// value writes a field with its value and a remark.
func (t *PlanWriter) value(mark byte, name string, value any, remark string) {
	lines := yamlLines(value)
	if !isBlock(value, lines) {
		t.Line(mark, "    "+name+": "+lines[0]+remark)
		return
	}
	t.Line(mark, "    "+name+":"+remark)
	for _, line := range lines {
		t.Line(mark, "      "+line)
	}
}

// isBlock reports whether a value is printed below its name: it has several lines or is a list.
func isBlock(value any, lines []string) bool {
	list, _ := value.([]any)
	return len(lines) > 1 || len(list) > 0
}

func yamlLines(value any) []string {
	text, err := document.Marshal(value)
	if err != nil {
		return []string{fmt.Sprint(value)}
	}
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}
