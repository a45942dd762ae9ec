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
	"github.com/akash-net/kubectl-akash-net/state/view"
)

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

func TestPoolsSVG(t *testing.T) {
	pools, rows := testPools()
	picture := PoolsSVG(pools, rows)
	golden(t, filepath.Join(pictures, "pools.svg"), picture)
	if n := strings.Count(picture, "<title>"); n != 1+16+256+256+1 {
		t.Errorf("%d cells have tips", n)
	}
}

// colours are what a terminal takes for colours.
var colours = regexp.MustCompile("\x1b\\[[0-9]*m")

// At each width a map fits, and each use has a mark of its own, without colours too.
func TestHeatMap(t *testing.T) {
	pools, rows := testPools()
	for name, h := range map[string]HeatMap{"heatmap-80": {Width: 80}, "heatmap-40": {Width: 40}, "heatmap-dumb": {Width: 80, Plain: true}} {
		got := h.Draw(pools, rows)
		golden(t, filepath.Join("testdata", name+".golden"), got)
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
