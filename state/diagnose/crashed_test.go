package diagnose

import (
	"slices"
	"testing"
	"time"

	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/statetest"
	"github.com/akash-net/kubectl-akash-net/state/statetest/claimtest"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// A run counts as crashed when neither a claim with its mark nor an object of its lease was written for
// as long as CrashedAfter.
func TestCrashedRuns(t *testing.T) {
	claim := func(host, run string, minute int) *state.Claim {
		c := claimtest.HostClaim(host, statetest.Shop, run)
		c.Updated = statetest.Minute(minute)
		return c
	}
	object := func(minute int) state.OwnObject {
		return state.OwnObject{ObjectRef: state.ObjectRef{Kind: "service"}, Ownership: state.Ownership{Lease: statetest.Shop, HasLease: true, Ours: true}, Definition: "d", Written: statetest.Minute(minute)}
	}
	for name, tt := range map[string]struct {
		claims  []*state.Claim
		objects []state.OwnObject
		want    []string
	}{
		"nothing written since":              {[]*state.Claim{claim("a.example.com", "one", 0)}, nil, []string{"a.example.com"}},
		"written of late":                    {[]*state.Claim{claim("a.example.com", "one", 9)}, nil, nil},
		"the run takes others":               {[]*state.Claim{claim("a.example.com", "one", 0), claim("b.example.com", "one", 9)}, nil, nil},
		"another run of the lease has begun": {[]*state.Claim{claim("a.example.com", "one", 0), claim("b.example.com", "two", 9)}, nil, []string{"a.example.com"}},
		"the run writes objects":             {[]*state.Claim{claim("a.example.com", "one", 0)}, []state.OwnObject{object(9)}, nil},
		"its objects are old":                {[]*state.Claim{claim("a.example.com", "one", 0)}, []state.OwnObject{object(1)}, []string{"a.example.com"}},
		"no mark":                            {[]*state.Claim{claim("a.example.com", "", 0)}, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			found := Problems(ProblemFacts{
				View:    &View{Config: config.Default(), Claims: tt.claims, Book: &view.Book{}, Now: statetest.Minute(10)},
				Objects: tt.objects, Namespaces: map[string]bool{statetest.Shop.Namespace(): true}, CrashedAfter: 2 * time.Minute,
			})
			var crashed []string
			for _, p := range found {
				if p.Problem == state.CrashedRun {
					crashed = append(crashed, p.Thing)
				}
			}
			if !slices.Equal(crashed, tt.want) {
				t.Errorf("crashed are the runs that hold %q, want %q", crashed, tt.want)
			}
		})
	}
}
