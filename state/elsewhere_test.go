package state

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state/statetest"
)

// A lease is elsewhere if other leases of its deployment group are live and it is not.
func TestElsewhere(t *testing.T) {
	first := statetest.Shop
	next, moved, order := first, first, first
	next.OSeq++
	moved.Provider, order.Provider = "akash1another", ""
	for name, tt := range map[string]struct {
		id   lease.ID
		live []lease.ID
		want lease.ID
	}{
		"nothing is live":               {id: next},
		"it is live":                    {id: next, live: []lease.ID{next}},
		"it is live, and another too":   {id: next, live: []lease.ID{first, next}},
		"another order is":              {id: next, live: []lease.ID{first}, want: first},
		"another provider's is":         {id: first, live: []lease.ID{moved}, want: moved},
		"two others are":                {id: moved, live: []lease.ID{next, first}, want: first},
		"the order is, at its provider": {id: order, live: []lease.ID{moved}},
		"the order is not":              {id: order, live: []lease.ID{next}, want: next},
	} {
		if other, ok := Elsewhere(tt.id, tt.live); other != tt.want || ok != (tt.want != lease.ID{}) {
			t.Errorf("%s: %v, %t", name, other, ok)
		}
	}
}

// What a reservation makes of a part that its deployment group holds depends on which lease of the group serves it.
func TestReserveOfAHeldPart(t *testing.T) {
	first := statetest.Shop
	next, moved := first, first
	next.OSeq++
	moved.Provider = "akash1another"
	held := func(id lease.ID) Part {
		return Part{Key: RouteKey("/"), Lease: id, Path: "/", Service: "web", Port: 80, Run: "earlier", Applied: true, Bound: true}
	}
	want := func(id lease.ID, service string) Part {
		p := Part{Key: RouteKey("/"), Lease: id, Path: "/", Service: service, Expires: "later"}
		if service != "" {
			p.Port = 90
		}
		return p
	}
	stays := func(id lease.ID) Part {
		p := held(id)
		p.Run, p.Expires = "", "later"
		return p
	}
	for name, tt := range map[string]struct {
		held, want Part
		live       []lease.ID
		part       Part
		by         lease.ID
	}{
		"the next order, and nothing serves":              {held(first), want(next, "api"), nil, want(next, "api"), lease.ID{}},
		"the next order, beside a live lease":             {held(first), want(next, "api"), []lease.ID{first}, stays(first), first},
		"the next order, by name":                         {held(first), want(next, ""), []lease.ID{first}, stays(first), first},
		"another provider, beside a live lease":           {held(first), want(moved, "api"), []lease.ID{first}, stays(first), first},
		"the first order again, beside the next":          {held(next), want(first, "api"), []lease.ID{next}, stays(next), next},
		"the next order serves, and the claim is behind":  {held(first), want(next, "api"), []lease.ID{next}, want(next, "api"), lease.ID{}},
		"both orders serve":                               {held(first), want(next, "api"), []lease.ID{first, next}, want(next, "api"), lease.ID{}},
		"a third lease, and two serve":                    {held(first), want(moved, "api"), []lease.ID{next, first}, stays(first), first},
		"the lease itself, with a backend":                {held(first), want(first, "api"), []lease.ID{first}, want(first, "api"), lease.ID{}},
		"the lease itself, by name":                       {held(first), want(first, ""), []lease.ID{first}, stays(first), lease.ID{}},
		"the lease itself, by name, and nothing serves":   {held(first), want(first, ""), nil, want(first, ""), lease.ID{}},
		"the lease that the claim names, another serves":  {held(next), want(next, "api"), []lease.ID{first}, want(next, "api"), lease.ID{}},
		"a lease that has the part, served for it by one": {held(first), want(first, "api"), []lease.ID{statetest.Blog}, want(first, "api"), lease.ID{}},
	} {
		part, by := tt.held.Reserve(tt.want, tt.live)
		if diff := cmp.Diff(tt.part, part); diff != "" || by != tt.by {
			t.Errorf("%s: by %v, want %v\n%s", name, by, tt.by, diff)
		}
	}
}
