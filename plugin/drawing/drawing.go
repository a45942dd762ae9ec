// Package drawing draws graphs and pools in a terminal, and graphs as Mermaid. It escapes every name for its format.
package drawing

import (
	"cmp"
	"fmt"
	"net/netip"
	"strings"
	"unicode"

	"github.com/akash-net/kubectl-akash-net/lease/config"
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

// HeatMap is how the addresses of pools are drawn in a terminal: a cell for each address, or for each block if there are too many.
type HeatMap struct {
	// Width is the number of columns of the terminal; 0 stands for 80.
	Width int
	// Plain draws with ASCII characters, Color also with colours.
	Plain, Color bool
}

// mostBlocks is how many cells the map of a pool has at most, for each family of addresses.
const mostBlocks = 256

// useMark is how a use is drawn: as a character, with ASCII, in a colour; and what it is called.
type useMark struct{ fine, plain, colour, name string }

var useMarks = map[view.AddressUse]useMark{
	view.UseFree:      {"□", ".", "\x1b[90m", "free"},
	view.UseNode:      {"●", "n", "\x1b[36m", "of nodes"},
	view.UseUsed:      {"■", "#", "\x1b[32m", "used"},
	view.UseHeld:      {"▣", "h", "\x1b[34m", "held"},
	view.UsePending:   {"◧", "p", "\x1b[33m", "pending"},
	view.UseUnclaimed: {"◆", "!", "\x1b[31m", "in use without a claim"},
}

// shades are how a block of used addresses is drawn, by how much of it is in use.
var shades = [...]struct{ fine, plain string }{{"░", "-"}, {"▒", "+"}, {"▓", "*"}, {"█", "#"}}

// noted are the uses in the order in which they are counted.
var noted = []view.AddressUse{view.UseUsed, view.UseHeld, view.UsePending, view.UseUnclaimed, view.UseNode}

// poolTitle returns the ranges of a pool, and its name if it is an administrator's and says more.
func poolTitle(r *view.PoolRow) string {
	ranges := strings.Join(r.Ranges, ", ")
	only, err := config.ParseRange(ranges)
	if r.Mode == config.ModePool && (err != nil || r.Name != only.PoolName()) {
		return terminal.Cell(r.Name + ": " + ranges)
	}
	return terminal.Cell(ranges)
}

// freeText counts the free addresses of a pool, and those that MetalLB counts without saying which they are.
func freeText(r *view.PoolRow, maps []view.PoolMap) (free, others string) {
	placed := int64(0)
	for _, m := range maps {
		for _, n := range m.Counts {
			placed += int64(n)
		}
	}
	if n := r.Used - placed; n > 0 {
		others = fmt.Sprintf("%d in use by others, not shown", n)
	}
	return view.CountText(r.Free) + " free", others
}

// scale says what the cells of a map are, unless they are addresses.
func scale(m *view.PoolMap) string {
	if m.Single {
		return ""
	}
	text := fmt.Sprintf("one cell is a block of /%d", m.Bits)
	if m.OnlyUsed {
		text += "; only blocks in use are shown"
	}
	return text
}

// Draw returns the maps of pools, a paragraph for each pool. rows are the addresses of the book.
func (h HeatMap) Draw(pools []view.PoolRow, rows []view.IPRow) string {
	users := view.Users(rows)
	var out strings.Builder
	for i := range pools {
		if i > 0 {
			out.WriteString("\n")
		}
		h.pool(&out, &pools[i], users)
	}
	return out.String()
}

func (h HeatMap) pool(out *strings.Builder, r *view.PoolRow, users map[netip.Addr]*view.IPRow) {
	width := cmp.Or(h.Width, 80)
	text := func(indent, s string) {
		for _, line := range terminal.Fold(s, max(width-len(indent), 1)) {
			out.WriteString(indent + line + "\n")
		}
	}
	text("", poolTitle(r))
	maps := r.Maps(users, mostBlocks)
	counts := map[view.AddressUse]int{}
	for i := range maps {
		m := &maps[i]
		h.blocks(out, m, width)
		if s := scale(m); s != "" {
			text("  ", s)
		}
		for u, n := range m.Counts {
			counts[view.AddressUse(u)] += n
		}
	}
	free, others := freeText(r, maps)
	var legend []entry
	for _, u := range noted {
		if counts[u] > 0 {
			legend = append(legend, entry{h.mark(u) + " ", fmt.Sprintf("%d %s", counts[u], useMarks[u].name)})
		}
	}
	if h.Plain {
		free = asciiCounts.Replace(free)
	}
	legend = append(legend, entry{h.mark(view.UseFree) + " ", free})
	if others != "" {
		legend = append(legend, entry{"", others})
	}
	h.legend(out, legend, width)
}

// asciiCounts writes the counts of view.CountText with ASCII.
var asciiCounts = strings.NewReplacer("≥", ">=", "≈", "~")

// entry is an entry of a legend: its mark, which has a colour and takes two cells with the space behind it, or is empty; and its text.
type entry struct{ mark, text string }

// legend writes the entries in lines, between which they are not broken.
func (h HeatMap) legend(out *strings.Builder, entries []entry, width int) {
	line, used := "", 0
	for _, e := range entries {
		n := terminal.Cells(e.text)
		if e.mark != "" {
			n += 2
		}
		if used > 0 && used+2+n > width-2 {
			out.WriteString("  " + line + "\n")
			line, used = "", 0
		}
		if used > 0 {
			line, used = line+"  ", used+2
		}
		line, used = line+e.mark+e.text, used+n
	}
	out.WriteString("  " + line + "\n")
}

// blocks writes the cells in lines, each of which begins with its first address.
func (h HeatMap) blocks(out *strings.Builder, m *view.PoolMap, width int) {
	names := 0
	for i := range m.Blocks {
		names = max(names, len(m.Blocks[i].Addr().String()))
	}
	perLine := 64
	for perLine > 8 && 2+names+2+perLine > width {
		perLine /= 2
	}
	for i := 0; i < len(m.Blocks); i += perLine {
		line := m.Blocks[i:min(i+perLine, len(m.Blocks))]
		fmt.Fprintf(out, "  %-*s  ", names, line[0].Addr())
		for j := range line {
			out.WriteString(h.cell(&line[j], m.Single))
		}
		out.WriteString("\n")
	}
}

// cell returns the cell of a block: its most notable use, or how much of it is used.
func (h HeatMap) cell(b *view.Block, single bool) string {
	use := b.Use()
	if use != view.UseUsed || single {
		return h.mark(use)
	}
	shade := shades[b.Level(len(shades))-1]
	return h.paint(use, shade.fine, shade.plain)
}

func (h HeatMap) mark(u view.AddressUse) string {
	return h.paint(u, useMarks[u].fine, useMarks[u].plain)
}

func (h HeatMap) paint(u view.AddressUse, fine, plain string) string {
	if h.Plain {
		fine = plain
	}
	if h.Color {
		return useMarks[u].colour + fine + "\x1b[0m"
	}
	return fine
}
