//go:build unix

package sources

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/akash-net/kubectl-akash-net/lease/files"
	"github.com/akash-net/kubectl-akash-net/lease/input"
)

// A file that looks the same as before is not read again, unless it may have changed all the same.
func TestReadingStands(t *testing.T) {
	in := newFolder(t)
	in.write("a.yaml", def(1, "a.example.com"))
	info, err := os.Stat(in.at("a.yaml"))
	in.must(err)
	read := time.Now()
	was := found{path: "a.yaml", info: info, changed: read.Add(-time.Minute)}
	later := was
	later.changed = read.Add(time.Second)
	young := was
	young.changed = read.Add(-time.Second)
	unknown := was
	unknown.changed = time.Time{}
	for name, tt := range map[string]struct {
		before *reading
		now    found
		after  time.Duration
		want   bool
	}{
		"nothing has happened":              {&reading{of: was, at: read}, was, time.Minute, true},
		"it was never read":                 {nil, was, 0, false},
		"it could not be read":              {&reading{of: was, at: read, err: os.ErrPermission}, was, 0, false},
		"it has changed":                    {&reading{of: was, at: read}, later, time.Minute, false},
		"it was read just after its change": {&reading{of: young, at: read}, young, time.Minute, false},
		"its change time is not known":      {&reading{of: unknown, at: read}, unknown, time.Minute, false},
		"everything is to be read again":    {&reading{of: was, at: read}, was, resync, false},
	} {
		if got := tt.before.stands(tt.now, read.Add(tt.after), resync); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// aged makes what was read old enough to stand.
func aged(f *Files) {
	for _, one := range f.known {
		one.at = one.at.Add(time.Hour)
	}
}

// A file is read again if it has another content of the same size and time of modification, and if all files have become too large.
func TestReadAgain(t *testing.T) {
	in := newFolder(t)
	first, second := def(1, "a.example.com"), def(1, "b.example.com")
	in.write("a.yaml", first)
	when := time.Now().Add(-time.Hour)
	in.must(os.Chtimes(in.at("a.yaml"), when, when))
	f, err := NewFiles(files.Names{Files: []string{in.path}}, input.Options{}, int64(len(first)))
	in.must(err)
	f.Resync = 24 * time.Hour
	w := newWatches(nothing{})
	reads := func() string {
		defs, problems := f.read(t.Context(), w.look(t.Context(), f.named))
		return hosts(SetOf(defs, problems, false))
	}
	if got := reads(); got != "a.example.com" {
		t.Fatal(got)
	}
	before := f.known[in.at("a.yaml")]
	if aged(f); reads() != "a.example.com" || f.known[in.at("a.yaml")] != before {
		t.Error("a file that has not changed was read again")
	}
	in.must(os.WriteFile(in.at("a.yaml"), []byte(second), 0o600))
	in.must(os.Chtimes(in.at("a.yaml"), when, when))
	if got := reads(); got != "b.example.com" {
		t.Error(got)
	}
	aged(f)
	in.write("b.yaml", "# another one")
	if got := reads(); !strings.HasSuffix(got, "incomplete") {
		t.Errorf("more than all files may have was read: %s", got)
	}
}

// nothing watches nothing.
type nothing struct{}

func (nothing) Add(string) error    { return nil }
func (nothing) Remove(string) error { return nil }
