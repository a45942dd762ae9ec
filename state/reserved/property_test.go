package reserved_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/akash-net/kubectl-akash-net/state/inventory"
	"github.com/akash-net/kubectl-akash-net/state/reserved"
)

func drawClaim(t *rapid.T, name string) *reserved.Claim {
	return &reserved.Claim{ObjectName: name, Bound: drawPart(t, "bound"), Pending: drawPart(t, "pending"), Deleting: rapid.IntRange(0, 4).Draw(t, "deleting") == 0}
}

// The pieces of a claim add up to its hold: between the bound and the pending part nothing is lost or counted twice.
func TestPiecesAreTheWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawClaim(t, "c")
		var sum inventory.Hold
		names := map[string]bool{}
		for i, p := range c.Pieces(now, same) {
			if names[p.Name] || p.Bound != (i == 0 && c.Bound != nil) {
				t.Errorf("the pieces are %+v", c.Pieces(now, same))
			}
			names[p.Name] = true
			sum = sum.Larger(p.Hold)
			if i == 1 { // what is beyond: it comes on top
				sum = c.Bound.Hold.Larger(c.Pending.Hold)
				if beyond := sum.Minus(c.Bound.Hold); !cmp.Equal(beyond, p.Hold) {
					t.Errorf("the move holds %+v beyond, want %+v", p.Hold, beyond)
				}
			}
		}
		if diff := cmp.Diff(c.Hold(), sum, cmpopts.EquateEmpty()); diff != "" {
			t.Error(diff)
		}
		if own := c.Own("another", now); own != nil && c.Part() != nil && c.Part().Asked != "another" && (c.Pending == nil || c.Pending.Asked != "another") {
			t.Errorf("it is the own of a group that it was not asked for: %+v", own)
		}
	})
}

// Without deletes no claim that still holds, returns each claim once, and removes only the move of a claim that still
// holds.
func TestWhatHoldsIsNotRemoved(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var all []*reserved.Claim
		var over []string
		for i := range rapid.IntRange(0, 5).Draw(t, "claims") {
			c := drawClaim(t, fmt.Sprint("c", i))
			all = append(all, c)
			for _, p := range c.Pieces(now, same) {
				if p.Over || rapid.IntRange(0, 9).Draw(t, "mistaken") == 0 {
					over = append(over, p.Name)
				}
			}
		}
		deleted, stayed := reserved.Without(all, over, now)
		for _, c := range deleted {
			if !c.Over(now) || slices.Contains(stayed, c) {
				t.Errorf("%s is deleted", c.ObjectName)
			}
		}
		for _, c := range stayed {
			if c.Bound == nil || c.Pending == nil || !slices.Contains(over, c.ObjectName+"+") {
				t.Errorf("of %s what it is moved to goes", c.ObjectName)
			}
		}
	})
}

// A hold ends five seconds after its time by the API server's clock. One without a time, or with an invalid one, never
// ends. What is announced ends within a minute, or no run has written it, and nobody waits for it.
func TestOver(t *testing.T) {
	at := func(d time.Duration) string { return now.Add(d).Format(time.RFC3339Nano) }
	for expires, want := range map[string]bool{
		"": false, at(time.Hour): false, at(65 * time.Second): false, at(65*time.Second + 1): false, at(0): false, at(-5 * time.Second): false, at(-5*time.Second - 1): true, at(-time.Hour): true, "tomorrow": false, "0001-01-01T00:00:00Z": true, "9999-12-31T23:59:59Z": false,
		now.Add(-time.Hour).In(time.FixedZone("", -12*3600)).Format(time.RFC3339): true, now.Add(time.Hour).In(time.FixedZone("", 14*3600)).Format(time.RFC3339): false,
	} {
		p := &reserved.Part{Expires: expires}
		end, err := time.Parse(time.RFC3339, expires)
		lapsed := want || err == nil && end.After(now.Add(65*time.Second))
		bound, pending := reserved.Claim{Bound: p, Pending: &reserved.Part{}}, reserved.Claim{Pending: p}
		if p.Over(now) != want || bound.Over(now) != want || pending.Over(now) != lapsed {
			t.Errorf("%q is over is %t", expires, p.Over(now))
		}
	}
	if (&reserved.Claim{Unreadable: "why"}).Over(now) {
		t.Error("what cannot be read is over")
	}
}

// Asked changes with every part of a request, but not with the group's name.
func TestEachWishIsAnotherGroup(t *testing.T) {
	group := func(change func(*inventory.Resource)) inventory.Group {
		r := inventory.Resource{ID: 1, Count: 2, CPU: 3, Memory: 4, GPU: inventory.GPU{Units: 1, Attributes: []string{"a"}}, Storage: []inventory.Volume{{Name: "v", Size: 5}}, Endpoints: []inventory.Endpoint{{Kind: inventory.LeasedIP, Sequence: 1}}}
		change(&r)
		return inventory.Group{Name: "g", Resources: []inventory.Resource{r}}
	}
	first := reserved.Asked(group(func(*inventory.Resource) {}))
	seen := map[string]string{first: "as it was"}
	for name, change := range map[string]func(*inventory.Resource){
		"id": func(r *inventory.Resource) { r.ID++ }, "count": func(r *inventory.Resource) { r.Count++ }, "cpu": func(r *inventory.Resource) { r.CPU++ }, "memory": func(r *inventory.Resource) { r.Memory++ },
		"gpu": func(r *inventory.Resource) { r.GPU.Units++ }, "model": func(r *inventory.Resource) { r.GPU.Attributes = []string{"b"} }, "size": func(r *inventory.Resource) { r.Storage[0].Size++ },
		"class": func(r *inventory.Resource) { r.Storage[0].Attributes.Class = "beta2" }, "persistent": func(r *inventory.Resource) { r.Storage[0].Attributes.Persistent = "true" },
		"endpoint": func(r *inventory.Resource) { r.Endpoints[0].Sequence++ }, "kind": func(r *inventory.Resource) { r.Endpoints[0].Kind = inventory.RandomPort },
	} {
		asked := reserved.Asked(group(change))
		if other, known := seen[asked]; known {
			t.Errorf("%s: it is the group %s", name, other)
		}
		seen[asked] = name
	}
	renamed := group(func(*inventory.Resource) {})
	if renamed.Name = "other"; reserved.Asked(renamed) != first {
		t.Error("by another name it is another group")
	}
}

// A part of the largest size can be written. The error for a larger one counts its nodes.
func TestTheLongestPart(t *testing.T) {
	p := &reserved.Part{Asked: "a", Hold: inventory.Hold{Nodes: map[string]inventory.Amounts{"n1": {Pods: 1}, "n2": {}}}}
	for n := 0; ; n++ {
		p.By = strings.Repeat("x", reserved.MaxText-200+n)
		err := p.Check()
		notes := (&reserved.Claim{Order: order, Bound: p}).Configuration("ns").Annotations
		text := notes[reserved.AnnotationBound] + notes[reserved.AnnotationBoundNodes]
		if (err == nil) != (len(text) <= reserved.MaxText) {
			t.Fatalf("%d bytes: %v", len(text), err)
		}
		if err != nil {
			if !strings.Contains(err.Error(), "2 nodes") {
				t.Error(err)
			}
			return
		}
	}
}
