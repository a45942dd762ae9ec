package printing

import (
	"bytes"
	"math"
	"net/netip"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akash-net/kubectl-akash-net/state/view"
	"github.com/akash-net/kubectl-akash-net/test/golden"
)

var testNow = time.Date(2026, 11, 18, 9, 4, 0, 0, time.UTC)

// testBook is a book with a row of each sort.
func testBook() *view.Book {
	const provider = "akash1nxq8gmsw2vlz3m68qvyvcf3kh6q269ajvqw6y0"
	shop := &view.Tenant{
		Lease: "akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h/8438017/1/1/" + provider,
		Owner: "akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h", DSeq: 8438017, GSeq: 1, OSeq: 1, Provider: provider,
		Namespace: "5reb3l87s85t50v77sosktvdeeg6pfbnlboigoprqv3d4",
	}
	nameless := &view.Tenant{Namespace: "stray"}
	ago := func(d time.Duration) metav1.Time { return metav1.NewTime(testNow.Add(-d)) }
	const key = "akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h-ip-public"
	return &view.Book{
		APIVersion: "net.akash.network/v1alpha1", Kind: "Book",
		Hosts: []view.HostRow{
			{Host: "api.example.com", Tenant: shop, Service: "api", Port: 80, Target: "ingress", Routed: true, State: view.StateActive, Claimed: true, Since: ago(72 * time.Hour), Endpoints: &view.Endpoints{Ready: 2, Total: 2}},
			{Host: "shop.example.com", Tenant: shop, Service: "web", Port: 80, Target: "httproute", Routed: true, State: view.StateActive, Claimed: true, Since: ago(4 * time.Minute), Endpoints: &view.Endpoints{Ready: 0, Total: 2}},
			{Host: "stray.example.com", Tenant: nameless, Target: "ingress", Routed: true, State: view.StateActive, Message: "ingress x/stray.example.com serves it too"},
		},
		IPs: []view.IPRow{
			{Address: netip.MustParseAddr("203.0.113.7"), Family: "IPv4", Tenant: shop, SharingKey: key, Protocol: "TCP", Port: 443, Service: "web", ContainerPort: 8443, Pool: "akash-net-203-0-113-0-28", State: view.StateActive, Claimed: true, Since: ago(time.Hour), Object: "web-ip-443-tcp", Endpoints: &view.Endpoints{Ready: 1, Total: 2}},
			{Address: netip.MustParseAddr("203.0.113.7"), Family: "IPv4", Tenant: shop, SharingKey: key, Protocol: "UDP", Port: 443, Service: "web", ContainerPort: 8443, Pool: "akash-net-203-0-113-0-28", State: view.StateActive, Claimed: true, Since: ago(time.Hour), Object: "web-ip-443-udp"},
			{Address: netip.MustParseAddr("2001:db8:10::7"), Family: "IPv6", Tenant: shop, SharingKey: key, Protocol: "TCP", Port: 443, Service: "web", ContainerPort: 8443, State: view.StateReserved, Claimed: true, Since: ago(time.Hour)},
			{Tenant: shop, SharingKey: key, Protocol: "UDP", Port: 53, Service: "dns", ContainerPort: 5353, State: view.StatePending, Since: ago(time.Second), Object: "dns-ip-53-udp", Endpoints: &view.Endpoints{}},
		},
		Leases: []view.LeaseRow{
			{Tenant: shop, Hosts: []string{"api.example.com", "shop.example.com", "x.example.com", "y.example.com"}, Addresses: []string{"203.0.113.7", "2001:db8:10::7"}, State: view.StatePartial, Since: ago(72 * time.Hour)},
		},
		Pools: []view.PoolRow{
			{Name: "akash-net-203-0-113-0-28", Ranges: []string{"203.0.113.0/28"}, Mode: "range", Addresses: 14, Used: 9, Free: 5},
			{Name: "akash-net-2001-0db8-0010-0000-0000-0000-0000-0000-64", Ranges: []string{"2001:db8:10::/64"}, Mode: "range", Addresses: math.MaxInt64, Used: 2, Free: math.MaxInt64},
			{Name: "empty", Ranges: []string{"192.0.2.0/24"}, Mode: "pool", Addresses: 256, Used: 0, Free: 256},
			{Name: "full", Ranges: []string{"198.51.100.0/24"}, Mode: "pool", Addresses: 256, Used: 256, Free: 0},
			{Name: "nearly-full", Ranges: []string{"a", "b", "c", "d"}, Mode: "pool", Addresses: 256, Used: 255, Free: 1},
		},
		Routes: []view.RouteRow{
			{Kind: "Ingress", Namespace: shop.Namespace, Name: "shop.example.com", Host: "shop.example.com", Path: "/", Admitted: true, Owner: shop.Owner, Lease: shop.Lease, Since: ago(4 * time.Minute)},
			{Kind: "Ingress", Namespace: shop.Namespace, Name: "shop.example.com", Host: "shop.example.com", Path: "/v2", Admitted: true, Owner: shop.Owner, Lease: shop.Lease, Since: ago(4 * time.Minute)},
			{Kind: "Route", Namespace: "blog", Name: "web", Host: "any.example.com", Wildcard: true, Reason: "RouteNotAdmitted", Message: "wildcard routes are not allowed", Since: ago(time.Hour)},
		},
	}
}

// printBook prints with these flags.
func printBook(t *testing.T, f Flags, subjects []view.Subject, books ...*view.Book) []byte {
	t.Helper()
	var out bytes.Buffer
	show, err := f.Printer(subjects, &out, func() time.Time { return testNow })
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range books {
		if err := show(b); err != nil {
			t.Fatal(err)
		}
	}
	return out.Bytes()
}

func TestPrintBook(t *testing.T) {
	hosts := []view.Subject{view.SubjectHosts}
	for name, tc := range map[string]struct {
		output    string
		template  string
		noHeaders bool
		subjects  []view.Subject
	}{
		"table":            {subjects: view.Subjects},
		"no-headers":       {subjects: view.Subjects, noHeaders: true},
		"ordered":          {subjects: []view.Subject{view.SubjectPools, view.SubjectHosts}},
		"wide":             {subjects: view.Subjects, output: "wide"},
		"json":             {subjects: view.Subjects, output: "json"},
		"yaml":             {subjects: view.Subjects, output: "yaml"},
		"kyaml":            {subjects: view.Subjects, output: "kyaml"},
		"name":             {subjects: view.Subjects, output: "name"},
		"jsonpath":         {subjects: hosts, output: `jsonpath={range .hosts[?(@.state=="Active")]}{.host} {.dseq}{"\n"}{end}`},
		"jsonpath-as-json": {subjects: hosts, output: `jsonpath-as-json={.hosts[*].host}`},
		"jsonpath-file":    {subjects: hosts, output: "jsonpath-file=testdata/state/template.jsonpath"},
		"go-template":      {subjects: hosts, output: `go-template={{range .hosts}}{{.host}} {{.dseq}}{{"\n"}}{{end}}`},
		"template-flag":    {subjects: hosts, output: "go-template", template: `{{.kind}}{{"\n"}}`},
		"endpoints":        {subjects: hosts, output: "custom-columns=HOST:.host,READY:.endpoints.ready,TOTAL:.endpoints.total"},
		"custom-columns":   {subjects: []view.Subject{view.SubjectIPs, view.SubjectHosts}, output: "custom-columns=THING:.address,HOST:{.host},DSEQ:dseq,CLAIMED:.claimed"},
		"routes":           {subjects: []view.Subject{view.SubjectRoutes}},
		"columns-bare":     {subjects: hosts, noHeaders: true, output: "custom-columns=HOST:.host,NONE:.nothing,SINCE:.since"},
		"columns-lists":    {subjects: []view.Subject{view.SubjectLeases}, output: "custom-columns=FIRST:.hosts[0],ALL:.hosts[*]"},
	} {
		t.Run(name, func(t *testing.T) {
			f := NewFlags()
			f.Output, f.noHeaders = tc.output, tc.noHeaders
			*f.templates.TemplateArgument = tc.template
			golden.Check(t, "testdata/state/"+name+".golden", string(printBook(t, f, tc.subjects, testBook())))
		})
	}
}

// With shards the table has a column for them.
func TestPrintShards(t *testing.T) {
	b := testBook()
	for i := range b.Routes[:2] {
		b.Routes[i].Shard = "public"
	}
	golden.Check(t, "testdata/state/shards.golden", string(printBook(t, NewFlags(), []view.Subject{view.SubjectRoutes}, b)))
}

// An empty list is written, a list that was not asked for is not.
func TestPrintEmptyBook(t *testing.T) {
	b := &view.Book{APIVersion: "net.akash.network/v1alpha1", Kind: "Book", Hosts: []view.HostRow{}}
	golden.Rules{"output": func(output string) string {
		f := NewFlags()
		f.Output = output
		return string(printBook(t, f, []view.Subject{view.SubjectHosts}, b))
	}}.Check(t, "testdata/empty.txt")
}

// In a watch the header is repeated once, when the first message comes, and not when it goes.
func TestPrintChangedMessages(t *testing.T) {
	var books []*view.Book
	for _, e := range []view.Endpoints{{Ready: 1, Total: 2}, {Total: 2}, {Ready: 1, Total: 2}, {Total: 2}, {Ready: 2, Total: 2}} {
		b := testBook()
		b.Hosts = b.Hosts[:1]
		b.Hosts[0].Endpoints = &e
		books = append(books, b)
	}
	out := string(printBook(t, NewFlags(), []view.Subject{view.SubjectHosts}, books...))
	if n := strings.Count(out, "HOST"); n != 2 || strings.Count(out, "0 of 2 endpoints ready") != 2 || strings.Count(out, "api.example.com") != len(books) {
		t.Errorf("%d headers:\n%s", n, out)
	}
}

// In a watch changed rows have the columns of the first rows, and no header.
func TestPrintChanges(t *testing.T) {
	first, changed := testBook(), testBook()
	first.Hosts, changed.Hosts = first.Hosts[:1], changed.Hosts[1:2]
	changed.Hosts[0].State, changed.Hosts[0].Endpoints = view.StateReleased, nil
	hosts := []view.Subject{view.SubjectHosts}
	for name, output := range map[string]string{"watch": "", "watch-columns": "custom-columns=HOST:.host,STATE:.state", "watch-yaml": "yaml"} {
		t.Run(name, func(t *testing.T) {
			f := NewFlags()
			f.Output = output
			for _, b := range []*view.Book{first, changed} {
				b.IPs, b.Leases, b.Pools = nil, nil, nil
			}
			golden.Check(t, "testdata/state/"+name+".golden", string(printBook(t, f, hosts, first, changed)))
		})
	}
}
