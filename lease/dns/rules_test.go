package dns_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/akash-net/kubectl-akash-net/lease/dns"
)

// What is said of records, targets and names in full: testdata/rules.txt; `go test ./lease/dns -rewrite` writes it.
//
//	records    a block is what goes together, a record a line: TYPE NAME TTL VALUE;VALUE
//	record     each line is a record by itself
//	targets    each line is what the configuration names, and what is made of it for a.example.com
//	numbers    names, and whether they end in a number
//	zone       a name, and zones
func TestRules(t *testing.T) {
	datadriven.RunTest(t, "testdata/rules.txt", func(t *testing.T, d *datadriven.TestData) string {
		var out strings.Builder
		say := func(err error) {
			if err == nil {
				fmt.Fprintln(&out, "    good")
				return
			}
			fmt.Fprintln(&out, "    "+strings.ReplaceAll(err.Error(), "\n", "\n    "))
		}
		var all []dns.Record
		for line := range strings.Lines(d.Input) {
			line = strings.TrimSuffix(line, "\n")
			words := strings.Fields(line)
			if d.Cmd != "records" {
				fmt.Fprintln(&out, line)
			}
			switch d.Cmd {
			case "records":
				all = append(all, parseRecord(t, line))
			case "record":
				say(dns.Check(parseRecord(t, line)))
			case "targets":
				for _, err := range dns.CheckTargets(words) {
					say(err)
				}
				target := dns.ParseTarget(words)
				for _, r := range target.Records("a.example.com", 60) {
					fmt.Fprintf(&out, "    %s %v\n", r.Type, r.Values)
				}
				if target.Empty() != (len(target.Records("a.example.com", 0)) == 0) {
					t.Errorf("%s is nothing: %v", line, target.Empty())
				}
			case "numbers":
				fmt.Fprintf(&out, "    %v\n", dns.EndsInNumber(line))
			case "zone":
				fmt.Fprintf(&out, "    %d\n", dns.Zone(words[0], words[1:]))
			}
		}
		if d.Cmd == "records" {
			say(dns.CheckAll(all))
		}
		return out.String()
	})
}

func parseRecord(t *testing.T, line string) dns.Record {
	t.Helper()
	words := strings.SplitN(line, " ", 4)
	r := dns.Record{Type: dns.Type(words[0]), Name: words[1]}
	if _, err := fmt.Sscan(words[2], &r.TTL); err != nil {
		t.Fatal(line, err)
	}
	if text, times, ok := strings.Cut(r.Name, "×"); ok {
		var n int
		if _, err := fmt.Sscan(times, &n); err != nil {
			t.Fatal(line, err)
		}
		r.Name = strings.Repeat(text, n) + "com"
	}
	for value := range strings.SplitSeq(words[3], ";") {
		if value != "none" {
			r.Values = append(r.Values, strings.NewReplacer(`\n`, "\n", `\xff`, "\xff", "''", "", "255×a", strings.Repeat("a", 255), "256×a", strings.Repeat("a", 256)).Replace(value))
		}
	}
	return r
}

// The owner's record is valid for every host, and no two hosts share one.
func TestWhoOwnsAHost(t *testing.T) {
	const lease = "akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h/18446744073709551615/4294967295/4294967295/akash1nxq8gmsw2vlz3m68qvyvcf3kh6q269ajvqw6y0"
	for host, want := range map[string]string{
		"a.example.com": "_akash-net.a.example.com", "*.example.com": "_akash-net.wc--any.example.com", "example.com": "_akash-net.example.com",
		strings.Repeat("abcdefg.", 31) + "com": "",
	} {
		r := dns.Owner(host, lease, 60)
		if err := dns.Check(r); (err == nil) != (want != "") || err == nil && (r.Name != want || r.Type != dns.TXT || r.TTL != 60 || r.Values[0] != "heritage=akash-net,akash-net/lease="+lease) {
			t.Errorf("%s: %+v, %v", host, r, err)
		}
	}
}

// Whatever addresses a status lists, in whatever order, the records are the same, and good.
func TestRecordsOfATarget(t *testing.T) {
	a, b, c := netip.MustParseAddr("192.0.2.2"), netip.MustParseAddr("192.0.2.10"), netip.MustParseAddr("2001:db8::1")
	for _, addresses := range [][]netip.Addr{{a, b, c}, {c, b, a, b}, {b, c, a, a}} {
		records := dns.Target{Addresses: addresses, Host: "lb.example.com"}.Records("a.example.com", 60)
		if got := fmt.Sprint(records); got != "[{a.example.com A [192.0.2.2 192.0.2.10] 60} {a.example.com AAAA [2001:db8::1] 60}]" {
			t.Errorf("%v: %s", addresses, got)
		}
		if err := dns.CheckAll(records); err != nil {
			t.Error(err)
		}
	}
}
