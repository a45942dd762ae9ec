package reserved_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/state/inventory"
	"github.com/akash-net/kubectl-akash-net/state/protocol/capacity"
	"github.com/akash-net/kubectl-akash-net/state/reserved"
	"github.com/akash-net/kubectl-akash-net/test/golden"
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

// wordClaim parses the parts of a claim, "bound ASKED CPU SECONDS" and "pending ASKED CPU SECONDS", and "deleting" or "unreadable"; "-" is no
// claim. A part expires after the seconds, or never with 0.
func wordClaim(t *testing.T, line string) *reserved.Claim {
	t.Helper()
	if line == "-" {
		return nil
	}
	c := &reserved.Claim{ObjectName: "c"}
	for _, text := range strings.Split(line, ", ") {
		var kind, asked string
		var cpu uint64
		var seconds int
		if n, _ := fmt.Sscan(text, &kind, &asked, &cpu, &seconds); n != 4 && n != 1 {
			t.Fatalf("what is %q?", text)
		}
		switch kind {
		case "bound":
			c.Bound = part(asked, cpu, seconds)
		case "pending":
			c.Pending = part(asked, cpu, seconds)
		case "deleting":
			c.Deleting = true
		case "unreadable":
			c.Unreadable = "why"
		}
	}
	return c
}

// What a claim takes: testdata/claims.txt. It takes room from its announcement on, and its bound part takes room until it has moved.
//
//	pieces     its pieces, and what it holds in all
//	own        what an order that asks for "a" has of it
//	announced  the same, but for what is bound, which a run looks at by itself
func TestClaims(t *testing.T) {
	say := func(c *capacity.Claim) string {
		if c == nil {
			return "nothing"
		}
		if diff := cmp.Diff(held(c.Hold.Nodes["n1"].CPU), c.Hold, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s holds more: %s", c.Name, diff)
		}
		return fmt.Sprintf("%s takes %d, bound %t, over %t", c.Name, c.Hold.Nodes["n1"].CPU, c.Bound, c.Over)
	}
	golden.Rules{
		"pieces": func(line string) string {
			c := wordClaim(t, line)
			var said []string
			for _, piece := range c.Pieces(now, same) {
				said = append(said, say(&piece))
			}
			return strings.Join(append(said, fmt.Sprintf("it holds %d", c.Hold().Nodes["n1"].CPU)), "\n")
		},
		"own":       func(line string) string { return say(wordClaim(t, line).Own("a", now)) },
		"announced": func(line string) string { return say(wordClaim(t, line).Announced("a", now)) },
	}.Check(t, "testdata/claims.txt")
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
	card := func(model string) *lease.SchedulerParams {
		return &lease.SchedulerParams{Resources: &lease.SchedulerResources{GPU: &lease.SchedulerGPU{Vendor: "nvidia", Model: model}}}
	}
	p := reserved.Part{Params: map[uint32]*lease.SchedulerParams{3: card("a100"), 1: card("t4"), 2: nil, 4: card("t4")}}
	if got := strings.Join(p.Models(), " "); got != "nvidia/t4 nvidia/a100" {
		t.Error(got)
	}
}
