// Package drawing draws graphs and pools in a terminal, and graphs as Mermaid. It escapes every name for its format.
package drawing

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/akash-net/kubectl-akash-net/lease/thing"
	"github.com/akash-net/kubectl-akash-net/plugin/terminal"
	"github.com/akash-net/kubectl-akash-net/state/graph"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// label returns the name of a node with its kind. Wallets are short, as in tables, unless it is whole.
func label(n graph.Node, whole bool) string {
	if !whole {
		n.Name = thing.ShortenLeases(n.Name)
	}
	return terminal.Cell(n.Label())
}

// message returns what is said of a node.
func message(n graph.Node, whole bool) string {
	if whole {
		return terminal.Cell(n.Message)
	}
	return terminal.Cell(thing.ShortenLeases(n.Message))
}

// tone is how a node is coloured.
type tone string

const (
	plain tone = "plain"
	good  tone = "good"
	wait  tone = "wait"
	bad   tone = "bad"
	idle  tone = "idle"
)

// toneOf returns the tone of a node: that of its state, or bad for a Service at which nothing answers.
func toneOf(n graph.Node) tone {
	switch n.State {
	case view.StateActive:
		return good
	case view.StateReserved, view.StateExpired, view.StateWithheld:
		return idle
	case view.StateUnreadable:
		return bad
	case "":
		if n.Kind == graph.Service && n.Message != "" {
			return bad
		}
		return plain
	}
	return wait
}

// outline is a graph as trees.
type outline struct {
	nodes    map[string]graph.Node
	children map[string][]string
	// roots are the nodes to which no edge leads.
	roots []string
}

func outlineOf(g *graph.Graph) outline {
	o := outline{nodes: map[string]graph.Node{}, children: map[string][]string{}}
	led := map[string]bool{}
	for _, e := range g.Edges {
		o.children[e.From], led[e.To] = append(o.children[e.From], e.To), true
	}
	for _, n := range g.Nodes {
		if o.nodes[n.ID] = n; !led[n.ID] {
			o.roots = append(o.roots, n.ID)
		}
	}
	return o
}

// Mermaid returns a graph as a flowchart of Mermaid, which Markdown of GitHub and GitLab shows in a block ```mermaid.
func Mermaid(g *graph.Graph) string {
	var out strings.Builder
	out.WriteString("flowchart LR\n")
	names := numbered(g)
	tones := map[tone][]string{}
	for _, n := range g.Nodes {
		fmt.Fprintf(&out, "  %s[\"%s\"]\n", names[n.ID], strings.Join(lines(n, mermaidText), "<br/>"))
		tones[toneOf(n)] = append(tones[toneOf(n)], names[n.ID])
	}
	for _, e := range g.Edges {
		fmt.Fprintf(&out, "  %s --> %s\n", names[e.From], names[e.To])
	}
	for _, t := range []tone{good, wait, bad, idle} {
		if len(tones[t]) > 0 {
			fmt.Fprintf(&out, "  classDef %s stroke:%s,stroke-width:2px\n  class %s %s\n", t, strokeColours[t], strings.Join(tones[t], ","), t)
		}
	}
	return out.String()
}

// strokeColours are readable on light and on dark ground.
var strokeColours = map[tone]string{good: "#2f9e63", wait: "#c98a1b", bad: "#d9483b", idle: "#6b87c9", plain: "#8a8f98"}

// mermaidText replaces everything but letters, digits and harmless punctuation with Mermaid's codes of characters.
func mermaidText(text string) string {
	var out strings.Builder
	for _, r := range text {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune(" ./:-,…", r) {
			out.WriteRune(r)
		} else {
			fmt.Fprintf(&out, "#%d;", r)
		}
	}
	return out.String()
}

// numbered returns a name for each node that Mermaid takes, by the node's ID.
func numbered(g *graph.Graph) map[string]string {
	names := make(map[string]string, len(g.Nodes))
	for i, n := range g.Nodes {
		names[n.ID] = fmt.Sprint("n", i)
	}
	return names
}

// lines returns the lines of a node's text, escaped: name, state, message.
func lines(n graph.Node, escape func(string) string) []string {
	all := []string{escape(label(n, false))}
	for _, text := range []string{n.State, message(n, false)} {
		if text != "" {
			all = append(all, escape(text))
		}
	}
	return all
}

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
