package diagnose

import (
	"strings"
	"testing"

	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/test/golden"
)

// Named problems of A/x and B/y, or all, are selected, and a name that no problem has is an error: testdata/selection.txt.
func TestSelection(t *testing.T) {
	golden.Rules{
		"selected": func(line string) string {
			s := Selection{Problems: strings.Fields(line)}
			if line == "all" {
				s.Problems = nil
			}
			got := s.Of([]state.Problem{{Problem: "A", Thing: "x"}, {Problem: "B", Thing: "y"}}, nil)
			if err := s.Check(got, nil); err != nil {
				return "! " + err.Error()
			}
			var names []string
			for _, p := range got {
				names = append(names, p.Name())
			}
			return strings.Join(names, " ")
		},
	}.Check(t, "testdata/selection.txt")
}
