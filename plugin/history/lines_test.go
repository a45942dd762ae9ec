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
	"github.com/akash-net/kubectl-akash-net/engine/report"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/test/golden"
)

var (
	tenant = lease.ID{Owner: "akash1a", DSeq: 1, GSeq: 1, OSeq: 1, Provider: "akash1p"}
	other  = lease.Group{Owner: "akash1a", DSeq: 2, GSeq: 1}
)

// What a story says of each report: the lease, the type, the reason, the text and the names, and below it the things or objects that an
// Event of it is related to: testdata/lines.txt.
//
//	event    ACTION KIND [NAMESPACE/]NAME [from|to GROUP] [| MESSAGE]
//	failed   errors by their names, joined
//	related  KIND [NAMESPACE/]NAME, … of one Event
func TestLines(t *testing.T) {
	settling := &migrate.SettlingError{
		Lease: tenant, Routes: []string{"ingress/a.example.com", "httproute/b.example.com"}, Until: time.Date(2026, 11, 27, 12, 5, 0, 0, time.UTC),
	}
	errs := map[string]error{
		"held": &report.HeldError{Lease: tenant, Held: []report.HeldThing{
			{Kind: state.Host, Thing: "a.example.com", By: state.Holder{Lease: lease.ID{Owner: "akash1b", DSeq: 7, GSeq: 1, OSeq: 1, Provider: "akash1p"}}},
		}},
		"settling": settling, "stayed": &migrate.StayedError{Lease: tenant, Routes: []string{"ingress/c.example.com"}},
		"exhausted": &report.ExhaustedError{Endpoint: "public", Ranges: []string{"r"}}, "overtaken": &report.OvertakenError{Kind: state.Host, Thing: "a.example.com"},
		"other": errors.New("no\n  route"), "interrupted": fmt.Errorf("write: %w", context.Canceled), "away": &cluster.AwayError{}, "nothing": nil,
	}
	object := func(text string) (kind, namespace, name string) {
		kind, name, _ = strings.Cut(text, " ")
		if before, after, ok := strings.Cut(name, "/"); ok {
			namespace, name = before, after
		}
		return kind, namespace, name
	}
	say := func(e report.Event) string {
		e.Lease = tenant
		var said strings.Builder
		for _, l := range linesOf(e) {
			kind := map[bool]string{true: "Warning", false: "Normal"}[l.warning]
			fmt.Fprintf(&said, "%d/%d %s %s %s %v\n", l.of.DSeq, l.of.GSeq, kind, l.reason, l.text, l.names)
		}
		return said.String()
	}
	golden.Rules{
		"event": func(line string) string {
			line, message, _ := strings.Cut(line, " | ")
			words := strings.Fields(line)
			e := report.Event{Action: report.Action(words[0]), Message: message}
			e.Kind, e.Namespace, e.Name = object(words[1] + " " + words[2])
			switch {
			case strings.Contains(line, " from "):
				e.From = []lease.Group{other}
			case strings.Contains(line, " to "):
				e.To = other
			case e.Action == report.Done:
				e.Summary = &report.Summary{}
			}
			return say(e)
		},
		"failed": func(line string) string {
			failures := report.Failures{}
			for _, name := range strings.Fields(line) {
				failures = append(failures, errs[name])
			}
			if len(failures) == 1 {
				return say(report.Event{Action: report.Failed, Err: failures[0]})
			}
			return say(report.Event{Action: report.Failed, Err: failures})
		},
		"related": func(line string) string {
			var ns notes
			for _, text := range strings.Split(line, ", ") {
				ns.add(lineOf(object(text)), time.Time{})
			}
			e := writer{"akash-net", "host"}.event(ns[0], tenant)
			if e.Regarding.Name != tenant.Namespace() || e.Namespace != tenant.Namespace() {
				t.Errorf("%s: it is about %+v", line, e.Regarding)
			}
			if o := e.Related; o != nil {
				return fmt.Sprintf("%s %s %s/%s", o.APIVersion, o.Kind, o.Namespace, o.Name)
			}
			return "nothing"
		},
	}.Check(t, "testdata/lines.txt")
	if lines := linesOf(report.Event{Action: report.Claimed, Kind: report.KindOrder, Name: "x"}); len(lines) > 0 {
		t.Errorf("a report without a lease: %+v", lines)
	}
}

// lineOf is a line about an object.
func lineOf(kind, namespace, name string) line {
	return line{kind: kind, namespace: namespace, name: name}
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
