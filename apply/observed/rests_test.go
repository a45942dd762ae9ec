package observed

import (
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
)

// A snapshot is out of date once its deployment group holds, or waits for, something else; what others hold does not count.
func TestHoldsSame(t *testing.T) {
	own, other := lease.ID{Owner: "a", DSeq: 1, GSeq: 1, OSeq: 1}, lease.ID{Owner: "a", DSeq: 2, GSeq: 1, OSeq: 1}
	claim := func(thing string, parts ...state.Part) *state.Claim {
		return &state.Claim{UID: "uid", Thing: thing, Parts: parts}
	}
	part := func(id lease.ID, key, service string) state.Part {
		return state.Part{Key: key, Lease: id, Service: service}
	}
	was := claim("shop", part(own, "/", "web"), part(other, "/v1", "api"))
	waiting := claim("shop", part(other, "/v1", "api"))
	waiting.Waits = []state.Part{part(own, "/", "web").Wait("", nil)}
	anew := claim("shop", part(own, "/", "web"))
	anew.UID = "another"
	for name, tt := range map[string]struct {
		was, now []*state.Claim
		want     bool
	}{
		"nothing":                       {nil, nil, true},
		"the same":                      {[]*state.Claim{was}, []*state.Claim{claim("shop", part(own, "/", "web"))}, true},
		"another's part":                {[]*state.Claim{was}, []*state.Claim{claim("shop", part(own, "/", "web"), part(other, "/v2", "api"))}, true},
		"a claim that it has lost":      {[]*state.Claim{was}, nil, false},
		"a claim that it has gained":    {nil, []*state.Claim{was}, false},
		"another backend":               {[]*state.Claim{was}, []*state.Claim{claim("shop", part(own, "/", "shop"))}, false},
		"another path":                  {[]*state.Claim{was}, []*state.Claim{claim("shop", part(own, "/x", "web"))}, false},
		"one more path":                 {[]*state.Claim{was}, []*state.Claim{claim("shop", part(own, "/", "web"), part(own, "/x", "web"))}, false},
		"it waits for what it has lost": {[]*state.Claim{was}, []*state.Claim{waiting}, false},
		"a claim that was made anew":    {[]*state.Claim{was}, []*state.Claim{anew}, false},
	} {
		if got := holdsSame(tt.was, tt.now, own.Group()); got != tt.want {
			t.Errorf("%s: %t, want %t", name, got, tt.want)
		}
	}
}
