package printing

import (
	"math"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/thing"
	"github.com/akash-net/kubectl-akash-net/plan"
	"github.com/akash-net/kubectl-akash-net/plugin/terminal"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

func TestCells(t *testing.T) {
	at := metav1.NewTime(testNow.Add(-90 * time.Minute))
	narrow, wide := &tables{now: func() time.Time { return testNow }}, &tables{wide: true}
	const wallet = "akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h"
	for _, c := range []struct{ name, got, want string }{
		{"an owner in a narrow table", narrow.owner(wallet), "akash1h24…9w3c9h"},
		{"an owner in a wide table", wide.owner(wallet), wallet},
		{"no owner", narrow.owner(""), "-"},
		{"a wallet that would not become shorter", thing.ShortWallet("akash1h249w3c9hx"), "akash1h249w3c9hx"},
		{"a number", number(uint32(7)), "7"},
		{"no number", number(uint64(0)), "-"},
		{"a backend", backend("web", 80), "web:80"},
		{"a backend without a port", backend("web", 0), "web"},
		{"no backend", backend("", 80), "-"},
		{"a port", portText(view.IPRow{Port: 53, Protocol: "UDP"}), "53/udp"},
		{"no port", portText(view.IPRow{Protocol: "UDP"}), "-"},
		{"endpoints", endpoints(&view.Endpoints{Ready: 1, Total: 2}, true), "1/2"},
		{"endpoints of a missing Service", endpoints(&view.Endpoints{Missing: view.MissingService}, true), "no Service"},
		{"endpoints that are not known", endpoints(nil, true), "<unknown>"},
		{"endpoints of what is not routed", endpoints(nil, false), "-"},
		{"a message, and why nothing answers", withSilence("another route serves it too", (&view.Endpoints{Missing: view.MissingPort}).Silent("web", 80)), "another route serves it too; Service web has no port 80"},
		{"why nothing answers", withSilence("", (&view.Endpoints{Missing: view.MissingService}).Silent("web", 80)), "Service web does not exist"},
		{"a message alone", withSilence("held by deployment 1", (&view.Endpoints{Ready: 1, Total: 2}).Silent("web", 80)), "held by deployment 1"},
		{"three items", some([]string{"a", "b", "c"}), "a,b,c"},
		{"five items", some([]string{"a", "b", "c", "d", "e"}), "a,b,c + 2 more..."},
		{"no items", some(nil), "-"},
		{"an age", narrow.age(at), "90m"},
		{"no age", narrow.age(metav1.Time{}), "<unknown>"},
		{"a time", moment(at), "2026-11-18T07:34:00Z"},
		{"no time", moment(metav1.Time{}), "-"},
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
}

func TestPoolBar(t *testing.T) {
	for _, c := range []struct {
		name                  string
		addresses, used, free int64
		want                  string
	}{
		{"a small pool has a square for each address", 4, 1, 3, "■□□□"},
		{"a small pool may be full", 2, 2, 0, "■■"},
		{"more used than counted", 2, 3, 0, "■■"},
		{"a large pool has 20 squares", 40, 10, 30, "■■■■■□□□□□□□□□□□□□□□…"},
		{"one used address of many is shown", 4096, 1, 4095, "■□□□□□□□□□□□□□□□□□□□…"},
		{"one free address of many is shown", 4096, 4095, 1, "■■■■■■■■■■■■■■■■■■■□…"},
		{"one free address of very many is shown", math.MaxInt64, math.MaxInt64 - 1, 1, "■■■■■■■■■■■■■■■■■■■□…"},
		{"a large pool may be full", 4096, 4096, 0, "■■■■■■■■■■■■■■■■■■■■…"},
		{"an empty pool", 0, 0, 0, ""},
	} {
		if got := bar(view.PoolRow{Addresses: c.addresses, Used: c.used, Free: c.free}); got != c.want {
			t.Errorf("%s: bar is %s, want %s", c.name, got, c.want)
		}
	}
}

// A table shows its wide columns only with -o wide, and a column for messages only if there are any.
func TestTableBuilder(t *testing.T) {
	for _, c := range []struct {
		name, message string
		wide          bool
		want          string
	}{
		{"a table", "", false, "NAME\na\n"},
		{"a wide table", "", true, "NAME   SIZE\na      7\n"},
		{"a table with a message", "m", false, "NAME\na      m\n"},
		{"a wide table with a message", "m", true, "NAME   SIZE\na      7      m\n"},
	} {
		var out strings.Builder
		table := NewTable("Name").Wide("Size")
		table.Row(c.message, "a", 7)
		if err := table.Print(&terminal.Table{Out: &out}, c.wide); err != nil || out.String() != c.want {
			t.Errorf("%s is %q, %v; want %q", c.name, out.String(), err, c.want)
		}
	}
}

func TestColumns(t *testing.T) {
	row := map[string]any{
		"host": "a.example.com", "port": int64(80), "lease": nil, "text": "a\nb", "values": []any{"x", "y"},
		"workloads": map[string]any{"state": "active"},
	}
	for _, c := range []struct{ name, columns, want, fails string }{
		{"a field", "HOST:.host", "a.example.com", ""},
		{"a field without a dot", "HOST:host", "a.example.com", ""},
		{"a field in braces", "HOST:{.host}", "a.example.com", ""},
		{"several columns", "HOST:.host,PORT:.port", "a.example.com|80", ""},
		{"a field of a field", "STATE:.workloads.state", "active", ""},
		{"a list", "V:.values[*]", "x,y", ""},
		{"a missing field", "X:.x", "<none>", ""},
		{"null", "L:.lease", "<none>", ""},
		{"several lines", "T:.text", `a\nb`, ""},
		{"no columns", "", "", "name the columns"},
		{"no path", "HOST:", "", `"HOST:" is not HEADER:PATH`},
		{"no header", ":.host", "", `":.host" is not HEADER:PATH`},
		{"an invalid path", "HOST:.values[", "", "--output: column HOST: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			columns, err := parseColumns(c.columns)
			if (err == nil) != (c.fails == "") || err != nil && !strings.Contains(err.Error(), c.fails) {
				t.Fatalf("error %v, want %q", err, c.fails)
			}
			var cells []string
			for _, column := range columns {
				cell, err := column.cell(row)
				if err != nil {
					t.Fatal(err)
				}
				cells = append(cells, cell)
			}
			if got := strings.Join(cells, "|"); got != c.want {
				t.Errorf("cells are %q, want %q", got, c.want)
			}
		})
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
	want := `lease/a/1/1/1/p
host/x.example.com
-   / -> old:80
-   /v0 -> old:80
+   / -> web:80
+   /v1
order/a/1/1/1
+   cpu: 1
host/y.example.com
!   withheld: held by b/1/1
host/z.example.com
!   not held: given up
ingress/x.example.com in namespace n
-   deleted: not defined
ingress/w.example.com in namespace n
-   deleted
service/s in namespace n
+   kind: Service
service/t in namespace n
+   no value changes, only which manager owns the fields
service/u in namespace n: only the definition's hash changes
service/v in namespace n
  spec
+     x: 1
service/w in namespace n
  metadata.annotations
!     net.akash.network/definition: a
+     net.akash.network/definition: b
address/10.0.0.1
-   tcp/1
lease/c/1/1/1/p
!   refused: held\n
2 claim, 1 create, 4 update, 2 delete, 1 release, 1 withheld, 1 left, 1 refused
`
	if got := string(PlanText(p, false)); got != want {
		t.Errorf("text is\n%s\nwant\n%s", got, want)
	}
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
