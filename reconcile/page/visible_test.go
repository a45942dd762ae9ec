package page

import (
	"fmt"
	"math"
	"net/netip"
	"strconv"
	"strings"
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/state/view"
	"github.com/akash-net/kubectl-akash-net/test/golden"
)

// What nobody would see is shown, and pools are drawn as cells: testdata/texts.txt.
//
//	visible   a text, quoted
//	cells     the ranges of a pool, "| used" addresses and "| nodes" of them: the tones of its cells, what the first says, and the scale
func TestTexts(t *testing.T) {
	golden.Rules{
		"visible": func(line string) string {
			text, err := strconv.Unquote(line)
			if err != nil {
				t.Fatal(err)
			}
			return strconv.Quote(string(visible([]byte(text))))
		},
		"cells": func(line string) string {
			parts := append(strings.Split(line, "|"), "", "")
			row := cellsOf(t, strings.Fields(parts[1]), strings.Fields(parts[2]), strings.Fields(parts[0])...)
			var said strings.Builder
			for i, n := 0, 1; i < len(row.Cells); i, n = i+1, n+1 {
				if i == 0 {
					fmt.Fprintln(&said, row.Cells[0].Text)
				}
				if tone := row.Cells[i].Tone; i+1 == len(row.Cells) || row.Cells[i+1].Tone != tone {
					fmt.Fprintln(&said, n, tone)
					n = 0
				}
			}
			return said.String() + row.Scale
		},
	}.Check(t, "testdata/texts.txt")
}

// cellsOf returns the map of a pool.
func cellsOf(t *testing.T, used, nodes []string, ranges ...string) PoolRow {
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
	return poolRow(r, by)
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
		if n := len(cellsOf(t, used, nil, ranges...).Cells); n > maxCells || n == 0 {
			t.Errorf("%v has %d cells", ranges, n)
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
