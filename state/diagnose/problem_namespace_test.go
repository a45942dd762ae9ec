package diagnose

import (
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/statetest/claimtest"
)

// A problem is that of the namespace, or of the lease, that it names; one that names none is that of the leases that hold its thing.
func TestWhoseProblemsAre(t *testing.T) {
	claims := []*state.Claim{claimtest.HostClaim("shop.example.com", shop, ""), claimtest.HostClaim("blog.example.com", blog, "")}
	for _, tt := range []struct {
		problem             state.Problem
		inNamespace, ofShop bool
	}{
		{state.Problem{Namespace: shop.Namespace(), Thing: "blog.example.com"}, true, false},
		{state.Problem{Namespace: blog.Namespace(), Thing: "shop.example.com"}, false, true},
		{state.Problem{Namespace: "lease", Lease: shop.String(), Thing: "providerhost/shop.example.com"}, true, true},
		{state.Problem{Namespace: "lease", Lease: blog.String(), Thing: "providerhost/shop.example.com"}, false, false},
		{state.Problem{Namespace: "lease", Lease: shop.Group().String(), Thing: "providerhost/shop.example.com"}, true, true},
		{state.Problem{Namespace: "lease", Thing: "shop.example.com"}, false, true},
		{state.Problem{Lease: shop.Group().String()}, true, true},
		{state.Problem{Lease: shop.String()}, true, true},
		{state.Problem{Lease: blog.Group().String(), Thing: "shop.example.com"}, false, false},
		{state.Problem{Lease: blog.String(), Thing: "shop.example.com"}, false, false},
		{state.Problem{Thing: "shop.example.com"}, true, true},
		{state.Problem{Thing: "blog.example.com"}, false, false},
		{state.Problem{Thing: "public"}, false, false},
	} {
		found := []state.Problem{tt.problem}
		if got := len(InNamespace(found, claims, shop.Namespace())) == 1; got != tt.inNamespace {
			t.Errorf("%+v is a problem of the namespace: %t", tt.problem, got)
		}
		if got := len(OfLeases(found, claims, []lease.Group{shop.Group()})) == 1; got != tt.ofShop {
			t.Errorf("%+v is a problem of the lease: %t", tt.problem, got)
		}
	}
}
