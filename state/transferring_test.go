package state

import (
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state/statetest"
)

// Only another deployment of the same owner can serve what a lease holds.
func TestFormer(t *testing.T) {
	other := statetest.Shop.Group()
	other.DSeq++
	for from, want := range map[string]bool{
		"":                              false,
		other.String():                  true,
		statetest.Shop.Group().String(): false,
		statetest.Blog.Group().String(): false,
		"nobody":                        false,
		other.String() + "/1/2/3/4":     false,
	} {
		got, ok := Part{Lease: statetest.Shop, From: from}.Former()
		if ok != want || ok && got != other {
			t.Errorf("of %q it is %v, %t", from, got, ok)
		}
	}
	claim := Claim{Parts: []Part{{Key: "a", Lease: statetest.Shop, From: other.String()}, {Key: "b", Lease: statetest.Shop}}}
	for g, want := range map[lease.Group]int{other: 1, statetest.Shop.Group(): 0} {
		if got := claim.FormerOf(g); len(got) != want {
			t.Errorf("%v serves %v", g, got)
		}
	}
}
