package state

import (
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease"
)

// Only another deployment of the same owner can serve what a lease holds.
func TestFormer(t *testing.T) {
	other := bookShop.Group()
	other.DSeq++
	for from, want := range map[string]bool{
		"":                          false,
		other.String():              true,
		bookShop.Group().String():   false,
		bookBlog.Group().String():   false,
		"nobody":                    false,
		other.String() + "/1/2/3/4": false,
	} {
		got, ok := Part{Lease: bookShop, From: from}.Former()
		if ok != want || ok && got != other {
			t.Errorf("of %q it is %v, %t", from, got, ok)
		}
	}
	claim := Claim{Parts: []Part{{Key: "a", Lease: bookShop, From: other.String()}, {Key: "b", Lease: bookShop}}}
	for g, want := range map[lease.Group]int{other: 1, bookShop.Group(): 0} {
		if got := claim.FormerOf(g); len(got) != want {
			t.Errorf("%v serves %v", g, got)
		}
	}
}
