package drawing

import (
	"strings"

	"github.com/akash-net/kubectl-akash-net/plugin/terminal"
	"github.com/akash-net/kubectl-akash-net/state/graph"
)

// Tree is how a graph is drawn as trees: what several nodes lead to is below each of them.
type Tree struct {
	// Width is the number of columns of the terminal; 0 folds nothing.
	Width int
	// Plain draws the lines with ASCII characters.
	Plain bool
	// Whole prints wallets in full.
	Whole bool
}

// strokes are the lines of a tree: before a node, before the last one of its siblings, and below these.
type strokes struct{ branch, last, pass, gap string }

var (
	fineStrokes  = strokes{"├─", "└─", "│ ", "  "}
	plainStrokes = strokes{"|-", "`-", "| ", "  "}
)

// treeLine is the line of a node.
type treeLine struct {
	// text is the name behind the strokes. below are the strokes of further lines.
	text, below    string
	state, message string
}

// gap is the room between columns.
const gap = 3

// Draw returns the trees. State and message are beside the names where they fit, else below.
func (t Tree) Draw(g *graph.Graph) string {
	o := outlineOf(g)
	var lines []treeLine
	for _, root := range o.roots {
		t.add(&lines, o, root, "", "")
	}
	names, states := 0, 0
	for _, l := range lines {
		names, states = max(names, terminal.Cells(l.text)), max(states, terminal.Cells(l.state))
	}
	aligned := t.Width <= 0 || names+gap+states <= t.Width
	var out strings.Builder
	for _, l := range lines {
		t.line(&out, l, aligned, names, states)
	}
	return out.String()
}

// add adds a node and what is below it. first stands before its name, rest before everything below.
func (t Tree) add(lines *[]treeLine, o outline, id, first, rest string) {
	s := fineStrokes
	if t.Plain {
		s = plainStrokes
	}
	n, children := o.nodes[id], o.children[id]
	l := treeLine{text: first + label(n, t.Whole), below: rest + s.gap, state: n.State, message: message(n, t.Whole)}
	if len(children) > 0 {
		l.below = rest + s.pass
	}
	*lines = append(*lines, l)
	for i, child := range children {
		if i == len(children)-1 {
			t.add(lines, o, child, rest+s.last, rest+s.gap)
		} else {
			t.add(lines, o, child, rest+s.branch, rest+s.pass)
		}
	}
}

// line writes a node.
func (t Tree) line(out *strings.Builder, l treeLine, aligned bool, names, states int) {
	text, message := l.text, l.message
	fits := func(more string, to int) bool { return t.Width <= 0 || to+gap+terminal.Cells(more) <= t.Width }
	beside := func(more string, to int) {
		if more != "" {
			text += strings.Repeat(" ", to+gap-terminal.Cells(text)) + more
		}
	}
	var below []string
	switch at := terminal.Cells(text); {
	case aligned:
		beside(l.state, names)
	case fits(l.state, at):
		beside(l.state, at)
	case l.state != "":
		below = append(below, l.state)
	}
	if aligned && fits(message, names+gap+states) {
		beside(message, names+gap+states)
		message = ""
	}
	out.WriteString(strings.TrimRight(text, " ") + "\n")
	if message != "" {
		below = append(below, terminal.Fold(message, max(t.Width-terminal.Cells(l.below), 1))...)
	}
	for _, line := range below {
		out.WriteString(l.below + line + "\n")
	}
}
