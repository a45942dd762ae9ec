package reservation

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/inventory"
	"github.com/akash-net/kubectl-akash-net/state/protocol/capacity"
	"github.com/akash-net/kubectl-akash-net/state/reserved"
)

var noon = time.Date(2026, 11, 1, 12, 0, 0, 1, time.UTC)

// A reservation ends after the time that is asked for, in whole seconds and not earlier. What is held without an end, or
// for a provider, stays so.
func TestSetEnd(t *testing.T) {
	for name, tt := range map[string]struct {
		opts         Options
		before, want *reserved.Part
	}{
		"a bid with an end":            {Options{Expires: time.Minute}, nil, &reserved.Part{Expires: "2026-11-01T12:01:01Z"}},
		"a bid without an end":         {Options{}, nil, &reserved.Part{}},
		"a later end":                  {Options{Expires: time.Minute}, &reserved.Part{Expires: "2026-11-01T12:00:30Z"}, &reserved.Part{Expires: "2026-11-01T12:01:01Z"}},
		"an end for what has none":     {Options{Expires: time.Minute}, &reserved.Part{}, &reserved.Part{}},
		"the end is taken away":        {Options{}, &reserved.Part{Expires: "2026-11-01T12:00:30Z"}, &reserved.Part{}},
		"a lease":                      {Options{Provider: "p"}, &reserved.Part{Expires: "2026-11-01T12:00:30Z"}, &reserved.Part{Provider: "p"}},
		"a bid for what a lease holds": {Options{Expires: time.Minute}, &reserved.Part{Provider: "p"}, &reserved.Part{Provider: "p"}},
	} {
		got := &reserved.Part{Expires: "earlier", Provider: "earlier"}
		(&run{opts: tt.opts}).setEnd(got, tt.before, noon)
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

// A lease waits for runs that sort after its own and may give back what they have claimed, for a while; only endpoints
// that such runs alone have claimed count.
func TestYielding(t *testing.T) {
	claim := func(key string, marks ...string) *state.Claim {
		c := &state.Claim{Kind: state.Address, SharingKey: key}
		for _, mark := range marks {
			c.Parts = append(c.Parts, state.Part{Run: mark})
		}
		return c
	}
	for name, tt := range map[string]struct {
		claims []*state.Claim
		seen   map[string]time.Time
		want   uint64
	}{
		"no claims":                    {nil, nil, 0},
		"a later run":                  {[]*state.Claim{claim("a", "n")}, nil, 1},
		"an earlier run":               {[]*state.Claim{claim("a", "l")}, nil, 0},
		"no run":                       {[]*state.Claim{claim("a", "")}, nil, 0},
		"a part that nobody gives up":  {[]*state.Claim{claim("a", "n", "")}, nil, 0},
		"two addresses of an endpoint": {[]*state.Claim{claim("a", "n"), claim("a", "n")}, nil, 1},
		"two endpoints":                {[]*state.Claim{claim("a", "n"), claim("b", "o")}, nil, 2},
		"a run that was waited for":    {[]*state.Claim{claim("a", "n")}, map[string]time.Time{"n": {}}, 0},
		"a host":                       {[]*state.Claim{{Kind: state.Host, Parts: []state.Part{{Run: "n"}}}}, nil, 0},
	} {
		l := Leasing{Mark: "m", seen: map[string]time.Time{}}
		for mark, at := range tt.seen {
			l.seen[mark] = at
		}
		if got := l.yielding(tt.claims); got != tt.want {
			t.Errorf("%s: %d", name, got)
		}
	}
}

// A lease asks only for the addresses of other orders than its own.
func TestReservesAddresses(t *testing.T) {
	own, other := lease.Order{Owner: "akash1a", DSeq: 1, GSeq: 1, OSeq: 1}, lease.Order{Owner: "akash1a", DSeq: 2, GSeq: 1, OSeq: 1}
	claim := func(o lease.Order, addresses uint64) *reserved.Claim {
		return &reserved.Claim{Order: o, ObjectName: reserved.Name(o), Bound: &reserved.Part{Hold: inventory.Hold{Addresses: addresses}}}
	}
	for name, tt := range map[string]struct {
		claims []*reserved.Claim
		want   bool
	}{
		"nothing":                   {nil, false},
		"its own":                   {[]*reserved.Claim{claim(own, 1)}, false},
		"another's":                 {[]*reserved.Claim{claim(own, 1), claim(other, 1)}, true},
		"another's, and no address": {[]*reserved.Claim{claim(other, 0)}, false},
	} {
		if got := reservesAddresses(ledger.Look{Reservations: tt.claims}, own); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// As few reservations that are over are deleted as make room, doubled from one.
func TestFewest(t *testing.T) {
	over := func(name string) capacity.Claim {
		return capacity.Claim{Name: name, Bound: true, Over: true, Hold: inventory.Hold{Addresses: 1}}
	}
	names := []string{"d", "b", "a", "c", "e"}
	for name, tt := range map[string]struct {
		free uint64
		want []string
	}{
		"one is enough":  {4, []string{"a"}},
		"two are needed": {3, []string{"a", "b"}},
		"three, so four": {2, []string{"a", "b", "c", "d"}},
		"all are needed": {0, []string{"a", "b", "c", "d", "e"}},
	} {
		question := capacity.Reserving{Name: "own", Own: &capacity.Claim{Name: "own", Hold: inventory.Hold{Addresses: 5}},
			Room: capacity.Room{Addresses: &inventory.Addresses{Total: tt.free + 5}}}
		for _, n := range names {
			question.Others = append(question.Others, over(n))
		}
		if got := fewest(question, slices.Clone(names)); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// Units without cards need no parameters.
func TestParams(t *testing.T) {
	chosen := &inventory.SchedulerParams{RuntimeClass: "nvidia"}
	chosen.Resources.GPU.Vendor, chosen.Resources.GPU.Model = "nvidia", "t4"
	got := Params(&reserved.Part{Params: map[uint32]*inventory.SchedulerParams{1: chosen, 2: nil}})
	want := map[uint32]*lease.SchedulerParams{1: {RuntimeClass: "nvidia", GPU: &lease.SchedulerGPU{Vendor: "nvidia", Model: "t4"}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
