package state

import (
	"slices"
	"testing"
	"time"

	"github.com/akash-net/kubectl-akash-net/lease/config"
)

// A run counts as crashed when neither a claim with its mark nor an object of its lease was written for
// as long as CrashedAfter.
func TestCrashedRuns(t *testing.T) {
	claim := func(host, run string, minute int) *Claim {
		c := bookHostClaim(host, bookShop, run)
		c.Updated = bookMinute(minute)
		return c
	}
	object := func(minute int) OwnObject {
		return OwnObject{ObjectRef: ObjectRef{Kind: "service"}, Ownership: Ownership{Lease: bookShop, HasLease: true, Ours: true}, Definition: "d", Written: bookMinute(minute)}
	}
	for name, tt := range map[string]struct {
		claims  []*Claim
		objects []OwnObject
		want    []string
	}{
		"nothing written since":              {[]*Claim{claim("a.example.com", "one", 0)}, nil, []string{"a.example.com"}},
		"written of late":                    {[]*Claim{claim("a.example.com", "one", 9)}, nil, nil},
		"the run takes others":               {[]*Claim{claim("a.example.com", "one", 0), claim("b.example.com", "one", 9)}, nil, nil},
		"another run of the lease has begun": {[]*Claim{claim("a.example.com", "one", 0), claim("b.example.com", "two", 9)}, nil, []string{"a.example.com"}},
		"the run writes objects":             {[]*Claim{claim("a.example.com", "one", 0)}, []OwnObject{object(9)}, nil},
		"its objects are old":                {[]*Claim{claim("a.example.com", "one", 0)}, []OwnObject{object(1)}, []string{"a.example.com"}},
		"no mark":                            {[]*Claim{claim("a.example.com", "", 0)}, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			found := Problems(ProblemFacts{
				View:    &View{Config: config.Default(), Claims: tt.claims, Book: &Book{}, Now: bookMinute(10)},
				Objects: tt.objects, Namespaces: map[string]bool{bookShop.Namespace(): true}, CrashedAfter: 2 * time.Minute,
			})
			var crashed []string
			for _, p := range found {
				if p.Problem == CrashedRun {
					crashed = append(crashed, p.Thing)
				}
			}
			if !slices.Equal(crashed, tt.want) {
				t.Errorf("crashed are the runs that hold %q, want %q", crashed, tt.want)
			}
		})
	}
}
