package diagnose

import (
	"slices"
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// Objects of several definitions are a problem, unless all objects but those of one definition serve another lease
// after a transfer.
func TestMixedDefinitions(t *testing.T) {
	id, to := lease.ID{Owner: "akash1a", DSeq: 1, GSeq: 1, OSeq: 1, Provider: "akash1p"}, lease.ID{Owner: "akash1a", DSeq: 2, GSeq: 1, OSeq: 1, Provider: "akash1p"}
	object := func(host, definition string) state.OwnObject {
		return state.OwnObject{
			ObjectRef: state.ObjectRef{Kind: "ingress", Namespace: id.Namespace(), Name: host, UID: host}, Ownership: state.Ownership{Ours: true, Lease: id}, Definition: definition,
			Uses: []state.Use{{Kind: "ingress", Host: host, Path: "/", Lease: id, HasLease: true, Service: "web", Port: 80}},
		}
	}
	claim := func(host string, holder lease.ID, from string) *state.Claim {
		return &state.Claim{Kind: state.Host, Thing: host, Owner: id.Owner, Parts: []state.Part{{Key: state.RouteKey("/"), Lease: holder, Service: "web", Port: 80, From: from}}}
	}
	for name, tc := range map[string]struct {
		objects []state.OwnObject
		claims  []*state.Claim
		want    bool
	}{
		"one definition":                {[]state.OwnObject{object("a.example.com", "x"), object("b.example.com", "x")}, []*state.Claim{claim("a.example.com", id, ""), claim("b.example.com", id, "")}, false},
		"two definitions":               {[]state.OwnObject{object("a.example.com", "x"), object("b.example.com", "y")}, []*state.Claim{claim("a.example.com", id, ""), claim("b.example.com", id, "")}, true},
		"one of them serves another":    {[]state.OwnObject{object("a.example.com", "x"), object("b.example.com", "y")}, []*state.Claim{claim("a.example.com", id, ""), claim("b.example.com", to, id.Group().String())}, false},
		"both serve another":            {[]state.OwnObject{object("a.example.com", "x"), object("b.example.com", "y")}, []*state.Claim{claim("a.example.com", to, id.Group().String()), claim("b.example.com", to, id.Group().String())}, false},
		"what another holds altogether": {[]state.OwnObject{object("a.example.com", "x"), object("b.example.com", "y")}, []*state.Claim{claim("a.example.com", id, ""), claim("b.example.com", to, "")}, true},
	} {
		t.Run(name, func(t *testing.T) {
			found := Problems(ProblemFacts{
				View:    &View{Config: config.Default(), Claims: tc.claims, Book: &view.Book{}},
				Objects: tc.objects, Namespaces: map[string]bool{id.Namespace(): true, to.Namespace(): true},
			})
			if got := slices.ContainsFunc(found, func(p state.Problem) bool { return p.Problem == state.MixedDefinitions }); got != tc.want {
				t.Errorf("mixed definitions: %v, want %v: %+v", got, tc.want, found)
			}
		})
	}
}
