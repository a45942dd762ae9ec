package page

import (
	"cmp"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/akash-net/kubectl-akash-net/state/view"
)

// Resources are the capacity of the cluster, its storage classes and its nodes.
type Resources struct {
	Known   bool
	Cluster []Meter
	Nodes   Section[NodeRow]
}

// NodeRow is a node and what it has left.
type NodeRow struct {
	ID, Name, Message string
	Meters            []Meter
}

// Meter is how much of a resource is in use and reserved. Used and Reserved are the parts in thousandths, together at most 1000.
type Meter struct {
	Name, Text     string
	Used, Reserved int
	// Tone is bad if next to nothing is left.
	Tone string
}

// resources returns the resources, of the nodes those that the query finds.
func resources(q *Query, rows []view.ResourceRow) Resources {
	out := Resources{Known: rows != nil}
	var nodes []NodeRow
	for _, r := range rows {
		switch {
		case r.Of != view.OfNode:
			out.Cluster = append(out.Cluster, meter(&r))
		case len(nodes) > 0 && nodes[len(nodes)-1].Name == r.Name:
			last := &nodes[len(nodes)-1]
			last.Meters = append(last.Meters, meter(&r))
		default:
			nodes = append(nodes, NodeRow{"node/" + r.Name, r.Name, clip(r.Message), []Meter{meter(&r)}})
		}
	}
	out.Nodes = section(q, "resources", nodes, func(n *NodeRow) NodeRow { return *n }, func(n *NodeRow) []string { return []string{n.Name, n.Message} }, nil)
	return out
}

func meter(r *view.ResourceRow) Meter {
	amount := r.Amount
	if r.Resource == "cpu" { // as people count CPUs
		amount = func(n uint64) string { return strconv.FormatFloat(float64(n)/1000, 'f', -1, 64) }
	}
	m := Meter{Name: r.Resource}
	if r.Of == view.OfClass {
		m.Name = cmp.Or(r.Name, r.Resource)
	}
	if r.Unlimited {
		m.Text = amount(r.InUse) + " in use, no limit"
		return m
	}
	m.Text = fmt.Sprintf("%s of %s free", amount(r.Available), amount(r.Allocatable))
	if r.Allocatable == 0 {
		return m
	}
	part := func(n uint64) int {
		return int(math.Ceil(float64(min(n, r.Allocatable)) / float64(r.Allocatable) * 1000))
	}
	m.Used = part(r.InUse)
	m.Reserved = min(part(r.Reserved), 1000-m.Used)
	if m.Used+m.Reserved > 900 {
		m.Tone = "bad"
	}
	return m
}

// maxCells is how many cells the map of a pool has at most, for each family of addresses.
const maxCells = 256

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
	for _, m := range r.Maps(by, maxCells) {
		for i := range m.Blocks {
			out.Cells = append(out.Cells, cellOf(&m.Blocks[i], by, r.Nodes))
		}
		for _, n := range m.Counts {
			placed += int64(n)
		}
		scales = append(scales, scaleOf(&m))
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

// scaleOf says what a cell of a map is.
func scaleOf(m *view.PoolMap) string {
	switch {
	case m.Single:
		return "a cell is an address"
	case m.OnlyUsed:
		return fmt.Sprintf("a cell is a block of /%d, and only those are shown that are in use", m.Bits)
	}
	return fmt.Sprintf("a cell is a block of /%d", m.Bits)
}

// cellOf returns the cell of an address or of a block.
func cellOf(b *view.Block, by map[netip.Addr]*view.IPRow, nodes []netip.Addr) Cell {
	if a := b.Addr(); b.IsSingleIP() {
		if r := by[a]; r != nil {
			return Cell{a.String() + ", " + strings.ToLower(r.State) + ", " + tenantOf(r.Tenant).Short, tone(r.State), anchor("address", a.String())}
		}
		if slices.Contains(nodes, a) {
			return Cell{a.String() + ", of a node", "node", ""}
		}
		return Cell{a.String() + ", free", "free", ""}
	}
	text := fmt.Sprintf("%s, %d of %s in use", b, b.InUse(), countText(int64(min(b.Total, math.MaxInt64))))
	if level := b.Level(5); level > 0 {
		return Cell{text, "h" + strconv.Itoa(level), anchor("address", b.First.String())}
	}
	return Cell{text, "free", ""}
}
