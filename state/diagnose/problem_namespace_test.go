package diagnose

import (
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/statetest"
	"github.com/akash-net/kubectl-akash-net/state/statetest/claimtest"
)

func TestInNamespace(t *testing.T) {
	claims := []*state.Claim{
		claimtest.HostClaim("shop.example.com", statetest.Shop, ""), claimtest.HostClaim("blog.example.com", statetest.Blog, ""),
	}
	for name, tt := range map[string]struct {
		problem state.Problem
		want    bool
	}{
		"a problem of the namespace":                       {state.Problem{Namespace: statetest.Shop.Namespace(), Thing: "blog.example.com"}, true},
		"a problem of another namespace":                   {state.Problem{Namespace: statetest.Blog.Namespace(), Thing: "shop.example.com"}, false},
		"a problem of a lease of the namespace":            {state.Problem{Lease: statetest.Shop.Group().String()}, true},
		"a problem of another lease":                       {state.Problem{Lease: statetest.Blog.Group().String(), Thing: "shop.example.com"}, false},
		"a problem of a thing that the namespace holds":    {state.Problem{Thing: "shop.example.com"}, true},
		"a problem of a thing that another one holds":      {state.Problem{Thing: "blog.example.com"}, false},
		"a problem of a thing that nobody holds a part of": {state.Problem{Thing: "public"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			found := InNamespace([]state.Problem{tt.problem}, claims, statetest.Shop.Namespace())
			if got := len(found) == 1; got != tt.want {
				t.Errorf("it is a problem of the namespace: %v, want %v", got, tt.want)
			}
		})
	}
}

// A problem is that of the lease that it names; one that names none is that of the leases that hold its thing.
func TestOfLeases(t *testing.T) {
	claims := []*state.Claim{
		claimtest.HostClaim("shop.example.com", statetest.Shop, ""), claimtest.HostClaim("blog.example.com", statetest.Blog, ""),
	}
	for name, tt := range map[string]struct {
		problem state.Problem
		want    bool
	}{
		"it names the deployment group":           {state.Problem{Lease: statetest.Shop.Group().String()}, true},
		"it names the lease with its provider":    {state.Problem{Lease: statetest.Shop.String()}, true},
		"it names another one":                    {state.Problem{Lease: statetest.Blog.String(), Thing: "shop.example.com"}, false},
		"it names none, and the lease holds it":   {state.Problem{Thing: "shop.example.com"}, true},
		"it names none, and another one holds it": {state.Problem{Thing: "blog.example.com"}, false},
	} {
		if got := len(OfLeases([]state.Problem{tt.problem}, claims, []lease.Group{statetest.Shop.Group()})) == 1; got != tt.want {
			t.Errorf("%s: %t, want %t", name, got, tt.want)
		}
	}
}
