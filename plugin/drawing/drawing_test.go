package drawing

import (
	"fmt"
	"math"
	"net/netip"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/plugin/terminal"
	"github.com/akash-net/kubectl-akash-net/state/graph"
	"github.com/akash-net/kubectl-akash-net/state/view"
	"github.com/akash-net/kubectl-akash-net/test/golden"
)

// mermaidCodes are the codes of characters in Mermaid.
var mermaidCodes = regexp.MustCompile(`#\d+;`)

// testGraph has a lease with two hosts of one Service and an address, and a lease that waits for a host.
func testGraph() *graph.Graph {
	const shop, blog = "akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h/8438017/1", "akash1n44zc8l6gfm0hpydldndpg8n05xjjwmuahc6nn/5905803/1"
	return &graph.Graph{
		Nodes: []graph.Node{
			{ID: "a", Kind: graph.Lease, Name: shop, State: view.StatePartial},
			{ID: "b", Kind: graph.Host, Name: "shop.example.com", State: view.StateActive},
			{ID: "c", Kind: "ingress", Name: "shop.example.com"},
			{ID: "d", Kind: graph.Service, Name: "web:80", Message: "Service web has 0 of 2 endpoints ready"},
			{ID: "e", Kind: graph.Host, Name: "api.example.com/v1", State: view.StatePending, Message: "httproute n/x is not accepted by any Gateway"},
			{ID: "f", Kind: "httproute", Name: "x"},
			{ID: "g", Kind: graph.Address, Name: "203.0.113.7", State: view.StateReserved},
			{ID: "h", Kind: graph.Port, Name: "443/tcp", State: view.StateReserved},
			{ID: "i", Kind: graph.Pool, Name: "akash-net-203-0-113-0-28", Message: "203.0.113.0/28: 9 of 14 in use"},
			{ID: "j", Kind: graph.Lease, Name: blog, State: view.StateWithheld},
			{ID: "k", Kind: graph.Host, Name: "shop.example.com", State: view.StateWithheld, Message: "held by " + shop},
		},
		Edges: []graph.Edge{
			{From: "a", To: "b"}, {From: "b", To: "c"}, {From: "c", To: "d"}, {From: "a", To: "e"}, {From: "e", To: "f"}, {From: "f", To: "d"},
			{From: "a", To: "g"}, {From: "g", To: "h"}, {From: "g", To: "i"}, {From: "j", To: "k"},
		},
	}
}

// State and message are beside the names where they fit, else below.
func TestTree(t *testing.T) {
	for name, tree := range map[string]Tree{"tree-pipe": {}, "tree-120": {Width: 120}, "tree-60": {Width: 60}, "tree-30": {Width: 30}, "tree-dumb": {Width: 80, Plain: true}, "tree-wide": {Whole: true}} {
		got := tree.Draw(testGraph())
		golden.Check(t, filepath.Join("testdata", name+".golden"), got)
		for line := range strings.Lines(got) {
			if n := terminal.Cells(strings.TrimSuffix(line, "\n")); tree.Width >= 60 && n > tree.Width {
				t.Errorf("%s: %q takes %d cells", name, line, n)
			}
		}
	}
}

// Wide characters take two cells.
func TestTreeIsAligned(t *testing.T) {
	g := &graph.Graph{Nodes: []graph.Node{{ID: "a", Kind: graph.Host, Name: "店", State: "Active"}, {ID: "b", Kind: graph.Host, Name: "shop", State: "Active"}}}
	if got, want := (Tree{}).Draw(g), "host/店     Active\nhost/shop   Active\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestMermaid(t *testing.T) {
	golden.Check(t, filepath.Join("testdata", "graph.mmd"), Mermaid(testGraph()))
}

// hostile are texts that a format, or a terminal, could understand as something else than text.
var hostile = []string{
	`"]; click n0 "javascript:alert(1)"`, `<script>alert(1)</script>`, "a\nsubgraph x", "\x1b[2J\x1b]0;title\a", `\", shape=none, URL="x`, "`*bold*`",
	"end", "%%{init: {}}%%", "&lt;b&gt; #35;", "\u202egnp.exe", "]]> --> n1", "\xff\x00", "#quot;",
}

// What stands in an annotation stays a text, in each format.
func TestHostileNames(t *testing.T) {
	for _, text := range hostile {
		g := &graph.Graph{Nodes: []graph.Node{
			{ID: text, Kind: graph.Host, Name: text, State: view.StateActive, Message: text}, {ID: "s", Kind: graph.Service, Name: text},
		}, Edges: []graph.Edge{{From: text, To: "s"}}}
		if lines := strings.Split(Tree{}.Draw(g), "\n"); len(lines) != 3 || strings.ContainsAny(lines[0], "\x1b\x00\a\u202e") {
			t.Errorf("%q: the tree is %q", text, lines)
		}
		checkLabels(t, Mermaid(g), `  n0["host/`, `"]`, `"<>&#[]`+"`\x1b\x00\u202e", func(s string) string { return mermaidCodes.ReplaceAllString(strings.ReplaceAll(s, "<br/>", ""), "") })
	}
}

// checkLabels fails unless a text has four lines or more, of which one has a label that has nothing of bad but what is escaped.
func checkLabels(t *testing.T, text, before, after, bad string, unescaped func(string) string) {
	t.Helper()
	for line := range strings.Lines(text) {
		inner, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), before)
		if !ok {
			continue
		}
		if inner, ok = strings.CutSuffix(inner, after); !ok || strings.ContainsAny(unescaped(inner), bad) {
			t.Errorf("the label is not closed: %q", line)
		}
		return
	}
	t.Errorf("there is no label in %q", text)
}

// testPools are a small pool with each use, a range of which an address is left out, one of so many that a cell is a block, and one of
// which only the used blocks are shown.
func testPools() ([]view.PoolRow, []view.IPRow) {
	pool := func(name, mode, first, last string, addresses, used int64) view.PoolRow {
		piece := config.Range{First: netip.MustParseAddr(first), Last: netip.MustParseAddr(last)}
		return view.PoolRow{Name: name, Mode: mode, Ranges: []string{name}, Addresses: addresses, Used: used, Free: addresses - used, Pieces: []config.Range{piece}}
	}
	pools := []view.PoolRow{
		pool("203.0.113.0/28", "range", "203.0.113.0", "203.0.113.15", 16, 7),
		pool("198.51.100.0/24", "pool", "198.51.100.0", "198.51.100.255", 256, 3),
		pool("2001:db8::/116", "range", "2001:db8::", "2001:db8::fff", 4096, 30),
		pool("2001:db8:10::/64", "range", "2001:db8:10::", "2001:db8:10::ffff:ffff:ffff:ffff", math.MaxInt64, 1),
	}
	pools[3].Free = math.MaxInt64               // counts end there
	pools[1].Name = "akash-net-198-51-100-0-24" // an administrator's, named after its range
	pools[2].Mode, pools[2].Name = "pool", "six"
	pools[0].Nodes = []netip.Addr{netip.MustParseAddr("203.0.113.15")}
	var rows []view.IPRow
	add := func(state string, claimed bool, addresses ...string) {
		for _, a := range addresses {
			rows = append(rows, view.IPRow{Address: netip.MustParseAddr(a), State: state, Claimed: claimed})
		}
	}
	add(view.StateActive, true, "203.0.113.0", "203.0.113.1", "198.51.100.7", "2001:db8:10::1")
	add(view.StateReserved, true, "203.0.113.3")
	add(view.StateExpired, true, "203.0.113.4")
	add(view.StatePending, true, "203.0.113.6", "198.51.100.200")
	add(view.StateActive, false, "203.0.113.8")
	for i := range 30 { // two blocks of /124: one is full
		add(view.StateActive, true, fmt.Sprintf("2001:db8::%x", i))
	}
	return pools, rows
}

// colours are what a terminal takes for colours.
var colours = regexp.MustCompile("\x1b\\[[0-9]*m")

// At each width a map fits, and each use has a mark of its own, without colours too.
func TestHeatMap(t *testing.T) {
	pools, rows := testPools()
	for name, h := range map[string]HeatMap{"heatmap-80": {Width: 80}, "heatmap-40": {Width: 40}, "heatmap-dumb": {Width: 80, Plain: true}} {
		got := h.Draw(pools, rows)
		golden.Check(t, filepath.Join("testdata", name+".golden"), got)
		for line := range strings.Lines(got) {
			if n := terminal.Cells(strings.TrimSuffix(line, "\n")); n > h.Width {
				t.Errorf("%s: %q takes %d cells", name, line, n)
			}
		}
		h.Color = true
		if coloured := h.Draw(pools, rows); !strings.Contains(coloured, "\x1b[32m") || colours.ReplaceAllString(coloured, "") != got {
			t.Errorf("%s: colours change the text:\n%s", name, coloured)
		}
	}
}
