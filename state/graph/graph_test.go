package graph_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/state/graph"
	"github.com/akash-net/kubectl-akash-net/state/view"
	"github.com/akash-net/kubectl-akash-net/test/golden"
)

const owner = "akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h"

func tenant(dseq uint64) *view.Tenant {
	return &view.Tenant{Lease: fmt.Sprintf("%s/%d/1/1/provider", owner, dseq), Owner: owner, DSeq: dseq, GSeq: 1, OSeq: 1, Namespace: fmt.Sprint("ns", dseq)}
}

// drawn writes a graph, with a line for each node, below which are the nodes to which it leads. A wallet is OWNER.
func drawn(g *graph.Graph) string {
	names := map[string]string{}
	for _, n := range g.Nodes {
		names[n.ID] = strings.TrimSuffix(fmt.Sprint(n.Label(), " ", n.State), " ")
	}
	var out strings.Builder
	for _, n := range g.Nodes {
		fmt.Fprintln(&out, strings.TrimSuffix(fmt.Sprint(names[n.ID], ": ", n.Message), ": "))
		for _, e := range g.Edges {
			if e.From == n.ID {
				fmt.Fprintln(&out, "  "+names[e.To])
			}
		}
	}
	return strings.ReplaceAll(out.String(), owner, "OWNER")
}

// What leads to what: testdata/graph.golden has the graph of each book.
func TestGraph(t *testing.T) {
	shop, blog := tenant(7), tenant(8)
	address := netip.MustParseAddr("203.0.113.5")
	drawings := golden.Cases{}
	for name, book := range map[string]view.Book{
		"nothing": {},
		"a host leads through its route to its Service, which says what does not answer": {
			Leases: []view.LeaseRow{{Tenant: shop, State: view.StateActive}},
			Hosts: []view.HostRow{
				{Host: "a.example.com", Tenant: shop, Service: "web", Port: 80, Target: "ingress", Route: "ns7/a", State: view.StateActive, Routed: true, Endpoints: &view.Endpoints{Total: 2}},
				{Host: "a.example.com", Path: "/api", Tenant: shop, Service: "web", Port: 80, Target: "httproute", Route: "ns7/b", State: view.StatePending, Unaccepted: true, Message: "not accepted", Endpoints: &view.Endpoints{Total: 2}},
			},
		},
		"what is held and not used leads nowhere; what is withheld is beside what its holder has": {
			Leases: []view.LeaseRow{{Tenant: shop, State: view.StateReserved}, {Tenant: blog, State: view.StateWithheld}},
			Hosts: []view.HostRow{
				{Host: "a.example.com", Tenant: shop, Service: "web", Port: 80, State: view.StateReserved},
				{Host: "a.example.com", Tenant: blog, Service: "web", Port: 80, State: view.StateWithheld, Message: "held by 7"},
			},
		},
		"a host that another lease still serves leads to its route, and not to the Service of the holder": {
			Leases: []view.LeaseRow{{Tenant: blog, State: view.StateTransferring}},
			Hosts:  []view.HostRow{{Host: "a.example.com", Tenant: blog, Service: "web", Port: 80, Target: "ingress", Route: "ns7/a", State: view.StateTransferring}},
		},
		"an address leads to its ports and its pool, which other addresses share": {
			Leases: []view.LeaseRow{{Tenant: shop, State: view.StatePartial}},
			IPs: []view.IPRow{
				{Address: address, Tenant: shop, Protocol: "TCP", Port: 443, Object: "web-ip-443-tcp", Pool: "p", State: view.StateActive},
				{Address: address, Tenant: shop, Protocol: "UDP", Port: 443, Pool: "p", State: view.StateReserved},
				{Address: address.Next(), Tenant: shop, Protocol: "TCP", Port: 25, State: view.StateReserved},
			},
			Pools: []view.PoolRow{
				{Name: "p", Ranges: []string{"203.0.113.0/28"}, Addresses: 14, Used: 2, Pieces: []config.Range{{First: netip.MustParseAddr("203.0.113.1"), Last: netip.MustParseAddr("203.0.113.14")}}},
				{Name: "unused", Ranges: []string{"192.0.2.0/24"}},
			},
		},
		"an address is of the pool that has it, which a range that was widened has beside its own": {
			Leases: []view.LeaseRow{{Tenant: shop, State: view.StateActive}},
			IPs:    []view.IPRow{{Address: address, Tenant: shop, Protocol: "TCP", Port: 443, Pool: "former", State: view.StateActive}},
			Pools: []view.PoolRow{
				{Name: "p", Ranges: []string{"203.0.113.0/27"}, Addresses: 32, Used: 2, Pieces: []config.Range{{First: netip.MustParseAddr("203.0.113.0"), Last: netip.MustParseAddr("203.0.113.31")}}},
			},
		},
		"an IP endpoint waits for its address": {
			Leases: []view.LeaseRow{{Tenant: shop, State: view.StatePending}},
			IPs:    []view.IPRow{{Tenant: shop, SharingKey: owner + "-ip-public", Protocol: "UDP", Port: 53, State: view.StatePending, Message: "no pool"}},
		},
		"what names no lease is of none": {
			Hosts: []view.HostRow{{Host: "a.example.com", Tenant: &view.Tenant{Namespace: "n"}, Service: "web", Target: "route", Route: "n/a", State: view.StateActive, Routed: true}},
		},
	} {
		drawings[name] = drawn(graph.Of(&book))
	}
	drawings.Check(t, "testdata/graph.golden")
}
