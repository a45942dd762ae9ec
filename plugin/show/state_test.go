package show

import (
	"bytes"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/thing"
	"github.com/akash-net/kubectl-akash-net/plugin/printing"
	"github.com/akash-net/kubectl-akash-net/plugin/session"
	"github.com/akash-net/kubectl-akash-net/state/diagnose"
	state "github.com/akash-net/kubectl-akash-net/state/status"
	"github.com/akash-net/kubectl-akash-net/state/view"
	"github.com/akash-net/kubectl-akash-net/test/golden"
)

// What the arguments of state mean, and the rows that names choose: testdata/arguments.txt. LEASE is a lease, GROUP its deployment group.
//
//	arguments   subjects, then names; names that show their kind need no subject
//	complete    arguments, and behind a bar what is completed
//	selected    arguments and flags that choose rows: the subjects
//	rows        the rows of things
func TestArguments(t *testing.T) {
	long := strings.NewReplacer("LEASE", owner+"/7/1/2/akash1nxq8gmsw2vlz3m68qvyvcf3kh6q269ajvqw6y0", "GROUP", owner+"/7/1")
	parse := func(args []string, parse func([]string) ([]view.Subject, []thing.Thing, error)) string {
		subjects, things, err := parse(args)
		if err != nil {
			t.Errorf("%q: %v", args, err)
		}
		return strings.ReplaceAll(fmt.Sprint(subjects, " ", things), owner, "OWNER")
	}
	golden.Rules{
		"arguments": func(line string) string { return parse(strings.Fields(long.Replace(line)), parseStateArgs) },
		"complete": func(line string) string {
			args, toComplete, _ := strings.Cut(line, "|")
			got, _ := completeSubjects(nil, strings.Fields(args), toComplete)
			return strings.Join(got, " ")
		},
		"selected": func(line string) string {
			c := session.New(t.Context(), genericiooptions.IOStreams{})
			cmd := NewState(c)
			c.AddFlags(cmd)
			if err := cmd.ParseFlags(strings.Fields(line)); err != nil {
				t.Fatal(err)
			}
			f := &stateFlags{print: printing.NewFlags()}
			f.rows.selector, _ = cmd.Flags().GetString("selector")
			f.rows.allNamespaces, _ = cmd.Flags().GetBool("all-namespaces")
			return parse(cmd.Flags().Args(), func(args []string) ([]view.Subject, []thing.Thing, error) {
				err := f.check(cmd, args)
				return f.subjects, nil, err
			})
		},
		"rows": func(line string) string {
			book := testBook()
			var things []thing.Thing
			for _, text := range strings.Fields(long.Replace(line)) {
				parsed, err := thing.Parse(text)
				if err != nil {
					t.Fatal(err)
				}
				things = append(things, parsed)
			}
			b := book.Of(things...)
			if len(book.Hosts) != 3 || book.Hosts[2].Host != "b.example.com" {
				t.Errorf("the original book has changed: %v", book.Hosts)
			}
			return fmt.Sprintf("%d hosts, %d routes, %d dns, %d ips, %d leases, %d orders, %d pools",
				len(b.Hosts), len(b.Routes), len(b.DNS), len(b.IPs), len(b.Leases), len(b.Orders), len(b.Pools))
		},
	}.Check(t, "testdata/arguments.txt")
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
	got := golden.Cases{}
	for _, output := range []string{"json", "yaml", "wide"} {
		var out bytes.Buffer
		c := session.New(t.Context(), genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &out})
		if err := printStatus(&c.Console, l, l, output); err != nil {
			t.Fatal(err)
		}
		got[output] = out.String()
	}
	got.Check(t, "testdata/status.golden")
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

func TestMissingNamesThingsWithoutRows(t *testing.T) {
	book := testBook()
	book.Pools = nil
	things := []thing.Thing{{Kind: thing.Host, Host: "a.example.com"}, {Kind: thing.Host, Host: "c.example.com"}}
	rows := selection{named: (*view.Book).Of, matches: labels.Everything(), things: things}
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

// The document of doctor begins with what it is.
func TestChecksDocument(t *testing.T) {
	var out bytes.Buffer
	c := session.New(t.Context(), genericiooptions.IOStreams{Out: &out})
	if err := printChecks(&c.Console, nil, "json"); err != nil {
		t.Fatal(err)
	}
	if want := "{\n  \"apiVersion\": \"net.akash.network/v1alpha1\",\n  \"kind\": \"Checks\",\n  \"checks\": null\n}\n"; out.String() != want {
		t.Errorf("%s\nwant %s", &out, want)
	}
}
