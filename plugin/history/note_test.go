package history

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"
)

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
