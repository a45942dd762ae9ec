package page

import (
	"encoding/binary"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"go4.org/netipx"

	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

const (
	// maxCells is how many cells the map of a pool has at most, for each family of addresses.
	maxCells = 256
	// manyAddresses is from how many addresses on the map shows only the blocks that are in use. Nobody fills more.
	manyAddresses = 1 << 24
)

// PoolRow is a pool of addresses with its map.
type PoolRow struct {
	ID, Name, Ranges, Mode string
	Addresses, Used, Free  string
	// Full is how much of it is used, in percent, rounded up.
	Full  int
	Cells []Cell
	// Scale says what a cell is.
	Scale string
}

// Cell is an address or a block of addresses of a pool. Tone is its colour: free, node, h1 to h5 for a block by how much of it is used,
// or the state of the address in lower case.
type Cell struct{ Text, Tone, Link string }

func poolRow(r *view.PoolRow, by map[netip.Addr]*view.IPRow) PoolRow {
	out := PoolRow{
		ID: "pool/" + r.Name, Name: r.Name, Ranges: strings.Join(r.Ranges, ", "), Mode: r.Mode,
		Addresses: countText(r.Addresses), Used: countText(r.Used), Free: countText(r.Free),
	}
	if r.Addresses > 0 {
		out.Full = int(math.Ceil(float64(min(r.Used, r.Addresses)) / float64(r.Addresses) * 100))
	}
	var scales []string
	var placed int64
	for _, family := range []config.Family{config.IPv4, config.IPv6} {
		pieces := slices.DeleteFunc(slices.Clone(r.Pieces), func(p config.Range) bool { return config.FamilyOf(p.First) != family })
		slices.SortFunc(pieces, func(a, b config.Range) int { return a.First.Compare(b.First) })
		m := addressMap{pieces: pieces, nodes: r.Nodes, by: by}
		if len(pieces) > 0 {
			cells, scale := m.cells()
			placed += int64(len(m.used()))
			out.Cells, scales = append(out.Cells, cells...), append(scales, scale)
		}
	}
	if others := r.Used - placed; others > 0 { // MetalLB counts them, and does not say which they are
		scales = append(scales, countText(others)+" more are in use by others, and not shown")
	}
	out.Scale = strings.Join(slices.Compact(scales), "; ")
	return out
}

// countless is how many addresses are too many to count: those of a large range of IPv6.
const countless = 1 << 32

// countText writes how many addresses there are.
func countText(n int64) string {
	if n >= countless {
		return "countless"
	}
	return number(int(n))
}

// freeText says how many addresses of all pools are free, without those that nobody counts.
func freeText(pools []view.PoolRow) (free, detail string) {
	var left, all int64
	more := ""
	for _, p := range pools {
		if p.Addresses >= countless {
			more = "countless IPv6"
		} else {
			left, all = left+p.Free, all+p.Addresses
		}
	}
	switch {
	case len(pools) == 0:
		return "–", "no pools"
	case all == 0 && more != "":
		return "∞", more
	case more != "":
		more = ", and " + more
	}
	return countText(left), "of " + countText(all) + more
}

// addressMap are the addresses of a pool of one family, and who uses them.
type addressMap struct {
	pieces []config.Range
	nodes  []netip.Addr
	by     map[netip.Addr]*view.IPRow
}

// cells returns a cell for each address, or for each block if there are too many. Of very many blocks it shows those in use.
func (m *addressMap) cells() (cells []Cell, scale string) {
	total, width := m.total(), m.pieces[0].First.BitLen()
	if total <= maxCells {
		for _, p := range m.pieces {
			for a := p.First; a.IsValid() && !p.Last.Less(a); a = a.Next() {
				cells = append(cells, m.cell(a))
			}
		}
		return cells, "a cell is an address"
	}
	used := m.used()
	for shift := 1; ; shift++ {
		blocks, only := m.blocks(width-shift), ""
		if total > manyAddresses {
			blocks, only = blocksOf(used, width-shift), ", and only those are shown that are in use"
			if shift < 8 { // blocks of fewer say little
				continue
			}
		}
		if len(blocks) > maxCells {
			continue
		}
		for _, b := range blocks {
			cells = append(cells, m.block(b, used))
		}
		return cells, fmt.Sprintf("a cell is a block of /%d%s", width-shift, only)
	}
}

// cell returns the cell of an address.
func (m *addressMap) cell(a netip.Addr) Cell {
	if r := m.by[a]; r != nil {
		return Cell{a.String() + ", " + strings.ToLower(r.State) + ", " + tenantOf(r.Tenant).Short, tone(r.State), anchor("address", a.String())}
	}
	if slices.Contains(m.nodes, a) {
		return Cell{a.String() + ", of a node", "node", ""}
	}
	return Cell{a.String() + ", free", "free", ""}
}

// block returns the cell of a block.
func (m *addressMap) block(b netip.Prefix, used []netip.Addr) Cell {
	var all uint64
	for _, p := range m.pieces {
		first, last := b.Masked().Addr(), netipx.PrefixLastIP(b)
		if first.Less(p.First) {
			first = p.First
		}
		if p.Last.Less(last) {
			last = p.Last
		}
		if !last.Less(first) {
			all += distance(first, last) + 1
		}
	}
	from, _ := slices.BinarySearchFunc(used, b.Addr(), netip.Addr.Compare)
	n := 0
	for _, a := range used[from:] {
		if !b.Contains(a) {
			break
		}
		n++
	}
	text := fmt.Sprintf("%s, %d of %s in use", b, n, countText(int64(min(all, math.MaxInt64))))
	if n == 0 {
		return Cell{text, "free", ""}
	}
	level := min(5, 1+int(float64(n)/float64(max(all, 1))*5))
	return Cell{text, "h" + strconv.Itoa(level), anchor("address", used[from].String())}
}

// total counts the addresses, up to the largest number.
func (m *addressMap) total() (n uint64) {
	for _, p := range m.pieces {
		if bits := p.First.BitLen(); bits == 128 && high(p.First) != high(p.Last) {
			return math.MaxUint64
		}
		d := distance(p.First, p.Last)
		if n += d; n < d || n == math.MaxUint64 {
			return math.MaxUint64
		}
		n++
	}
	return n
}

// used returns the addresses that are in use, sorted.
func (m *addressMap) used() []netip.Addr {
	var all []netip.Addr
	in := func(a netip.Addr) bool {
		i, found := slices.BinarySearchFunc(m.pieces, a, func(p config.Range, a netip.Addr) int { return p.First.Compare(a) })
		return found || i > 0 && m.pieces[i-1].Contains(a)
	}
	for a := range m.by {
		if in(a) {
			all = append(all, a)
		}
	}
	for _, a := range m.nodes {
		if in(a) {
			all = append(all, a)
		}
	}
	slices.SortFunc(all, netip.Addr.Compare)
	return slices.Compact(all)
}

// blocks returns all blocks of a length that the pieces touch, or one more than a map has.
func (m *addressMap) blocks(length int) (out []netip.Prefix) {
	for _, p := range m.pieces {
		for a := p.First; a.IsValid() && !p.Last.Less(a) && len(out) <= maxCells; {
			b := netip.PrefixFrom(a, length).Masked()
			if len(out) == 0 || out[len(out)-1] != b {
				out = append(out, b)
			}
			a = netipx.PrefixLastIP(b).Next()
		}
	}
	return out
}

// blocksOf returns the blocks of a length that have one of the addresses.
func blocksOf(used []netip.Addr, length int) (out []netip.Prefix) {
	for _, a := range used {
		out = append(out, netip.PrefixFrom(a, length).Masked())
	}
	return slices.Compact(out)
}

func high(a netip.Addr) uint64 { b := a.As16(); return binary.BigEndian.Uint64(b[:8]) }

// distance returns how far two addresses are apart, if that is less than 2^64.
func distance(a, b netip.Addr) uint64 {
	x, y := a.As16(), b.As16()
	return binary.BigEndian.Uint64(y[8:]) - binary.BigEndian.Uint64(x[8:])
}
