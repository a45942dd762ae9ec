package printing

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akash-net/kubectl-akash-net/plugin/terminal"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// narrowBook is testBook with problems.
func narrowBook() *view.Book {
	b := testBook()
	since := metav1.NewTime(testNow.Add(-time.Hour))
	b.Problems = []state.Problem{
		{
			Problem: "UnservedHost", Thing: "shop.example.com", Lease: b.Leases[0].Lease, Namespace: b.Leases[0].Namespace, Since: since,
			Message: "the host is held by lease akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h/8438017/1, and nothing routes it",
			Plan:    "apply its definition again", Command: "kubectl akash-net repair UnservedHost/shop.example.com",
		},
		{Problem: "StrayRoute", Thing: "stray.example.com", Message: "no lease holds it", Plan: "delete it"},
	}
	return b
}

// At the width of a terminal no line wraps except a word that is longer than the terminal.
func TestPrintNarrow(t *testing.T) {
	subjects := append(view.Subjects[:len(view.Subjects):len(view.Subjects)], view.SubjectProblems)
	for _, width := range []int{160, 80, 40} {
		for _, wide := range []bool{false, true} {
			name := fmt.Sprintf("state/columns-%d.golden", width)
			if wide {
				name = fmt.Sprintf("state/columns-%d-wide.golden", width)
			}
			var out bytes.Buffer
			now := func() time.Time { return testNow }
			if err := newTables(subjects, &out, func() int { return width }, wide, false, now).print(narrowBook()); err != nil {
				t.Fatal(err)
			}
			golden(t, name, out.Bytes())
			for line := range strings.Lines(out.String()) {
				line = strings.TrimSuffix(line, "\n")
				folded := strings.Contains(line, "kubectl ") || !strings.Contains(strings.TrimSpace(line), " ")
				if n := terminal.Cells(line); n > width && !folded {
					t.Errorf("%s: %d cells: %s", name, n, line)
				}
			}
		}
	}
}
