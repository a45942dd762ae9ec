package printing

import (
	"bytes"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akash-net/kubectl-akash-net/engine/plan"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/dns"
	"github.com/akash-net/kubectl-akash-net/lease/thing"
	"github.com/akash-net/kubectl-akash-net/plugin/terminal"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/view"
	"github.com/akash-net/kubectl-akash-net/test/golden"
)

// cell returns the cell of a column in the first row of the only list of a book.
func cell(t *testing.T, b *view.Book, column string, look view.Look) string {
	t.Helper()
	for _, l := range view.Listings() {
		if table := l.Table(b, look); len(table.Rows) > 0 {
			return table.Rows[0][slices.Index(table.Columns, column)]
		}
	}
	t.Fatal("there is no row")
	return ""
}

func TestCells(t *testing.T) {
	const wallet = "akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h"
	look, whole := view.Look{Now: testNow}, view.Look{Whole: true, Now: testNow}
	host := func(r view.HostRow) *view.Book {
		if r.Tenant == nil {
			r.Tenant = &view.Tenant{}
		}
		return &view.Book{Hosts: []view.HostRow{r}}
	}
	port := func(n uint16) *view.Book {
		return &view.Book{IPs: []view.IPRow{{Tenant: &view.Tenant{}, Port: n, Protocol: "UDP"}}}
	}
	lease := func(addresses ...string) *view.Book {
		return &view.Book{Leases: []view.LeaseRow{{Tenant: &view.Tenant{}, Addresses: addresses}}}
	}
	owner := &view.Tenant{Owner: wallet, DSeq: 7}
	at := metav1.NewTime(testNow.Add(-90 * time.Minute))
	for _, c := range []struct{ name, got, want string }{
		{"an owner in a narrow table", cell(t, host(view.HostRow{Tenant: owner}), "Owner", look), "akash1h24…9w3c9h"},
		{"an owner in a wide table", cell(t, host(view.HostRow{Tenant: owner}), "Owner", whole), wallet},
		{"no owner", cell(t, host(view.HostRow{}), "Owner", look), "-"},
		{"a wallet that would not become shorter", thing.ShortWallet("akash1h249w3c9hx"), "akash1h249w3c9hx"},
		{"a number", cell(t, host(view.HostRow{Tenant: owner}), "DSeq", look), "7"},
		{"no number", cell(t, host(view.HostRow{}), "DSeq", look), "-"},
		{"a backend", cell(t, host(view.HostRow{Service: "web", Port: 80}), "Service", look), "web:80"},
		{"a backend without a port", cell(t, host(view.HostRow{Service: "web"}), "Service", look), "web"},
		{"no backend", cell(t, host(view.HostRow{Port: 80}), "Service", look), "-"},
		{"a port", cell(t, port(53), "Port", look), "53/udp"},
		{"no port", cell(t, port(0), "Port", look), "-"},
		{"a route that leads to the Service", cell(t, host(view.HostRow{Target: "ingress", Routed: true}), "Routed", look), "ingress"},
		{"a route that does not", cell(t, host(view.HostRow{Target: "ingress"}), "Routed", look), "no"},
		{"a route of somebody else", cell(t, host(view.HostRow{Target: "ingress", State: view.StateTransferring}), "Routed", look), "-"},
		{"no route", cell(t, host(view.HostRow{}), "Routed", look), "-"},
		{"endpoints of a missing Service", cell(t, host(view.HostRow{Service: "web", Target: "ingress", Endpoints: &view.Endpoints{Missing: view.MissingService}}), "Answers", look), "no Service"},
		{"endpoints that are not known", cell(t, host(view.HostRow{Service: "web", Target: "ingress"}), "Answers", look), "<unknown>"},
		{"endpoints of what is not routed", cell(t, host(view.HostRow{Service: "web"}), "Answers", look), "-"},
		{"three items", cell(t, lease("a", "b", "c"), "Addresses", look), "a,b,c"},
		{"five items", cell(t, lease("a", "b", "c", "d", "e"), "Addresses", look), "a,b,c + 2 more..."},
		{"no items", cell(t, lease(), "Addresses", look), "-"},
		{"an age", cell(t, host(view.HostRow{Since: at}), "Age", look), "90m"},
		{"no age", cell(t, host(view.HostRow{}), "Age", look), "<unknown>"},
		{"a time", cell(t, host(view.HostRow{Since: at}), "Since", whole), "2026-11-18T07:34:00Z"},
		{"no time", cell(t, host(view.HostRow{}), "Since", whole), "-"},
		{"a number of addresses", view.CountText(256), "256"},
		{"as many addresses as IPv4 has", view.CountText(1 << 32), "2^32"},
		{"one less", view.CountText(1<<32 - 1), "4294967295"},
		{"a range without a few addresses", view.CountText(1<<62 - 3), "≈2^62"},
		{"a range and a few addresses", view.CountText(1<<62 + 3), "≈2^62"},
		{"addresses between two powers", view.CountText(3 << 40), "≥2^41"},
		{"more addresses than can be counted", view.CountText(math.MaxInt64), "≥2^63"},
	} {
		if c.got != c.want {
			t.Errorf("%s is %q, want %q", c.name, c.got, c.want)
		}
	}
	for message, want := range map[string]string{"another route serves it too": "another route serves it too; Service web has no port 80", "": "Service web has no port 80"} {
		b := host(view.HostRow{Message: message, Service: "web", Port: 80, Endpoints: &view.Endpoints{Missing: view.MissingPort}})
		if got := view.ListingOf(view.SubjectHosts).Table(b, look).Messages[0]; got != want {
			t.Errorf("the message is %q, want %q", got, want)
		}
	}
}

// A table shows its wide columns only with -o wide, and a column for messages only if there are any.
func TestTableBuilder(t *testing.T) {
	for want, c := range map[string]struct {
		message string
		wide    bool
	}{
		"NAME\na\n": {}, "NAME   SIZE\na      7\n": {wide: true}, "NAME\na      m\n": {message: "m"}, "NAME   SIZE\na      7      m\n": {"m", true},
	} {
		var out strings.Builder
		table := NewTable("Name").Wide("Size")
		table.Row(c.message, "a", 7)
		if err := table.Print(&terminal.Table{Out: &out}, c.wide); err != nil || out.String() != want {
			t.Errorf("%+v is %q, %v; want %q", c, out.String(), err, want)
		}
	}
}

// How much is used is drawn as squares, a field of a row is a column, and rows are sorted by a field: testdata/rules.txt.
//
//	pool       how many addresses there are, are used and are free; "max" is as many as can be counted
//	resource   what is allocatable, in use and reserved
//	columns    columns of a row that has a host, a port, null, several lines, a list and an object
//	hosts, ips --sort-by, of rows that have these
func TestRules(t *testing.T) {
	row := map[string]any{
		"host": "a.example.com", "port": int64(80), "lease": nil, "text": "a\nb", "values": []any{"x", "y"},
		"workloads": map[string]any{"state": "active"},
	}
	book := func() *view.Book {
		return &view.Book{
			Hosts: []view.HostRow{
				{Host: "n10.example.com", Tenant: &view.Tenant{DSeq: 9}}, {Host: "n9.example.com", Tenant: &view.Tenant{DSeq: 10}, Port: 80},
				{Host: "a.example.com", Tenant: &view.Tenant{DSeq: 10}, Port: 9},
			},
			IPs: []view.IPRow{{Address: netip.MustParseAddr("203.0.113.10")}, {Address: netip.MustParseAddr("203.0.113.9")}},
		}
	}
	sorted := func(subject view.Subject, book func() *view.Book) func(string) string {
		return func(line string) string {
			var out bytes.Buffer
			f := NewFlags()
			f.Output, f.SortBy = "name", line
			show, err := f.Printer([]view.Subject{subject}, &out, time.Now)
			if err == nil {
				err = show(book())
			}
			if err != nil {
				return "! " + err.Error()
			}
			return strings.Join(strings.Fields(out.String()), " ")
		}
	}
	numbers := func(line string) (n [3]uint64) {
		for i, text := range strings.Fields(line) {
			var err error
			if n[i], err = strconv.ParseUint(text, 10, 64); err != nil {
				t.Fatal(err)
			}
		}
		return n
	}
	golden.Rules{
		"pool": func(line string) string {
			n := numbers(line)
			return cell(t, &view.Book{Pools: []view.PoolRow{{Addresses: int64(n[0]), Used: int64(n[1]), Free: int64(n[2])}}}, "", view.Look{})
		},
		"resource": func(line string) string {
			n := numbers(line)
			return cell(t, &view.Book{Resources: []view.ResourceRow{{Allocatable: n[0], InUse: n[1], Reserved: n[2]}}}, "", view.Look{})
		},
		"columns": func(line string) string {
			columns, err := parseColumns(line)
			if err != nil {
				return "! " + err.Error()
			}
			var cells []string
			for _, column := range columns {
				cell, err := column.cell(row)
				if err != nil {
					t.Fatal(err)
				}
				cells = append(cells, cell)
			}
			return strings.Join(cells, "|")
		},
		"hosts": sorted(view.SubjectHosts, book), "ips": sorted(view.SubjectIPs, book),
		"none": sorted(view.SubjectHosts, func() *view.Book { return &view.Book{} }),
	}.Check(t, "testdata/rules.txt")
	if got := cell(t, &view.Book{Resources: []view.ResourceRow{{Allocatable: math.MaxUint64, Unlimited: true}}}, "", view.Look{}); got != "" {
		t.Errorf("what has no limit has the bar %s", got)
	}
}

// Each change of a plan is a block: its name, and what happens to it.
func TestPlanText(t *testing.T) {
	after := map[string]any{"/": "web:80", "/v1": ""}
	hash := plan.Field{Path: plan.Path{"metadata", "annotations", lease.AnnotationDefinition}, Before: "a", After: "b"}
	taken := hash
	taken.Conflict = true
	p := plan.New(plan.Settings{}, []plan.Lease{
		{Lease: "a/1/1/1/p", Changes: []plan.Change{
			{Action: plan.Claim, Kind: "host", Name: "x.example.com", Before: map[string]any{"/": "old:80", "/v0": "old:80"}, After: after},
			{Action: plan.Claim, Kind: "order", Name: "a/1/1/1", After: map[string]any{"cpu": "1"}},
			{Action: plan.Withhold, Kind: "host", Name: "y.example.com", Why: "held by b/1/1"},
			{Action: plan.Leave, Kind: "host", Name: "z.example.com", Why: "given up"},
			{Action: plan.Delete, Kind: "ingress", Namespace: "n", Name: "x.example.com", Why: "not defined"},
			{Action: plan.Delete, Kind: "ingress", Namespace: "n", Name: "w.example.com"},
			{Action: plan.Create, Kind: "service", Namespace: "n", Name: "s", After: map[string]any{"kind": "Service"}},
			{Action: plan.Update, Kind: "service", Namespace: "n", Name: "t"},
			{Action: plan.Update, Kind: "service", Namespace: "n", Name: "u", Fields: []plan.Field{hash}},
			{Action: plan.Update, Kind: "service", Namespace: "n", Name: "v", Fields: []plan.Field{hash, {Path: plan.Path{"spec", "x"}, After: 1}}},
			{Action: plan.Update, Kind: "service", Namespace: "n", Name: "w", Fields: []plan.Field{taken}},
			{Action: plan.GiveUp, Kind: "address", Name: "10.0.0.1", Before: map[string]any{"tcp/1": ""}},
		}},
		{Lease: "b/1/1/1/p"},
		{Lease: "c/1/1/1/p", Refused: "held\n"},
	})
	golden.Check(t, "testdata/plan.golden", string(PlanText(p, false)))
	if got := string(PlanText(plan.Plan{Leases: p.Leases[2:]}, true)); got != "lease/c/1/1/1/p\n\x1b[33m!   refused: held\\n\x1b[0m\n1 refused\n" {
		t.Errorf("coloured text is %q", got)
	}
	if got := string(PlanNames(plan.Plan{Leases: []plan.Lease{{Changes: p.Leases[0].Changes[:2]}, {Changes: p.Leases[0].Changes[:1]}, p.Leases[2]}})); got != "host/x.example.com\norder/a/1/1/1\nlease/c/1/1/1/p\n" {
		t.Errorf("names are %q", got)
	}
	if got := string(PlanText(plan.Plan{Leases: p.Leases[1:2]}, false)); got != "" {
		t.Errorf("no changes are printed as %q", got)
	}
}

// The records of hosts in the formats that are made here.
func TestPrintRecords(t *testing.T) {
	shop := testBook().Hosts[0].Tenant
	ago := func(d time.Duration) metav1.Time { return metav1.NewTime(testNow.Add(-d)) }
	book := &view.Book{APIVersion: "net.akash.network/v1alpha1", Kind: "Book", DNS: []view.DNSRow{
		{Host: "api.example.com", Name: "api.example.com", Type: dns.A, Values: []string{"192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4"}, TTL: 300, Zone: "Z1", Tenant: shop, Kind: "dnsrecord", Object: "api.example.com-a", LastOperation: "Reconcile Succeeded", State: view.StateActive, Since: ago(time.Hour)},
		{Host: "api.example.com", Name: "_akash-net.api.example.com", Type: dns.TXT, Values: []string{"heritage=akash-net"}, TTL: 300, Zone: "Z1", Tenant: shop, Kind: "dnsrecord", Object: "api.example.com-txt", LastOperation: "Create Error", State: view.StateFailed, Since: ago(time.Hour), Message: "no such zone"},
		{Host: "shop.example.com", Name: "shop.example.com", Type: dns.CNAME, Values: []string{"lb.example.net"}, Tenant: shop, Kind: "dnsendpoint", Object: "shop.example.com", State: view.StatePending, Since: ago(time.Second)},
	}}
	for name, output := range map[string]string{"table": "", "wide": "wide", "name": "name", "json": "json"} {
		f := NewFlags()
		f.Output = output
		golden.Check(t, "testdata/dns/"+name, string(printBook(t, f, []view.Subject{view.SubjectDNS}, book)))
	}
}

// narrowBook is testBook with problems.
func narrowBook() *view.Book {
	b := testBook()
	since := metav1.NewTime(testNow.Add(-time.Hour))
	b.Problems = []state.Problem{
		{
			Problem: "UnservedHost", Thing: "shop.example.com", Lease: b.Leases[0].Lease, Namespace: b.Leases[0].Namespace, Since: since,
			Message: "the host is held by lease akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h/8438017/1, and nothing routes it",
			Plan:    "apply its definition again", Command: "kubectl akash-net repair UnservedHost/shop.example.com",
		},
		{Problem: "StrayRoute", Thing: "stray.example.com", Message: "no lease holds it", Plan: "delete it", Fix: &state.Fix{Do: state.DeleteObjects}},
	}
	return b
}

// At the width of a terminal no line wraps except a word that is longer than the terminal.
func TestPrintNarrow(t *testing.T) {
	subjects := append(view.Subjects[:len(view.Subjects):len(view.Subjects)], view.SubjectProblems)
	for _, width := range []int{160, 80, 40} {
		for _, wide := range []bool{false, true} {
			name := fmt.Sprintf("state/columns-%d%s.golden", width, map[bool]string{true: "-wide"}[wide])
			var out bytes.Buffer
			now := func() time.Time { return testNow }
			if err := newTables(subjects, &out, func() int { return width }, wide, false, now).print(narrowBook()); err != nil {
				t.Fatal(err)
			}
			golden.Check(t, "testdata/"+name, out.String())
			for line := range strings.Lines(out.String()) {
				line = strings.TrimSuffix(line, "\n")
				folded := strings.Contains(line, "kubectl ") || !strings.Contains(strings.TrimSpace(line), " ")
				if n := terminal.Cells(line); n > width && !folded {
					t.Errorf("%s: %d cells: %s", name, n, line)
				}
			}
		}
	}
}

// A changed field is printed below its parent; of a multi-line value only the changed lines are, with two lines of context.
func TestPlanTextOfFields(t *testing.T) {
	list := func(image string, more ...any) []any {
		return append([]any{map[string]any{"a": 1, "b": 2, "c": 3, "d": 4, "image": image, "name": "web"}}, more...)
	}
	by := []plan.Owner{{Manager: "kubectl"}}
	got := golden.Cases{}
	for name, fields := range map[string][]plan.Field{
		"values below one path": {
			{Path: plan.Path{"spec", "a"}, Before: 1, After: 2, Owners: by}, {Path: plan.Path{"spec", "b"}, After: "x"}, {Path: plan.Path{"spec", "c"}, Before: true},
		},
		"a field of an item":   {{Path: plan.Path{"spec", "containers", `k:{"name":"web"}`, "image"}, Before: "web:1", After: "web:2"}},
		"an item":              {{Path: plan.Path{"spec", "ports", `k:{"port":80,"protocol":"TCP"}`}, Before: map[string]any{"port": 80, "protocol": "TCP"}}},
		"a line of many":       {{Path: plan.Path{"services"}, Before: list("web:1"), After: list("web:2"), Owners: by}},
		"lines in conflict":    {{Path: plan.Path{"l"}, Before: []any{"a", "b"}, After: []any{"a", "c"}, Owners: by, Conflict: true}},
		"one line becomes two": {{Path: plan.Path{"l"}, Before: []any{"a"}, After: []any{"a", "c"}}},
	} {
		w := PlanWriter{}
		w.fields(fields)
		got[name] = w.out.String()
	}
	got.Check(t, "testdata/fields.golden")
}

// A lease that the reconciler leaves as it is says so.
func TestPrintSuspended(t *testing.T) {
	b := testBook()
	b.Leases[0].Suspended = true
	golden.Check(t, "testdata/state/suspended.golden", string(printBook(t, NewFlags(), []view.Subject{view.SubjectLeases}, b)))
}
