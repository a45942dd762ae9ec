package page

import (
	"math"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

func TestVisible(t *testing.T) {
	for text, want := range map[string]string{
		"":                           "",
		"plain\n\ttext é 漢字 …\u202f": "plain\n\ttext é 漢字 …\u202f",
		"\x00\x1b[31m\x7f":           `\x00\x1b[31m\x7f`,
		"a\u202eb\u2066c\u200bd":     `a\u202eb\u2066c\u200bd`,
		"\ufeffa\u0085\u2028":        `\ufeffa\u0085\u2028`,
		"a\xffb\xc3":                 `a\xffb\xc3`,
		"\ufffd":                     "\ufffd",
		"\u202e":                     `\u202e`,
		"tag \U000e0041":             `tag \ue0041`,
	} {
		if got := string(visible([]byte(text))); got != want {
			t.Errorf("%q becomes %q, not %q", text, got, want)
		}
	}
}

// cellsOf returns the tones of the map of a pool, and what it says of its first cell and of its scale.
func cellsOf(t *testing.T, used []string, nodes []string, ranges ...string) (tones []string, first, scale string) {
	t.Helper()
	r, by := &view.PoolRow{Addresses: 1, Name: "p"}, map[netip.Addr]*view.IPRow{}
	for _, text := range ranges {
		piece, err := config.ParseRange(text)
		if err != nil {
			t.Fatal(err)
		}
		r.Pieces = append(r.Pieces, piece)
	}
	for _, a := range used {
		by[netip.MustParseAddr(a)] = &view.IPRow{State: view.StateActive}
	}
	for _, a := range nodes {
		r.Nodes = append(r.Nodes, netip.MustParseAddr(a))
	}
	row := poolRow(r, by)
	for _, c := range row.Cells {
		tones = append(tones, c.Tone)
	}
	if len(row.Cells) > 0 {
		first = row.Cells[0].Text
	}
	return tones, first, row.Scale
}

func TestCells(t *testing.T) {
	some := func(n int, tone string) []string {
		return strings.Split(strings.TrimSpace(strings.Repeat(tone+" ", n)), " ")
	}
	for name, c := range map[string]struct {
		used, nodes, ranges []string
		tones               []string
		first, scale        string
	}{
		"each address":       {[]string{"192.0.2.1", "198.51.100.1"}, []string{"192.0.2.2"}, []string{"192.0.2.0/30"}, []string{"free", "active", "node", "free"}, "192.0.2.0, free", "a cell is an address"},
		"pieces in order":    {[]string{"192.0.2.9"}, nil, []string{"192.0.2.8-192.0.2.9", "192.0.2.0-192.0.2.1"}, []string{"free", "free", "free", "active"}, "192.0.2.0, free", "a cell is an address"},
		"the last addresses": {[]string{"255.255.255.255"}, nil, []string{"255.255.255.254-255.255.255.255"}, []string{"free", "active"}, "255.255.255.254, free", "a cell is an address"},
		"blocks":             {[]string{"10.0.0.0", "10.0.0.1", "10.0.1.254"}, nil, []string{"10.0.0.0/23"}, append(append([]string{"h5"}, some(254, "free")...), "h3"), "10.0.0.0/31, 2 of 2 in use", "a cell is a block of /31"},
		"parts of blocks":    {[]string{"10.0.0.1"}, nil, []string{"10.0.0.1-10.0.2.0"}, append([]string{"h2"}, some(128, "free")...), "10.0.0.0/30, 1 of 3 in use", "a cell is a block of /30"},
		"very many": {
			[]string{"2001:db8::1", "2001:db8::2", "2001:db8::ff00:1"}, nil, []string{"2001:db8::/32"},
			[]string{"h1", "h1"}, "2001:db8::/120, 2 of 256 in use", "a cell is a block of /120, and only those are shown that are in use",
		},
		"very many, none in use": {nil, nil, []string{"::/0"}, nil, "", "a cell is a block of /120, and only those are shown that are in use"},
		"two families":           {[]string{"192.0.2.1", "2001:db8::1"}, nil, []string{"2001:db8::1", "192.0.2.1"}, []string{"active", "active"}, "192.0.2.1, active, ", "a cell is an address"},
		"none":                   {nil, nil, nil, nil, "", ""},
	} {
		tones, first, scale := cellsOf(t, c.used, c.nodes, c.ranges...)
		if diff := cmp.Diff(c.tones, tones); diff != "" || first != c.first || scale != c.scale {
			t.Errorf("%s: %q, %q, %s", name, first, scale, diff)
		}
	}
}

// However large a pool is, and however its users lie, its map stays small.
func TestCellsAreFew(t *testing.T) {
	for _, ranges := range [][]string{{"0.0.0.0/0"}, {"10.0.0.0/8"}, {"10.0.0.0/15", "10.3.0.0/16", "10.9.1.3-10.9.1.9"}, {"::/0"}, {"2001:db8::/64"}, {"2001:db8::/104"}} {
		var used []string
		for _, text := range ranges {
			r, _ := config.ParseRange(text)
			bytes := r.First.AsSlice()
			for i := range 4000 {
				bytes[len(bytes)-1], bytes[len(bytes)-2], bytes[len(bytes)-3] = byte(i), byte(i*7), byte(i*i)
				a, _ := netip.AddrFromSlice(bytes)
				used = append(used, a.String())
			}
		}
		if tones, _, _ := cellsOf(t, used, nil, ranges...); len(tones) > maxCells || len(tones) == 0 {
			t.Errorf("%v has %d cells", ranges, len(tones))
		}
	}
}

func TestMeter(t *testing.T) {
	for _, c := range []struct {
		row  view.ResourceRow
		want Meter
	}{
		{view.ResourceRow{Resource: "cpu", Allocatable: 4000, InUse: 1500, Reserved: 500, Available: 2000}, Meter{"cpu", "2 of 4 free", 375, 125, ""}},
		{view.ResourceRow{Resource: "cpu", Allocatable: 4000, InUse: 9000, Reserved: 500}, Meter{"cpu", "0 of 4 free", 1000, 0, "bad"}},
		{view.ResourceRow{Resource: "memory", Allocatable: 1 << 30, InUse: 1, Available: 1 << 29}, Meter{"memory", "512Mi of 1Gi free", 1, 0, ""}},
		{view.ResourceRow{Resource: "gpu"}, Meter{"gpu", "0 of 0 free", 0, 0, ""}},
		{view.ResourceRow{Of: view.OfClass, Name: "beta3", Resource: "storage", InUse: 1 << 30, Allocatable: math.MaxUint64, Unlimited: true}, Meter{"beta3", "1Gi in use, no limit", 0, 0, ""}},
	} {
		if got := meter(&c.row); got != c.want {
			t.Errorf("%+v becomes %+v, not %+v", c.row, got, c.want)
		}
	}
}
