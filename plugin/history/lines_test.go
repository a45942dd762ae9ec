package history

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/akash-net/kubectl-akash-net/apply/cluster"
	"github.com/akash-net/kubectl-akash-net/apply/migrate"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/report"
	"github.com/akash-net/kubectl-akash-net/state"
)

var (
	tenant = lease.ID{Owner: "akash1a", DSeq: 1, GSeq: 1, OSeq: 1, Provider: "akash1p"}
	other  = lease.Group{Owner: "akash1a", DSeq: 2, GSeq: 1}
)

// What a story says of each report: the lease, the type, the reason, the text, and the names.
func TestLines(t *testing.T) {
	failed := func(err error) report.Event { return report.Event{Action: report.Failed, Err: err} }
	held := &report.HeldError{Lease: tenant, Held: []report.HeldThing{
		{Kind: state.Host, Thing: "a.example.com", By: state.Holder{Lease: lease.ID{Owner: "akash1b", DSeq: 7, GSeq: 1, OSeq: 1, Provider: "akash1p"}}},
	}}
	settling := &migrate.SettlingError{
		Lease: tenant, Routes: []string{"ingress/a.example.com", "httproute/b.example.com"}, Until: time.Date(2026, 11, 27, 12, 5, 0, 0, time.UTC),
	}
	for name, tt := range map[string]struct {
		event report.Event
		want  string
	}{
		"claimed":         {report.Event{Action: report.Claimed, Kind: "host", Name: "a.example.com"}, "1/1 Normal Claimed host/a.example.com [a.example.com]"},
		"pruned":          {report.Event{Action: report.Pruned, Kind: "ingress", Namespace: "n", Name: "a.example.com"}, "1/1 Normal Pruned ingress/a.example.com [a.example.com]"},
		"pruned, a claim": {report.Event{Action: report.Pruned, Kind: "host", Name: "a.example.com"}, "1/1 Normal Released host/a.example.com [a.example.com]"},
		"wildcard":        {report.Event{Action: report.Claimed, Kind: "wildcard", Name: "*.example.com"}, "1/1 Normal Claimed host/*.example.com [*.example.com]"},
		"withheld":        {report.Event{Action: report.Withheld, Kind: "host", Name: "a.example.com", Message: "held by lease x"}, "1/1 Warning Withheld host/a.example.com (held by lease x) [a.example.com]"},
		"granted": {
			report.Event{Action: report.Granted, Kind: "service", Namespace: "n", Name: "web-ip-80-tcp", Message: "203.0.113.7, 2001:db8::7"},
			"1/1 Normal Granted service/web-ip-80-tcp (203.0.113.7, 2001:db8::7) [web-ip-80-tcp 203.0.113.7 2001:db8::7]",
		},
		"granted by words": {report.Event{Action: report.Granted, Kind: "route", Name: "a.example.com", Message: "by Akash's hostname operator"}, "1/1 Normal Granted route/a.example.com (by Akash's hostname operator) [a.example.com]"},
		"repaired":         {report.Event{Action: report.Repaired, Kind: "BlockedHost", Name: "a.example.com", Message: "release it"}, "1/1 Normal Repaired BlockedHost/a.example.com (release it) [a.example.com]"},
		"transferred": {
			report.Event{Action: report.Transferred, Kind: "host", Name: "a.example.com", Message: "from akash1a/2/1", From: []lease.Group{other}},
			"1/1 Normal Transferred host/a.example.com (from akash1a/2/1) [a.example.com]; " +
				"2/1 Warning Lost host/a.example.com (transferred to lease akash1a/1/1) [a.example.com]",
		},
		"given back": {
			report.Event{Action: report.Transferred, Kind: "host", Name: "a.example.com", Message: "back", To: other},
			"1/1 Normal Transferred host/a.example.com (back) [a.example.com]; " +
				"2/1 Normal Transferred host/a.example.com (back from lease akash1a/1/1) [a.example.com]",
		},
		"refused":              {failed(held), "1/1 Warning Refused host a.example.com is held by lease akash1b/7/1/1/akash1p [a.example.com]"},
		"refused among others": {failed(report.Failures{errors.New("first"), held}), "1/1 Warning Refused first host a.example.com is held by lease akash1b/7/1/1/akash1p [a.example.com]"},
		"old routes stay for resolvers": {
			failed(report.Failures{settling}),
			"1/1 Normal Left lease akash1a/1/1/1/akash1p: resolvers may lead people to 2 of its old routes until 12:05:00 UTC: " +
				"ingress/a.example.com, httproute/b.example.com [a.example.com b.example.com]",
		},
		"old routes stay for resolvers, and another for good": {
			failed(report.Failures{&migrate.StayedError{Lease: tenant, Routes: []string{"ingress/c.example.com"}}, settling}),
			"1/1 Normal Left lease akash1a/1/1/1/akash1p: resolvers may lead people to 2 of its old routes until 12:05:00 UTC: " +
				"ingress/a.example.com, httproute/b.example.com [a.example.com b.example.com]; " +
				"1/1 Warning Failed lease akash1a/1/1/1/akash1p: 1 of its routes stay as they are: ingress/c.example.com []",
		},
		"no address":         {failed(&report.ExhaustedError{Endpoint: "public", Ranges: []string{"r"}}), `1/1 Warning Refused no address left in r for IP endpoint "public" []`},
		"failed":             {failed(errors.New("no\n  route")), "1/1 Warning Failed no route []"},
		"interrupted":        {failed(fmt.Errorf("write: %w", context.Canceled)), ""},
		"no API server":      {failed(&cluster.AwayError{}), ""},
		"unchanged":          {report.Event{Action: report.Unchanged, Kind: "ingress", Name: "a.example.com"}, ""},
		"done":               {report.Event{Action: report.Done, Kind: "lease", Summary: &report.Summary{}}, ""},
		"failed with no why": {failed(nil), ""},
	} {
		tt.event.Lease = tenant
		var said []string
		for _, l := range linesOf(tt.event) {
			kind := "Normal"
			if l.warning {
				kind = "Warning"
			}
			said = append(said, fmt.Sprintf("%d/%d %s %s %s %v", l.of.DSeq, l.of.GSeq, kind, l.reason, l.text, l.names))
		}
		if got := strings.Join(said, "; "); got != tt.want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, tt.want)
		}
	}
	over := linesOf(report.Event{Action: report.Failed, Lease: tenant, Err: &report.OvertakenError{Kind: state.Host, Thing: "a.example.com"}})
	if len(over) != 1 || over[0].reason != "Lost" || over[0].names[0] != "a.example.com" {
		t.Errorf("overtaken: %+v", over)
	}
	if lines := linesOf(report.Event{Action: report.Claimed, Kind: report.KindOrder, Name: "x"}); len(lines) > 0 {
		t.Errorf("a report without a lease: %+v", lines)
	}
}

// A note says what it has room for, and how much there is besides.
func TestNoteText(t *testing.T) {
	long := strings.Repeat("x", 2000)
	hosts := func(n int) (texts []string) {
		for i := range n {
			texts = append(texts, fmt.Sprintf("host/h%03d.example.com", i))
		}
		return texts
	}
	for name, tt := range map[string]struct {
		texts []string
		want  string
	}{
		"one":         {[]string{"host/a"}, "host/a"},
		"two":         {[]string{"host/a", "host/b"}, "host/a, host/b"},
		"the same":    {[]string{"host/a", "host/a"}, "host/a"},
		"many":        {hosts(500), strings.Join(hosts(44), ", ") + " and 456 more"},
		"just enough": {[]string{strings.Repeat("x", 1024)}, strings.Repeat("x", 1024)},
		"long":        {[]string{long}, strings.Repeat("x", 1021) + "…"},
		"long, more":  {[]string{long, "host/b"}, strings.Repeat("x", 1010) + "… and 1 more"},
		"escapes":     {[]string{"a\x1b[2J\r\nb\u202e\xff"}, `a\x1b[2J\x0d\nb\u202e\xff`},
	} {
		var ns notes
		for _, text := range tt.texts {
			ns.add(line{reason: "Claimed", text: text}, time.Time{})
		}
		if got := ns[0].text(); got != tt.want || len(ns) != 1 {
			t.Errorf("%s: %d notes, %q (%d bytes), want %q", name, len(ns), got, len(got), tt.want)
		}
	}
}

// Whatever is reported, an Event is one that the API server takes: a short note of printable text, and names that fit.
func TestNotesFit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var ns notes
		text := rapid.OneOf(rapid.String(), rapid.StringN(0, 3000, 9000), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }))
		for range rapid.IntRange(1, 60).Draw(t, "lines") {
			ns.add(line{of: tenant, reason: rapid.SampledFrom([]string{"Claimed", "Failed"}).Draw(t, "reason"), text: text.Draw(t, "text"), names: []string{text.Draw(t, "name")}}, time.Time{})
		}
		for _, n := range ns {
			e := writer{"akash-net", text.Draw(t, "instance")}.event(n, tenant)
			if len(e.Note) > 1024 || !utf8.ValidString(e.Note) || strings.ContainsFunc(e.Note, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\u202e' }) {
				t.Fatalf("note %q", e.Note)
			}
			if len(e.ReportingInstance) > 128 || len(e.Name) > 253 {
				t.Fatalf("instance %q, name %q", e.ReportingInstance, e.Name)
			}
			for _, name := range Names(e) {
				if len(name) > 253 || strings.ContainsAny(name, "\x00\x1b\n") {
					t.Fatalf("name %q", name)
				}
			}
		}
	})
}

// All names are in Events, and few Events have them.
func TestNamesAreComplete(t *testing.T) {
	var ns notes
	label := strings.Repeat("x", 60)
	want := map[string]bool{}
	for i := range 2000 {
		name := fmt.Sprintf("h%04d.%s.%s.%s.example.com", i, label, label, label)
		want[name] = true
		ns.add(line{of: tenant, reason: "Claimed", text: "host/" + name, names: []string{name}}, time.Time{})
		ns.add(line{of: tenant, reason: "Created", text: "ingress/" + name, names: []string{name}}, time.Time{})
	}
	if len(ns) > 10 {
		t.Errorf("%d Events", len(ns))
	}
	found := map[string]int{}
	for _, n := range ns {
		e := writer{"akash-net", "host"}.event(n, tenant)
		size := 0
		for k, v := range e.Annotations {
			size += len(k) + len(v)
		}
		if size > 256<<10 {
			t.Errorf("annotations of %d bytes", size)
		}
		for _, name := range Names(e) {
			found[name]++
		}
	}
	for name := range want {
		if found[name] != 2 {
			t.Fatalf("%s is in %d Events", name, found[name])
		}
	}
}
