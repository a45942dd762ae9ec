package drawing

import (
	"fmt"

	"github.com/mattn/go-runewidth"

	"github.com/akash-net/kubectl-akash-net/plugin/terminal"
	"github.com/akash-net/kubectl-akash-net/state/graph"
)

const (
	// labelCells is how many cells of a name a picture shows; the others are in the tip.
	labelCells = 64
	// messageCells is the width of a message, in cells.
	messageCells = 44
	// layerGap is the room between layers, in which the edges are; nodeGap that between nodes of a layer.
	layerGap = 56.0
	nodeGap  = 12.0
)

// box is a node of a picture.
type box struct {
	graph.Node
	label    string
	messages []string
	// layer is how many edges lead to it at most from a root.
	layer               int
	x, y, width, height float64
}

// SVG returns a graph as a picture: layers from left to right, what belongs together side by side.
func SVG(g *graph.Graph) string {
	l := layout{outline: outlineOf(g), boxes: map[string]*box{}, placed: map[string]bool{}}
	for _, n := range g.Nodes {
		l.boxes[n.ID] = newBox(n)
	}
	for _, root := range l.roots {
		l.descend(root, 0)
	}
	height := margin
	for _, root := range l.roots {
		height = l.place(root, height)
	}
	width := l.columns()
	var p picture
	for _, e := range g.Edges {
		from, to := l.boxes[e.From], l.boxes[e.To]
		x1, y1, x2, y2 := from.x+from.width, from.y+from.height/2, to.x, to.y+to.height/2
		fmt.Fprintf(&p, `<path class="edge" d="M%.1f %.1fC%.1f %.1f %.1f %.1f %.1f %.1f"/>`+"\n", x1, y1, x2-layerGap/2, y1, x2-layerGap/2, y2, x2, y2)
	}
	for _, n := range g.Nodes {
		l.boxes[n.ID].draw(&p)
	}
	return p.document("Leases, and what leads to them", width+margin, height-nodeGap+margin)
}

func newBox(n graph.Node) *box {
	b := &box{Node: n, label: runewidth.Truncate(label(n, false), labelCells, "…")}
	if n.Message != "" {
		b.messages = terminal.Fold(message(n, false), messageCells)
	}
	cells, lines := max(terminal.Cells(b.label), terminal.Cells(n.State)), 1+len(b.messages)
	if n.State != "" {
		lines++
	}
	for i, text := range b.messages {
		b.messages[i] = runewidth.Truncate(text, labelCells, "…")
		cells = max(cells, terminal.Cells(b.messages[i]))
	}
	b.width, b.height = float64(cells)*cellWidth+2*padding, float64(lines)*lineHeight+padding
	return b
}

// layout places boxes.
type layout struct {
	outline
	boxes  map[string]*box
	placed map[string]bool
}

// descend moves a node and what it leads to, to a layer or behind it.
func (l *layout) descend(id string, layer int) {
	b := l.boxes[id]
	b.layer = max(b.layer, layer)
	for _, child := range l.children[id] {
		l.descend(child, b.layer+1)
	}
}

// place places a node in the middle of what it leads to, from a height on. It returns the height from which on there is room. A node that
// several lead to is beside the first of them.
func (l *layout) place(id string, top float64) (below float64) {
	b := l.boxes[id]
	l.placed[id] = true
	below = top
	for _, child := range l.children[id] {
		if !l.placed[child] {
			below = l.place(child, below)
		}
	}
	below = max(below, top+b.height+nodeGap)
	b.y = top + (below-nodeGap-top-b.height)/2
	return below
}

// columns places the layers side by side and returns the width of all.
func (l *layout) columns() float64 {
	var widths []float64
	for _, b := range l.boxes {
		for len(widths) <= b.layer {
			widths = append(widths, 0)
		}
		widths[b.layer] = max(widths[b.layer], b.width)
	}
	at := make([]float64, len(widths)+1)
	at[0] = margin
	for i, w := range widths {
		at[i+1] = at[i] + w + layerGap
	}
	for _, b := range l.boxes {
		b.x = at[b.layer]
	}
	return max(at[len(widths)]-layerGap, margin)
}

// draw draws the node.
func (b *box) draw(p *picture) {
	t := toneOf(b.Node)
	tip := label(b.Node, true)
	if b.Message != "" {
		tip += ": " + message(b.Node, true)
	}
	fmt.Fprintf(p, "<g><title>%s</title>\n", xmlText(tip))
	fmt.Fprintf(p, `<rect class="paper %s" x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="6"/>`+"\n", t, b.x, b.y, b.width, b.height)
	y := b.y + padding/2 + lineHeight*0.75
	p.text(b.x+padding, y, "", b.label)
	if b.State != "" {
		y += lineHeight
		p.text(b.x+padding, y, string(t), b.State)
	}
	for _, text := range b.messages {
		y += lineHeight
		p.text(b.x+padding, y, "soft", text)
	}
	fmt.Fprintln(p, "</g>")
}
