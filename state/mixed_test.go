package state

import (
	"slices"
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
)

// The objects of a lease are of several definitions, and that is a problem, unless all but those of one serve
// for another lease since a transfer: they are left as they are until that is applied.
func TestMixedDefinitions(t *testing.T) {
	id, to := lease.ID{Owner: "akash1a", DSeq: 1, GSeq: 1, OSeq: 1, Provider: "akash1p"}, lease.ID{Owner: "akash1a", DSeq: 2, GSeq: 1, OSeq: 1, Provider: "akash1p"}
	object := func(host, definition string) OwnObject {
		return OwnObject{
			ObjectRef: ObjectRef{Kind: "ingress", Namespace: id.Namespace(), Name: host, UID: host}, Ownership: Ownership{Ours: true, Lease: id}, Definition: definition,
			Uses: []Use{{Kind: "ingress", Host: host, Path: "/", Lease: id, HasLease: true, Service: "web", Port: 80}},
		}
	}
	claim := func(host string, holder lease.ID, from string) *Claim {
		return &Claim{Kind: Host, Thing: host, Owner: id.Owner, Parts: []Part{{Key: RouteKey("/"), Lease: holder, Service: "web", Port: 80, From: from}}}
	}
	for name, tc := range map[string]struct {
		objects []OwnObject
		claims  []*Claim
		want    bool
	}{
		"one definition":                {[]OwnObject{object("a.example.com", "x"), object("b.example.com", "x")}, []*Claim{claim("a.example.com", id, ""), claim("b.example.com", id, "")}, false},
		"two definitions":               {[]OwnObject{object("a.example.com", "x"), object("b.example.com", "y")}, []*Claim{claim("a.example.com", id, ""), claim("b.example.com", id, "")}, true},
		"one of them serves another":    {[]OwnObject{object("a.example.com", "x"), object("b.example.com", "y")}, []*Claim{claim("a.example.com", id, ""), claim("b.example.com", to, id.Group().String())}, false},
		"both serve another":            {[]OwnObject{object("a.example.com", "x"), object("b.example.com", "y")}, []*Claim{claim("a.example.com", to, id.Group().String()), claim("b.example.com", to, id.Group().String())}, false},
		"what another holds altogether": {[]OwnObject{object("a.example.com", "x"), object("b.example.com", "y")}, []*Claim{claim("a.example.com", id, ""), claim("b.example.com", to, "")}, true},
	} {
		t.Run(name, func(t *testing.T) {
			found := Problems(ProblemFacts{
				View:    &View{Config: config.Default(), Claims: tc.claims, Book: &Book{}},
				Objects: tc.objects, Namespaces: map[string]bool{id.Namespace(): true, to.Namespace(): true},
			})
			if got := slices.ContainsFunc(found, func(p Problem) bool { return p.Problem == MixedDefinitions }); got != tc.want {
				t.Errorf("mixed definitions: %v, want %v: %+v", got, tc.want, found)
			}
		})
	}
}
