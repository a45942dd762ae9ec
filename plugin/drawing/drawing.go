// Package drawing draws graphs and pools: in a terminal, and as text that other programs draw. It escapes every name for its format.
package drawing

import (
	"github.com/akash-net/kubectl-akash-net/lease/thing"
	"github.com/akash-net/kubectl-akash-net/plugin/terminal"
	"github.com/akash-net/kubectl-akash-net/state/graph"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// oneLine returns a text in one line, without what a terminal would interpret.
func oneLine(text string) string {
	return string(terminal.Escape([]byte(terminal.OneLine(text, terminal.MaxCell))))
}

// label returns the name of a node with its kind. Wallets are short, as in tables, unless it is whole.
func label(n graph.Node, whole bool) string {
	if !whole {
		n.Name = thing.ShortenLeases(n.Name)
	}
	return oneLine(n.Label())
}

// message returns what is said of a node.
func message(n graph.Node, whole bool) string {
	if whole {
		return oneLine(n.Message)
	}
	return oneLine(thing.ShortenLeases(n.Message))
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
