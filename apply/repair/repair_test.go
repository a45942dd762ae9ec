package repair

import (
	"slices"
	"testing"

	"github.com/akash-net/kubectl-akash-net/apply/observed"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
)

// What repair says of a problem names the lease, or as much of it as the problem does.
func TestLeaseOfAProblem(t *testing.T) {
	id := lease.ID{Owner: "akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h", DSeq: 7, GSeq: 1, OSeq: 1, Provider: "akash1nxq8gmsw2vlz3m68qvyvcf3kh6q269ajvqw6y0"}
	for text, want := range map[string]lease.ID{
		id.String():         id,
		id.Group().String(): {Owner: id.Owner, DSeq: id.DSeq, GSeq: id.GSeq},
		"":                  {},
		"a/b/c":             {},
	} {
		if got := leaseOf(state.Problem{Lease: text}); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

// A repair of several leases is announced for all of them; those of an exhausted pool belong to whoever holds its addresses.
func TestWrittenFor(t *testing.T) {
	a := lease.Group{Owner: "akash1h24fljt7p0nh82cq0za0uhsct3sfwsfu9w3c9h", DSeq: 1, GSeq: 1}
	b := lease.Group{Owner: a.Owner, DSeq: 2, GSeq: 1}
	r := &repair{snapshot: &observed.Snapshot{}}
	leave := func(g lease.Group) state.LeaveParts { return state.LeaveParts{Parts: state.ClaimParts{Group: g}} }
	for name, tt := range map[string]struct {
		problem state.Problem
		want    []lease.Group
	}{
		"nothing to do":       {state.Problem{}, nil},
		"the problem's lease": {state.Problem{Lease: a.String(), Mend: state.MakePool{}}, []lease.Group{a}},
		"an exhausted pool":   {state.Problem{Mend: state.FreeAddresses{Leave: []state.LeaveParts{leave(a), leave(b)}}}, []lease.Group{a, b}},
	} {
		if groups, _ := r.groupsOf([]state.Problem{tt.problem}); !slices.Equal(groups, tt.want) {
			t.Errorf("%s: %v, want %v", name, groups, tt.want)
		}
	}
}

// A definition that is given, or kept and safe to apply, repairs its lease's problems.
func TestByDefinition(t *testing.T) {
	g := lease.Group{Owner: "a", DSeq: 1, GSeq: 1}
	given := map[lease.Group]*lease.Definition{g: {}}
	for name, tt := range map[string]struct {
		problem state.Problem
		defs    map[lease.Group]*lease.Definition
		named   bool
		want    bool
	}{
		"no definition":               {state.Problem{Manual: true, Mend: state.ApplyDefinition{Group: g}}, nil, true, false},
		"a given one":                 {state.Problem{Manual: true, Mend: state.ApplyDefinition{Group: g}}, given, false, true},
		"a kept one":                  {state.Problem{Mend: state.ApplyDefinition{Group: g, Kept: true}}, nil, false, true},
		"a kept one, on request":      {state.Problem{Manual: true, Named: true, Mend: state.ApplyDefinition{Group: g, Kept: true}}, nil, false, false},
		"a kept one, and named":       {state.Problem{Manual: true, Named: true, Mend: state.ApplyDefinition{Group: g, Kept: true}}, nil, true, true},
		"routes that move":            {state.Problem{Manual: true, Named: true, Mend: state.MoveRoutes{Group: g}}, nil, true, false},
		"routes that a given one has": {state.Problem{Manual: true, Named: true, Mend: state.MoveRoutes{Group: g}}, given, true, true},
		"something else":              {state.Problem{Mend: state.MakePool{}}, given, true, false},
	} {
		r := &repair{defs: tt.defs}
		if tt.named {
			r.asked.Problems = []string{"x"}
		}
		if got := r.byDefinition(tt.problem); got != tt.want {
			t.Errorf("%s: %t, want %t", name, got, tt.want)
		}
	}
}
