package view

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease/config"
)

// A map has a cell for each address, or for the smallest blocks of which there are not too many. Each family has a map, an address that is
// left out has no cell, and of a range that nobody fills only the blocks in use are there.
func TestPoolMaps(t *testing.T) {
	const used, held, pending, unclaimed = "used", "held", "pending", "unclaimed"
	rows := map[string]IPRow{
		used: {State: StateActive, Claimed: true}, held: {State: StateReserved, Claimed: true}, pending: {State: StateClaiming, Claimed: true}, unclaimed: {State: StateActive},
	}
	for name, tt := range map[string]struct {
		pieces, nodes string
		uses          map[string]string
		want          []string
	}{
		"no range": {},
		"addresses": {"192.0.2.0-192.0.2.3", "192.0.2.3", map[string]string{"192.0.2.1": used, "192.0.2.2": held, "198.51.100.1": used}, []string{
			"192.0.2.0/32 192.0.2.1/32:used 192.0.2.2/32:held 192.0.2.3/32:node, single; 1 node; 1 used; 1 held",
		}},
		"an address of a node that a lease has": {"192.0.2.0-192.0.2.0", "192.0.2.0", map[string]string{"192.0.2.0": unclaimed}, []string{"192.0.2.0/32:unclaimed, single; 1 unclaimed"}},
		"pieces in any order, one address is left out": {"192.0.2.2-192.0.2.3 192.0.2.0-192.0.2.0", "", map[string]string{"192.0.2.1": used, "192.0.2.2": used}, []string{
			"192.0.2.0/32 192.0.2.2/32:used 192.0.2.3/32, single; 1 used",
		}},
		"blocks": {"192.0.2.0-192.0.2.7", "", map[string]string{"192.0.2.0": used, "192.0.2.1": pending, "192.0.2.7": used}, []string{
			"192.0.2.0/31:used+pending 192.0.2.2/31 192.0.2.4/31 192.0.2.6/31:used; 2 used; 1 pending",
		}},
		"blocks of a range between prefixes": {"192.0.2.3-192.0.2.12", "", map[string]string{"192.0.2.3": used}, []string{
			"192.0.2.0/30:used 192.0.2.4/30 192.0.2.8/30 192.0.2.12/30; 1 used",
		}},
		"two families": {"2001:db8::-2001:db8::1 192.0.2.0-192.0.2.1", "", map[string]string{"2001:db8::1": used}, []string{
			"192.0.2.0/32 192.0.2.1/32, single", "2001:db8::/128 2001:db8::1/128:used, single; 1 used",
		}},
		"a /64": {"2001:db8::-2001:db8::ffff:ffff:ffff:ffff", "", map[string]string{"2001:db8::1": used, "2001:db8::2": held, "2001:db8::ff00": used}, []string{
			"2001:db8::/120:used+held 2001:db8::ff00/120:used, only used; 2 used; 1 held",
		}},
		"a /64 that nobody uses": {"2001:db8::-2001:db8::ffff:ffff:ffff:ffff", "", nil, []string{"only used"}},
	} {
		t.Run(name, func(t *testing.T) {
			var r PoolRow
			for _, piece := range strings.Fields(tt.pieces) {
				first, last, _ := strings.Cut(piece, "-")
				r.Pieces = append(r.Pieces, config.Range{First: netip.MustParseAddr(first), Last: netip.MustParseAddr(last)})
			}
			if tt.nodes != "" {
				r.Nodes = append(r.Nodes, netip.MustParseAddr(tt.nodes))
			}
			users := map[netip.Addr]*IPRow{}
			for a, use := range tt.uses {
				row := rows[use]
				users[netip.MustParseAddr(a)] = &row
			}
			var got []string
			for _, m := range r.Maps(users, 4) {
				got = append(got, mapText(&m))
			}
			if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", tt.want) {
				t.Errorf("the maps are %q, want %q", got, tt.want)
			}
		})
	}
}

// mapText writes the blocks of a map, each with its uses, and the counts of the map.
func mapText(m *PoolMap) string {
	names := [uses]string{UseNode: "node", UseUsed: "used", UseHeld: "held", UsePending: "pending", UseUnclaimed: "unclaimed"}
	var blocks []string
	for _, b := range m.Blocks {
		var in []string
		for u, name := range names {
			if b.Counts[u] > 0 {
				in = append(in, name)
			}
		}
		text := b.String()
		if len(in) > 0 {
			text += ":" + strings.Join(in, "+")
		}
		blocks = append(blocks, text)
	}
	text := strings.Join(blocks, " ")
	for said, is := range map[string]bool{"single": m.Single, "only used": m.OnlyUsed} {
		if is {
			text = strings.TrimPrefix(text+", "+said, ", ")
		}
	}
	for u, name := range names {
		if m.Counts[u] > 0 {
			text += fmt.Sprintf("; %d %s", m.Counts[u], name)
		}
	}
	return text
}
