package programs

import (
	"io"
	"strings"
	"testing"
	"time"
)

// Packages are counted, and what the compiler says is passed on.
func TestProgress(t *testing.T) {
	var out strings.Builder
	p := &progress{out: &out, last: time.Now().Add(-time.Hour), each: time.Minute}
	for _, text := range []string{"k8s.io/a", "pi\nk8s.io/b\n# k8s.io/b\n", "b.go:1:2: undefined: x\nk8s.io/c\n"} {
		if _, err := io.WriteString(p, text); err != nil {
			t.Fatal(err)
		}
	}
	if want := "  1 packages compiled\n# k8s.io/b\nb.go:1:2: undefined: x\n"; out.String() != want || p.packages != 3 {
		t.Errorf("%d packages, printed %q", p.packages, out.String())
	}
}
