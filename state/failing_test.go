package state

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A record of failing leases is read as it was written, without what is out of date and what cannot be read.
func TestFailingRecord(t *testing.T) {
	now := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	of := func(owner string, next time.Duration) Failing {
		return Failing{Lease: "akash1" + owner + "/7/1", Error: "the host is taken\nby another\x1b[0m", Count: 3, Since: now.Add(-time.Hour), Next: now.Add(next)}
	}
	record, err := RecordFailing([]Failing{of("a", time.Minute), of("over", -Late), of("b", -Late+time.Second)})
	if err != nil {
		t.Fatal(err)
	}
	hostile, err := RecordFailing([]Failing{of("a; reboot #", time.Minute), of("a\x1b[31m", time.Minute), of("", time.Minute), {Lease: "akash1a/07/1", Next: now}, {Lease: "host/a", Next: now}, of("later", time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	want := []Failing{of("a", time.Minute), of("b", -Late+time.Second)}
	if diff := cmp.Diff(want, ReadFailing("{\n[]\n{}\n"+record+hostile+`{"lease":`, now)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// However many leases fail, and whatever their errors are, the record fits into an annotation.
func TestFailingRecordIsLimited(t *testing.T) {
	now := time.Now()
	for name, text := range map[string]string{
		"long errors": strings.Repeat("a", 1<<20), "errors that JSON escapes": strings.Repeat("\x01", 1<<20), "cut letters": strings.Repeat("é", 999) + "€",
	} {
		all := make([]Failing, 5000)
		for i := range all {
			all[i] = Failing{Lease: "akash1a/7/1", Error: text, Next: now}
		}
		record, err := RecordFailing(all)
		if err != nil {
			t.Fatal(err)
		}
		if read := ReadFailing(record, now); len(record) > 128<<10 || len(read) < 15 {
			t.Errorf("%s: %d leases in %d bytes", name, len(read), len(record))
		}
	}
}
