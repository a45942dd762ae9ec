package diagnose

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/view"
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

// What competing routes of one host cost grows with their paths, not with the square of these.
func TestRoutesOfManyPaths(t *testing.T) {
	cost := func(paths int) float64 {
		var uses []state.Use
		for _, route := range []string{"a-route-of-one-lease-with-many-paths", "a-route-of-another-lease-with-many-paths"} {
			for path := range paths {
				uses = append(uses, state.Use{
					Host: "shop.example.com", Path: fmt.Sprint("/", path), Kind: "ingress", Namespace: "n", Name: route, UID: types.UID(route), HasLease: true,
				})
			}
		}
		w := NewWorld(Facts{Book: &view.Book{}, Config: config.Default()})
		w.Uses = map[string][]state.Use{"shop.example.com": uses}
		return testing.AllocsPerRun(1, func() { twoRoutes(w, state.Problem{}, nil, rivals(uses)) })
	}
	if few, many := cost(50), cost(500); many > 15*few {
		t.Errorf("%.0f allocations for 50 paths, %.0f for 500", few, many)
	}
}
