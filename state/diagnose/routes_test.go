package diagnose

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

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
