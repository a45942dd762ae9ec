package show

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/thing"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

const owner = "akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h"

func tenant(dseq uint64, oseq uint32) *view.Tenant {
	return &view.Tenant{Owner: owner, DSeq: dseq, GSeq: 1, OSeq: oseq}
}

func testBook() *view.Book {
	return &view.Book{
		Hosts: []view.HostRow{{Host: "a.example.com", Path: "/"}, {Host: "a.example.com", Path: "/v1"}, {Host: "b.example.com", Path: "/"}},
		Routes: []view.RouteRow{
			{Host: "a.example.com", Path: "/v1", Name: "plain"},
			{Host: "www.apps.example.com", Path: "/", Wildcard: true, Kind: "Route", Name: "wildcard"},
		},
		DNS: []view.DNSRow{{Host: "a.example.com"}, {Host: "b.example.com"}},
		IPs: []view.IPRow{
			{Address: netip.MustParseAddr("203.0.113.7"), Tenant: tenant(7, 1), SharingKey: lease.SharingKey(owner, "public")},
			{Address: netip.MustParseAddr("203.0.113.8"), Tenant: tenant(7, 1), SharingKey: lease.SharingKey(owner, "mail")},
		},
		Leases: []view.LeaseRow{{Tenant: tenant(7, 1)}, {Tenant: tenant(7, 2)}, {Tenant: tenant(8, 1)}},
		Orders: []view.OrderRow{
			{Tenant: tenant(7, 1), Order: owner + "/7/1/1"}, {Tenant: tenant(7, 2), Order: owner + "/7/1/2"},
		},
		Pools: []view.PoolRow{{Name: "pool"}},
	}
}

func TestRowsOfThings(t *testing.T) {
	for _, c := range []struct{ name, things, want string }{
		{"a host selects all its paths", "host/a.example.com", "2 hosts 1 routes 1 dns"},
		{"a path selects only itself", "host/a.example.com/v1", "1 hosts 1 routes"},
		{"case does not matter", "host/A.Example.com/v1", "1 hosts 1 routes"},
		{"a wildcard selects the OpenShift Route that serves it", "host/*.apps.example.com", "1 routes"},
		{"the example host of such a Route selects it too", "host/www.apps.example.com", "1 routes"},
		{"an address selects its ports", "address/203.0.113.7", "1 ips"},
		{"an endpoint selects its ports", "endpoint/mail", "1 ips"},
		{"a single word is an endpoint too", "mail", "1 ips"},
		{"a lease selects its deployment group", "lease/" + owner + "/7/1", "2 leases 2 orders"},
		{"an order selects only itself", "order/" + owner + "/7/1/2", "1 orders"},
		{"several things select the rows of each", "host/b.example.com address/203.0.113.7", "1 hosts 1 dns 1 ips"},
		{"a thing without rows selects none", "host/c.example.com", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			book := testBook()
			var things []thing.Thing
			for _, text := range strings.Fields(c.things) {
				parsed, err := thing.Parse(text)
				if err != nil {
					t.Fatal(err)
				}
				things = append(things, parsed)
			}
			b := rowsOf(book, things...)
			var got []string
			for _, rows := range []struct {
				n    int
				what string
			}{
				{len(b.Hosts), "hosts"}, {len(b.Routes), "routes"}, {len(b.DNS), "dns"},
				{len(b.IPs), "ips"}, {len(b.Leases), "leases"}, {len(b.Orders), "orders"},
			} {
				if rows.n > 0 {
					got = append(got, fmt.Sprint(rows.n, " ", rows.what))
				}
			}
			if text := strings.Join(got, " "); text != c.want || len(b.Pools) != 1 {
				t.Errorf("rows are %q, want %q; %d pools", text, c.want, len(b.Pools))
			}
			if len(book.Hosts) != 3 || book.Hosts[2].Host != "b.example.com" {
				t.Errorf("the original book has changed: %v", book.Hosts)
			}
		})
	}
}

func TestMissingNamesThingsWithoutRows(t *testing.T) {
	book := testBook()
	book.Pools = nil
	things := []thing.Thing{{Kind: thing.Host, Host: "a.example.com"}, {Kind: thing.Host, Host: "c.example.com"}}
	rows := selection{named: rowsOf, matches: labels.Everything(), things: things}
	rows.choose(book)
	rows.namespace, rows.shard = "n", "s"
	const want = "host/c.example.com is not found among hosts, dns of namespace n of shard s"
	if err := rows.missing(book, "hosts, dns"); err == nil || err.Error() != want {
		t.Errorf("error %v, want %q", err, want)
	}
	rows.ignoreMissing = true
	if err := rows.missing(book, "hosts, dns"); err != nil {
		t.Error(err)
	}
}
