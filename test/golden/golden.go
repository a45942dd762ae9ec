// Package golden compares what tests print with files that `go test -update` writes anew, and what tables of testdata say with
// what `go test -rewrite` writes.
package golden

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files anew")

// Check compares a text with a file.
func Check(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v (go test -update writes it)", err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("%s (-want +got; go test -update writes it):\n%s", file, diff)
	}
}

// Cases are texts by the names of their cases.
type Cases map[string]string

// Check compares the texts with a file that has all of them.
func (c Cases) Check(t *testing.T, file string) {
	t.Helper()
	var all strings.Builder
	for _, name := range slices.Sorted(maps.Keys(c)) {
		all.WriteString("== " + name + "\n" + c[name])
	}
	Check(t, file, all.String())
}

// Rules answer a line of a table each.
type Rules map[string]func(line string) string

// Check runs a file of tables: the rule of a block's command answers each line of the block, behind "=>" or below the line. An empty line
// is one of them, too, but not the first or the last of its block.
func (r Rules) Check(t *testing.T, file string) {
	t.Helper()
	datadriven.RunTest(t, file, func(t *testing.T, d *datadriven.TestData) string {
		rule, known := r[d.Cmd]
		if !known {
			t.Fatalf("%s: there is no rule %q", d.Pos, d.Cmd)
		}
		var out strings.Builder
		for line := range strings.Lines(d.Input) {
			line = strings.TrimSuffix(line, "\n")
			said := strings.TrimRight(rule(line), "\n")
			if strings.Contains(said, "\n") {
				said = "\n    " + strings.ReplaceAll(said, "\n", "\n    ")
			} else {
				said = "  " + said
			}
			fmt.Fprintf(&out, "%s  =>%s\n", line, said)
		}
		return out.String()
	})
}
