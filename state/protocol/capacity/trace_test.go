package capacity_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/akash-net/kubectl-akash-net/state/inventory"
	"github.com/akash-net/kubectl-akash-net/state/protocol/capacity"
)

// Traces of the protocol, request by request: testdata has one for every row of the table in docs/orders.md.
// `go test ./state/protocol/capacity -rewrite` writes what the protocol says now.
//
// A block is a story that begins without reservations:
//
//	node NAME CPUS | addresses TOTAL IN-USE
//	run NAME COUNTxCPUS [ip]    a run that wants so many replicas
//	step NAME...                the next request of a run, and what it decides then
//	finish NAME...              all its requests to the end
//	over NAME                   the claim's time is over
//	release NAME | claims
//
// A run that crashes is one that is not named any more.
func TestTraces(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			w := &world{t: t, claims: map[string]*claim{}, runs: map[string]*run{}}
			for line := range strings.Lines(d.Input) {
				if words := strings.Fields(line); len(words) > 0 {
					w.obey(words)
				}
			}
			return w.out.String()
		})
	})
}

type world struct {
	t       *testing.T
	room    capacity.Room
	claims  map[string]*claim
	runs    map[string]*run
	version int
	out     strings.Builder
}

type claim struct {
	capacity.Claim
	version int
}

// run is a run between two requests. next is its decision, for the versions that it has listed.
type run struct {
	want   inventory.Group
	next   *capacity.Next
	listed map[string]int
	ended  bool
}

func (w *world) number(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		w.t.Fatal(err)
	}
	return n
}

func (w *world) obey(words []string) {
	args := words[1:]
	switch words[0] {
	case "node":
		w.room.Cluster.Nodes = append(w.room.Cluster.Nodes, inventory.Node{Name: args[0], CPU: inventory.Amount{Allocatable: w.number(args[1]) * 1000}})
	case "addresses":
		w.room.Addresses = &inventory.Addresses{Total: uint64(w.number(args[0])), InUse: uint64(w.number(args[1]))}
	case "run":
		count, cpus, _ := strings.Cut(args[1], "x")
		r := inventory.Resource{ID: 1, Count: uint32(w.number(count)), CPU: uint64(w.number(cpus)) * 1000}
		if slices.Contains(args, "ip") {
			r.Endpoints = []inventory.Endpoint{{Kind: inventory.LeasedIP, Sequence: 1}}
		}
		w.runs[args[0]] = &run{want: inventory.Group{Resources: []inventory.Resource{r}}}
	case "step":
		for _, name := range args {
			w.step(name)
		}
	case "finish":
		for _, name := range args {
			for n := 0; !w.runs[name].ended; n++ {
				if w.step(name); n > 20 {
					w.t.Fatalf("%s does not end", name)
				}
			}
		}
	case "over":
		w.claims[args[0]].Over = true
	case "release":
		delete(w.claims, args[0])
	case "claims":
		for _, name := range w.names() {
			fmt.Fprintf(&w.out, "  %s\n", w.claims[name])
		}
	default:
		w.t.Fatalf("unknown word %s", words[0])
	}
}

func (w *world) names() (names []string) {
	for name := range w.claims {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func (c *claim) String() string {
	text := c.Name + " pending"
	if c.Bound {
		text = c.Name + " bound"
	}
	if c.Over {
		text += ", over"
	}
	return text + on(c.Hold)
}

func on(h inventory.Hold) (text string) {
	for _, n := range []string{"a", "b"} {
		if cpus := h.Nodes[n].CPU; cpus > 0 {
			text += fmt.Sprintf(", %d of %s", cpus/1000, n)
		}
	}
	if h.Addresses > 0 {
		text += fmt.Sprintf(", %d addresses", h.Addresses)
	}
	return text
}

// step lists and decides, or carries out the decision.
func (w *world) step(name string) {
	r := w.runs[name]
	if r.next == nil {
		w.list(name, r)
		return
	}
	next := r.next
	r.next = nil
	pinned := func(name string) bool {
		c := w.claims[name]
		return c != nil && c.version == r.listed[name] || c == nil && r.listed[name] == 0
	}
	write := func(c *claim) {
		if !pinned(name) {
			fmt.Fprintf(&w.out, "%s fails: the claim has changed\n", name)
			return
		}
		if w.version++; c == nil {
			delete(w.claims, name)
			return
		}
		c.version = w.version
		w.claims[name] = c
	}
	switch next.Step {
	case capacity.Announce:
		write(&claim{Claim: capacity.Claim{Name: name, Hold: next.Hold}})
	case capacity.Bind:
		if c := w.claims[name]; c != nil {
			bound := *c
			bound.Bound = true
			write(&bound)
		} else {
			write(nil)
		}
	case capacity.Withdraw:
		write(nil)
	case capacity.Evict:
		for _, other := range next.Evict {
			if pinned(other) {
				delete(w.claims, other)
			}
		}
	}
}

func (w *world) list(name string, r *run) {
	in := capacity.Reserving{Name: name, Want: r.want, Room: w.room}
	r.listed = map[string]int{}
	for _, other := range w.names() {
		c := w.claims[other]
		r.listed[other] = c.version
		if other == name {
			own := c.Claim
			in.Own = &own
		} else {
			in.Others = append(in.Others, c.Claim)
		}
	}
	next := capacity.Decide(in)
	words := map[capacity.Step]string{capacity.Announce: "announces", capacity.Bind: "binds", capacity.Evict: "evicts " + strings.Join(next.Evict, " "),
		capacity.Wait: "waits", capacity.Withdraw: "withdraws", capacity.Rest: "has it"}
	text := words[next.Step] + on(next.Hold)
	if next.Step == capacity.Refuse {
		text = "is refused: " + next.Refusal.String()
	}
	fmt.Fprintf(&w.out, "%s %s\n", name, text)
	switch next.Step {
	case capacity.Rest, capacity.Refuse:
		r.ended = true
	case capacity.Wait:
	default:
		r.next = &next
	}
}
