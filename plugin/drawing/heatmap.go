package drawing

import (
	"cmp"
	"fmt"
	"net/netip"
	"strings"

	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/plugin/terminal"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

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
