package drawing

import (
	"encoding/xml"
	"fmt"
	"net/netip"
	"strings"

	"github.com/mattn/go-runewidth"

	"github.com/akash-net/kubectl-akash-net/plugin/terminal"
	"github.com/akash-net/kubectl-akash-net/state/graph"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// Measures of a picture, in pixels. Texts are stretched to whole cells, so that the font does not matter.
const (
	cellWidth  = 7.8
	lineHeight = 18.0
	padding    = 10.0
	margin     = 20.0
)

// style has the colours of a picture, on light and on dark ground.
const style = `
svg { font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace; }
.ground { fill: #f6f6f4; } .paper { fill: #fff; } .edge { fill: none; stroke: #a9a8a2; stroke-width: 1.5; }
text { fill: #1c1d1f; white-space: pre; } text.soft { fill: #5f6368; }
text.good, text.wait, text.bad, text.idle { font-weight: 600; }
rect.plain { stroke: #b9b8b2; } rect.good { stroke: #1a7f4b; } rect.wait { stroke: #95620a; } rect.bad { stroke: #c0281c; } rect.idle { stroke: #3f62ad; }
text.good { fill: #1a7f4b; } text.wait { fill: #95620a; } text.bad { fill: #c0281c; } text.idle { fill: #3f62ad; }
@media (prefers-color-scheme: dark) {
  .ground { fill: #101214; } .paper { fill: #181b1f; } .edge { stroke: #5a616b; }
  text { fill: #e8e9ea; } text.soft { fill: #a2a8b0; }
  rect.plain { stroke: #4a515b; } rect.good { stroke: #4cc38a; } rect.wait { stroke: #eab04d; } rect.bad { stroke: #ff7b6e; } rect.idle { stroke: #8fb0f0; }
  text.good { fill: #4cc38a; } text.wait { fill: #eab04d; } text.bad { fill: #ff7b6e; } text.idle { fill: #8fb0f0; }
}
`

// picture collects the elements of an SVG document.
type picture struct {
	strings.Builder
	// styles are added to style.
	styles string
}

// document returns the document, of a size in pixels. title is what a screen reader says of it.
func (p *picture) document(title string, width, height float64) string {
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%.0f" viewBox="0 0 %.0f %.0f" role="img">
<title>%s</title>
<style>%s</style>
<rect class="ground" width="100%%" height="100%%"/>
%s</svg>
`, width, height, width, height, xmlText(title), style+p.styles, p.String())
}

// text adds a text whose left end and base line are at a place.
func (p *picture) text(x, y float64, class, text string) {
	if n := terminal.Cells(text); n > 0 {
		fmt.Fprintf(p, `<text x="%.1f" y="%.1f" class="%s" textLength="%.1f" lengthAdjust="spacingAndGlyphs">%s</text>`+"\n",
			x, y, class, float64(n)*cellWidth, xmlText(text))
	}
}

// xmlText escapes a text for an element or an attribute.
func xmlText(text string) string {
	var out strings.Builder
	_ = xml.EscapeText(&out, []byte(text)) // a Builder has no errors
	return out.String()
}

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

const (
	// square is the distance from one cell of a map to the next, and squaresPerLine how many are side by side.
	square         = 20.0
	squaresPerLine = 32
)

// poolStyle colours the cells. Marks distinguish the uses without colours: a filled cell is used, one with a smaller square held, a half
// one pending, one with a rhombus in use without a claim, one with a circle of a node.
const poolStyle = `
.free { fill: none; stroke: #b9b8b2; } .used { fill: #1a7f4b; } .held { fill: #3f62ad; } .pending { fill: #c98a1b; } .unclaimed { fill: #c0281c; } .node { fill: #5f6368; }
@media (prefers-color-scheme: dark) {
  .free { stroke: #4a515b; } .used { fill: #4cc38a; } .held { fill: #8fb0f0; } .pending { fill: #eab04d; } .unclaimed { fill: #ff7b6e; } .node { fill: #a2a8b0; }
}
`

// PoolsSVG returns the maps of pools as a picture. rows are the addresses of the book.
func PoolsSVG(pools []view.PoolRow, rows []view.IPRow) string {
	users := view.Users(rows)
	p := picture{styles: poolStyle}
	width, y := 2*margin+squaresPerLine*square, margin
	line := func(class, text string) {
		y += lineHeight
		p.text(margin, y-5, class, text)
		width = max(width, 2*margin+float64(terminal.Cells(text))*cellWidth)
	}
	for i := range pools {
		r := &pools[i]
		line("", poolTitle(r))
		maps := r.Maps(users, mostBlocks)
		counts := map[view.AddressUse]int{}
		for _, m := range maps {
			for j := range m.Blocks {
				p.block(margin+float64(j%squaresPerLine)*square, y+float64(j/squaresPerLine)*square, &m.Blocks[j], users)
			}
			y += float64((len(m.Blocks)+squaresPerLine-1)/squaresPerLine) * square
			if s := scale(&m); s != "" {
				line("soft", s)
			}
			for u, n := range m.Counts {
				counts[view.AddressUse(u)] += n
			}
		}
		y += 4
		free, others := freeText(r, maps)
		x := margin
		entry := func(u view.AddressUse, text string) {
			p.mark(x, y, u, 1)
			p.text(x+square, y+12, "soft", text)
			x += square + float64(terminal.Cells(text)+2)*cellWidth
		}
		for _, u := range noted {
			if counts[u] > 0 {
				entry(u, fmt.Sprint(counts[u], " ", useMarks[u].name))
			}
		}
		entry(view.UseFree, free)
		p.text(x, y+12, "soft", others)
		width = max(width, x+float64(terminal.Cells(others))*cellWidth+margin)
		y += square + lineHeight
	}
	return p.document("Addresses of pools", width, max(y-lineHeight, 0)+margin)
}

// block draws the cell of a block, with a tip.
func (p *picture) block(x, y float64, b *view.Block, users map[netip.Addr]*view.IPRow) {
	tip := fmt.Sprintf("%s: %d in use", b, b.InUse())
	if b.IsSingleIP() {
		tip = b.Addr().String() + ": " + useMarks[b.Use()].name
		if r := users[b.Addr()]; r != nil && r.Tenant != nil && r.Lease != "" {
			tip += " by " + r.ID().Group().String()
		}
	}
	fmt.Fprintf(p, "<g><title>%s</title>", xmlText(oneLine(tip)))
	p.mark(x, y, b.Use(), float64(b.Level(len(shades)))/float64(len(shades)))
	fmt.Fprintln(p, "</g>")
}

// mark draws a use, of which a part is filled if it is of a block that is used in part.
func (p *picture) mark(x, y float64, u view.AddressUse, part float64) {
	const side = square - 4
	fmt.Fprintf(p, `<rect class="free" x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="3"/>`, x, y, side, side)
	shape := ""
	switch u {
	case view.UseFree:
		return
	case view.UseUsed:
		shape = fmt.Sprintf(`<rect class="used" x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="3"/>`, x, y+side*(1-part), side, side*part)
	case view.UseHeld:
		shape = fmt.Sprintf(`<rect class="held" x="%.1f" y="%.1f" width="%.1f" height="%.1f"/>`, x+4, y+4, side-8, side-8)
	case view.UsePending:
		shape = fmt.Sprintf(`<rect class="pending" x="%.1f" y="%.1f" width="%.1f" height="%.1f"/>`, x, y, side/2, side)
	case view.UseUnclaimed:
		shape = fmt.Sprintf(`<path class="unclaimed" d="M%.1f %.1fl%[3]g %[3]gl-%[3]g %[3]gl-%[3]g -%[3]gz"/>`, x+side/2, y, side/2)
	case view.UseNode:
		shape = fmt.Sprintf(`<circle class="node" cx="%.1f" cy="%.1f" r="%.1f"/>`, x+side/2, y+side/2, side/2-2)
	}
	fmt.Fprint(p, shape)
}
