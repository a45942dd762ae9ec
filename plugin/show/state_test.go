package show

import (
	"bytes"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/thing"
	"github.com/akash-net/kubectl-akash-net/plugin/printing"
	"github.com/akash-net/kubectl-akash-net/plugin/session"
	"github.com/akash-net/kubectl-akash-net/state/diagnose"
	state "github.com/akash-net/kubectl-akash-net/state/status"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

func TestParseSubjects(t *testing.T) {
	for words, want := range map[string][]view.Subject{
		"":                        nil,
		"hosts":                   {view.SubjectHosts},
		"dns":                     {view.SubjectDNS},
		"resources":               {view.SubjectResources},
		"order,orders":            {view.SubjectOrders},
		"pool,Host ip host":       {view.SubjectPools, view.SubjectHosts, view.SubjectIPs},
		"leases pools ips hosts ": {view.SubjectLeases, view.SubjectPools, view.SubjectIPs, view.SubjectHosts},
		"route,routes":            {view.SubjectRoutes},
	} {
		got, err := parseSubjects(strings.Fields(words))
		if err != nil {
			t.Errorf("%q: %v", words, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", words, diff)
		}
	}
}

func TestCompleteSubjects(t *testing.T) {
	for words, want := range map[string][]string{
		"|":            {"hosts", "ips", "leases", "pools", "routes", "dns", "resources", "orders"},
		"hosts ip|":    {"leases", "pools", "routes", "dns", "resources", "orders"},
		"|l":           {"leases"},
		"pools|hosts,": {"hosts,ips", "hosts,leases", "hosts,routes", "hosts,dns", "hosts,resources", "hosts,orders"},
	} {
		args, toComplete, _ := strings.Cut(words, "|")
		got, _ := completeSubjects(nil, strings.Fields(args), toComplete)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", words, diff)
		}
	}
}

func TestSubjectsOfASelection(t *testing.T) {
	for words, want := range map[string][]view.Subject{
		"":                     view.Holdings,
		"-A":                   view.Holdings,
		"-n some -A":           view.Holdings,
		"-n some":              {view.SubjectHosts, view.SubjectIPs, view.SubjectLeases},
		"-l akash.network=x":   {view.SubjectHosts, view.SubjectIPs, view.SubjectLeases},
		"leases --namespace=x": {view.SubjectLeases},
	} {
		t.Run(words, func(t *testing.T) {
			c := session.New(t.Context(), genericiooptions.IOStreams{})
			cmd := NewState(c)
			c.AddFlags(cmd)
			if err := cmd.ParseFlags(strings.Fields(words)); err != nil {
				t.Fatal(err)
			}
			f := &stateFlags{print: printing.NewFlags()}
			f.rows.selector, _ = cmd.Flags().GetString("selector")
			f.rows.allNamespaces, _ = cmd.Flags().GetBool("all-namespaces")
			if err := f.check(cmd, cmd.Flags().Args()); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, f.subjects); diff != "" {
				t.Errorf("subjects (-want +got):\n%s", diff)
			}
		})
	}
}

// Explanations escape control characters in claims, which anybody who can write Leases may have written.
func TestNothingOfAnExplanationIsObeyed(t *testing.T) {
	const escape = "\x1b[2J\u009b\u202e\x07\r\n"
	var out bytes.Buffer
	c := session.New(t.Context(), genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &out})
	printExplanation(&c.Console, diagnose.Explanation{Summary: "s" + escape, Facts: []string{"f" + escape}, Next: []string{"n" + escape}})
	if got := out.String(); strings.Count(got, "\n") != 3 || strings.ContainsAny(got, "\x1b\u009b\u202e\x07\r") {
		t.Errorf("printed is %q", got)
	}
}

func TestStatusIsPrinted(t *testing.T) {
	l := &state.Lease{
		Services: map[string]*state.Service{"web": {Name: "web", Available: 1, Total: 2, ReadyReplicas: 2, URIs: []string{"a.example.com", "b\x1b[31m.example.com"}}, "db": {Name: "db"}},
		ForwardedPorts: map[string][]state.ForwardedPort{
			"web": {{Port: 53, ExternalPort: 31000, Proto: "UDP", Name: "web"}}},
		IPs: map[string][]state.LeasedIP{"web": {{Port: 80, ExternalPort: 8080, Protocol: "TCP", IP: "203.0.113.7"}}},
	}
	for output, want := range map[string][]string{
		"json": {`"externalPort": 31000`, `"ExternalPort": 8080`, `"uris": null`},
		"yaml": {"externalPort: 31000", `IP: "203.0.113.7"`, "uris: null"},
		"wide": {"SERVICE", "db        0/0", "web       1/2", "53:31000/UDP", "203.0.113.7 8080/TCP", "<none>"},
	} {
		var out bytes.Buffer
		c := session.New(t.Context(), genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &out})
		if err := printStatus(&c.Console, l, l, output); err != nil {
			t.Fatal(err)
		}
		for _, text := range want {
			if !strings.Contains(out.String(), text) {
				t.Errorf("-o %s: %q is not printed:\n%s", output, text, out.String())
			}
		}
	}
}

// Names follow subjects; names that show their kind need no subject.
func TestParseStateArgs(t *testing.T) {
	type parsed struct {
		Subjects []view.Subject
		Things   []string
	}
	const typed = "akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h/8438017/1/1/akash1nxq8gmsw2vlz3m68qvyvcf3kh6q269ajvqw6y0"
	lease := "lease/" + typed
	for words, want := range map[string]parsed{
		"hosts":                                {Subjects: []view.Subject{view.SubjectHosts}},
		"hosts shop.example.com":               {[]view.Subject{view.SubjectHosts}, []string{"host/shop.example.com"}},
		"hosts Shop.example.com. host/a/b ips": {[]view.Subject{view.SubjectHosts}, []string{"host/shop.example.com", "host/a/b", "host/ips"}},
		"hosts pods":                           {[]view.Subject{view.SubjectHosts}, []string{"host/pods"}},
		"hosts a.b a.b":                        {[]view.Subject{view.SubjectHosts}, []string{"host/a.b"}},
		"ips public 203.0.113.5":               {[]view.Subject{view.SubjectIPs}, []string{"host/public", "address/203.0.113.5"}},
		"ips ip/2001:DB8::1":                   {[]view.Subject{view.SubjectIPs}, []string{"address/2001:db8::1"}},
		"hosts,routes dns *.example.com":       {[]view.Subject{view.SubjectHosts, view.SubjectRoutes, view.SubjectDNS}, []string{"host/*.example.com"}},
		"leases LEASE":                         {[]view.Subject{view.SubjectLeases}, []string{lease}},
		"shop.example.com":                     {[]view.Subject{view.SubjectHosts}, []string{"host/shop.example.com"}},
		"LEASE endpoint/public host/a":         {[]view.Subject{view.SubjectHosts, view.SubjectIPs, view.SubjectLeases}, []string{lease, "endpoint/public", "host/a"}},
		"ips address/203.0.113.5":              {[]view.Subject{view.SubjectIPs}, []string{"address/203.0.113.5"}},
		"https://shop.example.com/x":           {[]view.Subject{view.SubjectHosts}, []string{"host/shop.example.com/x"}},
	} {
		subjects, things, err := parseStateArgs(strings.Fields(strings.ReplaceAll(words, "LEASE", typed)))
		if err != nil {
			t.Errorf("%q: %v", words, err)
		}
		got := parsed{Subjects: subjects}
		for _, n := range things {
			got.Things = append(got.Things, n.String())
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", words, diff)
		}
	}
}

const owner = "akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h"

func tenant(dseq uint64, oseq uint32) *view.Tenant {
	return &view.Tenant{Owner: owner, DSeq: dseq, GSeq: 1, OSeq: oseq}
}

func testBook() *view.Book {
	return &view.Book{
		Hosts:  []view.HostRow{{Host: "a.example.com", Path: "/"}, {Host: "a.example.com", Path: "/v1"}, {Host: "b.example.com", Path: "/"}},
		Routes: []view.RouteRow{{Host: "a.example.com", Path: "/v1", Name: "plain"}, {Host: "www.apps.example.com", Path: "/", Wildcard: true, Kind: "Route", Name: "wildcard"}},
		DNS:    []view.DNSRow{{Host: "a.example.com"}, {Host: "b.example.com"}},
		IPs: []view.IPRow{
			{Address: netip.MustParseAddr("203.0.113.7"), Tenant: tenant(7, 1), SharingKey: lease.SharingKey(owner, "public")},
			{Address: netip.MustParseAddr("203.0.113.8"), Tenant: tenant(7, 1), SharingKey: lease.SharingKey(owner, "mail")},
		},
		Leases: []view.LeaseRow{{Tenant: tenant(7, 1)}, {Tenant: tenant(7, 2)}, {Tenant: tenant(8, 1)}},
		Orders: []view.OrderRow{{Tenant: tenant(7, 1), Order: owner + "/7/1/1"}, {Tenant: tenant(7, 2), Order: owner + "/7/1/2"}},
		Pools:  []view.PoolRow{{Name: "pool"}},
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
