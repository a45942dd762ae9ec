package drawing

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/akash-net/kubectl-akash-net/state/graph"
)

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

// DOT returns a graph in the language of Graphviz.
func DOT(g *graph.Graph) string {
	var out strings.Builder
	out.WriteString("digraph leases {\n  rankdir=LR;\n  node [shape=box, style=rounded, fontname=\"monospace\"];\n")
	names := numbered(g)
	for _, n := range g.Nodes {
		fmt.Fprintf(&out, "  %s [label=\"%s\", color=\"%s\"];\n", names[n.ID], strings.Join(lines(n, dotEscaper.Replace), `\n`), strokeColours[toneOf(n)])
	}
	for _, e := range g.Edges {
		fmt.Fprintf(&out, "  %s -> %s;\n", names[e.From], names[e.To])
	}
	out.WriteString("}\n")
	return out.String()
}

// dotEscaper escapes what a quoted label of DOT would interpret: quotes, escapes, and entities of HTML.
var dotEscaper = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "&", "&amp;")

// numbered returns a name for each node that every format takes, by the node's ID.
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
