package drawing

import (
	"fmt"
	"net/netip"

	"github.com/akash-net/kubectl-akash-net/plugin/terminal"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

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
