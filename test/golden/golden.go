// Package golden compares what tests print with files that `go test -update` writes anew.
package golden

import (
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

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
