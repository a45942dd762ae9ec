package reserved_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state/inventory"
	"github.com/akash-net/kubectl-akash-net/state/protocol/capacity"
	"github.com/akash-net/kubectl-akash-net/state/reserved"
)

func same(h inventory.Hold) inventory.Hold { return h }

// part returns a part that takes CPU of a node and expires after some seconds, or never with 0.
func part(asked string, cpu uint64, seconds int) *reserved.Part {
	p := &reserved.Part{Asked: asked, Hold: inventory.Hold{Nodes: map[string]inventory.Amounts{"n1": {CPU: cpu}}}}
	if seconds != 0 {
		p.Expires = now.Add(time.Duration(seconds) * time.Second).Format(time.RFC3339)
	}
	return p
}

func held(cpu uint64) inventory.Hold {
	return inventory.Hold{Nodes: map[string]inventory.Amounts{"n1": {CPU: cpu}}}
}

// Pieces and Own: a claim takes room from its announcement on, and its bound part takes room until it has moved.
func TestPieces(t *testing.T) {
	for name, c := range map[string]struct {
		claim reserved.Claim
		want  []capacity.Claim
		hold  inventory.Hold
	}{
		"pending":       {reserved.Claim{Pending: part("a", 3, 20)}, []capacity.Claim{{Name: "c", Hold: held(3)}}, held(3)},
		"pending, over": {reserved.Claim{Pending: part("a", 3, -20)}, []capacity.Claim{{Name: "c", Over: true, Hold: held(3)}}, held(3)},
		"bound":         {reserved.Claim{Bound: part("a", 3, 0)}, []capacity.Claim{{Name: "c", Bound: true, Hold: held(3)}}, held(3)},
		"bound, over":   {reserved.Claim{Bound: part("a", 3, -6)}, []capacity.Claim{{Name: "c", Bound: true, Over: true, Hold: held(3)}}, held(3)},
		"bound, over within the margin of clocks": {reserved.Claim{Bound: part("a", 3, -5)}, []capacity.Claim{{Name: "c", Bound: true, Hold: held(3)}}, held(3)},
		"grows":               {reserved.Claim{Bound: part("a", 3, 0), Pending: part("b", 5, 20)}, []capacity.Claim{{Name: "c", Bound: true, Hold: held(3)}, {Name: "c+", Hold: held(2)}}, held(5)},
		"shrinks":             {reserved.Claim{Bound: part("a", 3, 0), Pending: part("b", 1, 20)}, []capacity.Claim{{Name: "c", Bound: true, Hold: held(3)}, {Name: "c+", Hold: held(0)}}, held(3)},
		"a move that crashed": {reserved.Claim{Bound: part("a", 3, 0), Pending: part("b", 5, -20)}, []capacity.Claim{{Name: "c", Bound: true, Hold: held(3)}, {Name: "c+", Over: true, Hold: held(2)}}, held(5)},
		"is being deleted":    {reserved.Claim{Bound: part("a", 3, 0), Deleting: true}, nil, inventory.Hold{}},
		"cannot be read":      {reserved.Claim{Unreadable: "why"}, nil, inventory.Hold{}},
		"cannot wrap":         {reserved.Claim{Bound: part("a", 1<<64-1, 0), Pending: part("b", 1<<64-1, 20)}, []capacity.Claim{{Name: "c", Bound: true, Hold: held(1<<64 - 1)}, {Name: "c+", Hold: held(0)}}, held(1<<64 - 1)},
	} {
		t.Run(name, func(t *testing.T) {
			c.claim.ObjectName = "c"
			if diff := cmp.Diff(c.want, c.claim.Pieces(now, same), cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(c.hold, c.claim.Hold(), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("it holds %s", diff)
			}
		})
	}
}

// A reservation does not include what the order's own pods use.
func TestPiecesTakeWhatIsNotInUse(t *testing.T) {
	c := reserved.Claim{ObjectName: "c", Bound: part("a", 5, 0), Pending: part("b", 7, 20)}
	used := func(h inventory.Hold) inventory.Hold { return h.Minus(held(4)) }
	want := []capacity.Claim{{Name: "c", Bound: true, Hold: held(1)}, {Name: "c+", Hold: held(2)}}
	if diff := cmp.Diff(want, c.Pieces(now, used), cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
}

// Announced leaves out what is bound, which a run looks at by itself.
func TestAnnounced(t *testing.T) {
	for name, c := range map[string]struct {
		claim *reserved.Claim
		want  *capacity.Claim
	}{
		"none":                {nil, nil},
		"bound":               {&reserved.Claim{Bound: part("a", 3, 0)}, nil},
		"announced":           {&reserved.Claim{Pending: part("a", 3, 9)}, &capacity.Claim{Name: "c", Hold: held(3)}},
		"bound, and it moves": {&reserved.Claim{Bound: part("a", 3, 0), Pending: part("a", 4, 9)}, &capacity.Claim{Name: "c", Hold: held(4)}},
		"is being deleted":    {&reserved.Claim{Pending: part("a", 3, 9), Deleting: true}, nil},
	} {
		if c.claim != nil {
			c.claim.ObjectName = "c"
		}
		if diff := cmp.Diff(c.want, c.claim.Announced("a", now)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// Lost names the claims for which there is no room, the younger one of two that do not fit together.
func TestLost(t *testing.T) {
	room := capacity.Room{Cluster: inventory.Cluster{Nodes: []inventory.Node{{Name: "n1", CPU: inventory.Amount{Allocatable: 4}}}}}
	aged := func(name string, minutes int, p *reserved.Part) *reserved.Claim {
		return &reserved.Claim{ObjectName: name, Created: now.Add(-time.Duration(minutes) * time.Minute), Bound: p}
	}
	going := aged("going", 9, part("a", 9, 0))
	going.Deleting = true
	elsewhere := aged("elsewhere", 9, &reserved.Part{Hold: inventory.Hold{Nodes: map[string]inventory.Amounts{"n2": {CPU: 1}}}})
	runs := aged("runs", 9, &reserved.Part{Hold: inventory.Hold{Nodes: map[string]inventory.Amounts{"n2": {CPU: 1}}}})
	all := []*reserved.Claim{
		aged("young", 1, part("a", 3, 0)), aged("old", 5, part("a", 3, 0)), aged("least", 0, part("a", 1, 0)), aged("over", 9, part("a", 4, -9)), going, elsewhere, runs,
		{ObjectName: "announced", Pending: part("a", 9, 9)}, {ObjectName: "unreadable", Unreadable: "why"},
	}
	got := reserved.Lost(all, room, now, func(c *reserved.Claim) inventory.Hold {
		if c == runs {
			return c.Bound.Hold.Minus(c.Bound.Hold)
		}
		return c.Bound.Hold
	})
	if diff := cmp.Diff(map[string]bool{"young": true, "elsewhere": true}, got); diff != "" {
		t.Error(diff)
	}
}

func TestOwn(t *testing.T) {
	for name, c := range map[string]struct {
		claim *reserved.Claim
		want  *capacity.Claim
	}{
		"none":                       {nil, nil},
		"bound to the same":          {&reserved.Claim{Bound: part("a", 3, 0)}, &capacity.Claim{Name: "c", Bound: true, Hold: held(3)}},
		"bound to the same, over":    {&reserved.Claim{Bound: part("a", 3, -9)}, &capacity.Claim{Name: "c", Bound: true, Over: true, Hold: held(3)}},
		"bound to another":           {&reserved.Claim{Bound: part("x", 3, 0)}, nil},
		"announced":                  {&reserved.Claim{Pending: part("a", 3, 9)}, &capacity.Claim{Name: "c", Hold: held(3)}},
		"announced, over":            {&reserved.Claim{Pending: part("a", 3, -9)}, &capacity.Claim{Name: "c", Over: true, Hold: held(3)}},
		"another is announced":       {&reserved.Claim{Pending: part("x", 3, 9)}, nil},
		"a move is announced":        {&reserved.Claim{Bound: part("x", 5, 0), Pending: part("a", 3, 9)}, &capacity.Claim{Name: "c", Hold: held(3)}},
		"is being deleted":           {&reserved.Claim{Bound: part("a", 3, 0), Deleting: true}, nil},
		"bound, a move from another": {&reserved.Claim{Bound: part("a", 3, 0), Pending: part("x", 4, 9)}, &capacity.Claim{Name: "c", Bound: true, Hold: held(3)}},
	} {
		t.Run(name, func(t *testing.T) {
			if c.claim != nil {
				c.claim.ObjectName = "c"
			}
			if diff := cmp.Diff(c.want, c.claim.Own("a", now)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A claim is deleted if all of it has expired. If a move crashed, only the pending part is removed.
func TestWithout(t *testing.T) {
	over := &reserved.Claim{ObjectName: "over", Bound: part("a", 1, -9)}
	live := &reserved.Claim{ObjectName: "live", Bound: part("a", 1, 9)}
	crashed := &reserved.Claim{ObjectName: "crashed", Bound: part("a", 1, 0), Pending: part("b", 2, -9)}
	other := &reserved.Claim{ObjectName: "other", Bound: part("a", 1, -9)}
	all := []*reserved.Claim{over, live, crashed, other}
	deleted, stayed := reserved.Without(all, []string{"over", "live", "crashed+"}, now)
	if len(deleted) != 1 || deleted[0] != over || len(stayed) != 1 || stayed[0] != crashed {
		t.Errorf("deleted %v, stayed %v", deleted, stayed)
	}
}

func TestFind(t *testing.T) {
	own, a := &reserved.Claim{ObjectName: reserved.Name(order)}, &reserved.Claim{ObjectName: "a"}
	all := []*reserved.Claim{a, own}
	if found, others := reserved.Find(all, order); found != own || len(others) != 1 || others[0] != a || len(all) != 2 || all[1] != own {
		t.Errorf("found %v, others %v, all %v", found, others, all)
	}
	if found, others := reserved.Find(all, lease.Order{Owner: owner, DSeq: 1, GSeq: 1, OSeq: 1}); found != nil || len(others) != 2 {
		t.Errorf("found %v, others %v", found, others)
	}
}

// Endpoints count once per resource unit, whatever its replicas, as in Akash's provider.
func TestHTTP(t *testing.T) {
	e := func(k inventory.EndpointKind) inventory.Endpoint { return inventory.Endpoint{Kind: k} }
	http := reserved.HTTP(inventory.Group{Resources: []inventory.Resource{
		{Count: 9, Endpoints: []inventory.Endpoint{e(inventory.SharedHTTP), e(inventory.RandomPort), e(inventory.RandomPort)}}, {Count: 1, Endpoints: []inventory.Endpoint{e(inventory.LeasedIP), e(inventory.SharedHTTP)}}}})
	if http != 2 {
		t.Errorf("%d", http)
	}
}

func TestModels(t *testing.T) {
	card := func(model string) *inventory.SchedulerParams {
		return &inventory.SchedulerParams{Resources: inventory.SchedulerResources{GPU: inventory.SchedulerGPU{Vendor: "nvidia", Model: model}}}
	}
	p := reserved.Part{Params: map[uint32]*inventory.SchedulerParams{3: card("a100"), 1: card("t4"), 2: nil, 4: card("t4")}}
	if got := strings.Join(p.Models(), " "); got != "nvidia/t4 nvidia/a100" {
		t.Error(got)
	}
}
