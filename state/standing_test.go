package state

import (
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease"
)

// What a lease, its sibling (another deployment of its owner) and another owner hold of a host and of an address.
var (
	standingMine  = lease.ID{Owner: "akash1mine", DSeq: 7, GSeq: 1, OSeq: 1, Provider: "akash1provider"}
	standingOther = lease.ID{Owner: "akash1other", DSeq: 7, GSeq: 1, OSeq: 1, Provider: "akash1provider"}
)

func standingSibling() lease.ID {
	id := standingMine
	id.DSeq++
	return id
}

// hostOf returns a claim on a host with the paths of leases, as "/": lease.
func hostOf(owner string, parts map[string]lease.ID) *Claim {
	c := &Claim{Kind: Host, Thing: "shop.example.com", Owner: owner}
	for path, id := range parts {
		c.Parts = append(c.Parts, Part{Key: RouteKey(path), Path: path, Lease: id})
	}
	return c
}

// What the claim on a host and on the wildcard above it mean for a route of a lease.
func TestStandingOfRoutes(t *testing.T) {
	mine, sibling, other := standingMine, standingSibling(), standingOther
	only := func(id lease.ID) map[string]lease.ID { return map[string]lease.ID{"/": id} }
	wild := func(id lease.ID, bound bool) *Claim {
		return &Claim{Kind: Wildcard, Thing: "*.example.com", Owner: id.Owner, Parts: []Part{{Key: RouteKey("/"), Lease: id, Bound: bound}}}
	}
	going := wild(other, true)
	going.Deleting = true
	unreadable := &Claim{Kind: Host, Thing: "shop.example.com", Unreadable: "it has a part of nobody"}
	type test struct {
		claim, over *Claim
		path        string
		redirect    bool

		want Standing
		// by is the claim in the way; nil where none is told.
		by *Claim
	}
	held, two := hostOf(mine.Owner, only(mine)), hostOf(mine.Owner, map[string]lease.ID{"/": mine, "/v1": sibling})
	ofSibling, ofOther, empty := hostOf(mine.Owner, only(sibling)), hostOf(other.Owner, only(other)), hostOf(other.Owner, nil)
	boundOther := wild(other, true)
	for name, tc := range map[string]test{
		"no claim":                                {want: Unclaimed},
		"a claim without parts":                   {claim: empty, want: Unclaimed},
		"no claim, and another's wildcard":        {over: boundOther, want: Stray, by: boundOther},
		"no parts, and another's wildcard":        {claim: empty, over: boundOther, want: Stray, by: boundOther},
		"no claim, and another's pending one":     {over: wild(other, false), want: Unclaimed},
		"no claim, and another's that is going":   {over: going, want: Unclaimed},
		"no claim, and a wildcard of its owner":   {over: wild(sibling, true), want: Unclaimed},
		"its part":                                {claim: held, want: Entitled, by: held},
		"its part, below another's wildcard":      {claim: held, over: boundOther, want: Entitled, by: held},
		"a path that it does not hold":            {claim: held, path: "/v1", want: Unclaimed, by: held},
		"a path of a sibling":                     {claim: two, path: "/v1", want: Stray, by: two},
		"its own beside a sibling's":              {claim: two, want: Entitled, by: two},
		"a host of a sibling":                     {claim: ofSibling, want: Stray, by: ofSibling},
		"a host of another owner":                 {claim: ofOther, want: Stray, by: ofOther},
		"another owner's, a path of nobody":       {claim: ofOther, path: "/v1", want: Stray, by: ofOther},
		"a claim that cannot be understood":       {claim: unreadable, want: Unknown, by: unreadable},
		"a redirect of a host of which it has /":  {claim: held, path: "/v1", redirect: true, want: Entitled, by: held},
		"a redirect of a host of a sibling":       {claim: ofSibling, redirect: true, want: Stray, by: ofSibling},
		"a redirect of a host of another owner":   {claim: ofOther, redirect: true, want: Stray, by: ofOther},
		"a redirect of a path that a sibling has": {claim: two, path: "/v1", redirect: true, want: Stray, by: two},
	} {
		t.Run(name, func(t *testing.T) {
			path := tc.path
			if path == "" {
				path = "/"
			}
			got, by := Served{Group: mine.Group(), Key: RouteKey(path), Redirect: tc.redirect}.Standing(tc.claim, tc.over)
			if got != tc.want || by != tc.by {
				t.Errorf("it is %d by %+v, want %d by %+v", got, by, tc.want, tc.by)
			}
		})
	}
}

// What the claim on an address means for a Service of a lease.
func TestStandingOfPorts(t *testing.T) {
	mine, sibling, other := standingMine, standingSibling(), standingOther
	const key = "akash1mine-ip-public"
	web := PortKey(lease.TCP, 443)
	address := func(owner, sharingKey string, parts ...Part) *Claim {
		return &Claim{Kind: Address, Thing: "203.0.113.0", Owner: owner, SharingKey: sharingKey, Parts: parts}
	}
	for name, tc := range map[string]struct {
		claim *Claim
		want  Standing
	}{
		"no claim":                               {nil, Unclaimed},
		"its port":                               {address(mine.Owner, key, Part{Key: web, Lease: mine}), Entitled},
		"a sibling's port":                       {address(mine.Owner, key, Part{Key: web, Lease: sibling}), Stray},
		"another port of a sibling, one address": {address(mine.Owner, key, Part{Key: PortKey(lease.TCP, 22), Lease: sibling}), Unclaimed},
		"an address of another endpoint":         {address(mine.Owner, "akash1mine-ip-other", Part{Key: PortKey(lease.TCP, 22), Lease: sibling}), Stray},
		"another port of its own":                {address(mine.Owner, "akash1mine-ip-other", Part{Key: PortKey(lease.TCP, 22), Lease: mine}), Unclaimed},
		"another owner's":                        {address(other.Owner, "akash1other-ip-public", Part{Key: web, Lease: other}), Stray},
	} {
		t.Run(name, func(t *testing.T) {
			if got, _ := (Served{Group: mine.Group(), Key: web, SharingKey: key}).Standing(tc.claim, nil); got != tc.want {
				t.Errorf("it is %d, want %d", got, tc.want)
			}
		})
	}
}

// Gives reports whether an object of one deployment group may be deleted because the claim gives its part to another.
func TestGives(t *testing.T) {
	mine, sibling, other := standingMine, standingSibling(), standingOther
	held := hostOf(mine.Owner, map[string]lease.ID{"/": mine})
	going, unreadable := *held, *held
	going.Deleting, unreadable.Unreadable = true, "it has a part of nobody"
	two := hostOf(mine.Owner, map[string]lease.ID{"/": mine, "/v1": sibling})
	for name, tc := range map[string]struct {
		claim    *Claim
		path     string
		redirect bool
		want     bool
	}{
		"no claim":                                {want: false},
		"a claim that is going":                   {claim: &going, want: false},
		"a claim that cannot be understood":       {claim: &unreadable, want: false},
		"the part":                                {claim: held, want: true},
		"a path of nobody, the server has none":   {claim: held, path: "/v1", want: true},
		"the server's own path":                   {claim: two, path: "/v1", want: false},
		"a path of nobody, the server has one":    {claim: two, path: "/v2", want: false},
		"a redirect, the server has nothing":      {claim: held, redirect: true, want: true},
		"a redirect, the server has another path": {claim: two, redirect: true, want: false},
		"another owner's":                         {claim: hostOf(other.Owner, map[string]lease.ID{"/": other}), want: false},
	} {
		t.Run(name, func(t *testing.T) {
			path := tc.path
			if path == "" {
				path = "/"
			}
			if got := (Served{Group: sibling.Group(), Key: RouteKey(path), Redirect: tc.redirect}).Gives(tc.claim, mine.Group()); got != tc.want {
				t.Errorf("it is %t, want %t", got, tc.want)
			}
		})
	}
}
