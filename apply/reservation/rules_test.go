package reservation

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/akash-net/kubectl-akash-net/apply/ledger"
	"github.com/akash-net/kubectl-akash-net/lease"
	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/inventory"
	"github.com/akash-net/kubectl-akash-net/state/inventory/observed"
	"github.com/akash-net/kubectl-akash-net/state/protocol/capacity"
	"github.com/akash-net/kubectl-akash-net/state/reserved"
	"github.com/akash-net/kubectl-akash-net/state/view"
	"github.com/akash-net/kubectl-akash-net/test/golden"
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

// A lease waits for runs that sort after its own and may give back what they have claimed, for a while; only endpoints that such runs alone have
// claimed count: testdata/yielding.txt has claims on endpoints as "ENDPOINT MARK...; ...", "host" for a host, and "| MARK..." of runs that were
// waited for. The lease's mark is m.
func TestYielding(t *testing.T) {
	golden.Rules{"yields": func(line string) string {
		text, seen, _ := strings.Cut(line, "|")
		l := Leasing{Mark: "m", seen: map[string]time.Time{}}
		for _, mark := range strings.Fields(seen) {
			l.seen[mark] = time.Time{}
		}
		var claims []*state.Claim
		for _, one := range strings.Split(text, ";") {
			words := append(strings.Fields(one), "")
			c := &state.Claim{Kind: state.Address, SharingKey: words[0]}
			if words[0] == "host" {
				c = &state.Claim{Kind: state.Host}
			}
			for _, mark := range words[1 : len(words)-1] {
				c.Parts = append(c.Parts, state.Part{Run: strings.Trim(mark, "-")})
			}
			claims = append(claims, c)
		}
		return fmt.Sprint(l.yielding(claims))
	}}.Check(t, "testdata/yielding.txt")
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
	chosen := &lease.SchedulerParams{RuntimeClass: "nvidia"}
	got := Params(&reserved.Part{Params: map[uint32]*lease.SchedulerParams{1: chosen, 2: nil}})
	want := map[uint32]*lease.SchedulerParams{1: chosen}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A refusal names a few of the orders, however many there are.
func TestAddressesError(t *testing.T) {
	for n, want := range map[int]string{1: "reserved by a;", 3: "reserved by a, b, c;", 5: "reserved by a, b, c, 2 more;"} {
		e := &AddressesError{By: strings.Split("abcde", "")[:n]}
		if !strings.Contains(e.Error(), want) {
			t.Errorf("%d: %v", n, e)
		}
	}
}

// What can still be given out follows the configuration's commit levels, and what reservations hold of the addresses is
// not free.
func TestRoom(t *testing.T) {
	cfg := config.Default()
	cfg.CommitLevels = config.CommitLevels{CPU: 2, GPU: 4, Memory: 2, Storage: 2}
	cfg.IP.Ranges.Include = ranges(t, "203.0.113.0/31", "203.0.113.8/31")
	claims := []*state.Claim{{Kind: state.Address, Thing: "203.0.113.8"}, {Kind: state.Address, Thing: "198.51.100.1"}}
	room := Room{Capacity: observed.Capacity{Reserved: 1, Nodes: []observed.Node{{Name: "n1", Allocatable: inventory.Amounts{CPU: 1000, GPU: 1, Memory: 10, EphemeralStorage: 10},
		Cards: []inventory.Card{{Vendor: "nvidia", Name: "t4"}}}}}, Addresses: addressRoom(cfg, view.Contents{}, claims)}
	asked := inventory.Resource{ID: 1, Count: 1, CPU: 2000, Memory: 20, GPU: inventory.GPU{Units: 4, Attributes: []string{"vendor/nvidia/model/*"}},
		Storage: []inventory.Volume{{Size: 20}}, Endpoints: []inventory.Endpoint{{Kind: inventory.LeasedIP, Sequence: 1}}}
	left := room.Inventory(cfg)
	if _, refusal := left.Reserve(inventory.Group{Resources: []inventory.Resource{asked}}); refusal != nil {
		t.Fatal(refusal)
	}
	if a := left.Room().Available.Amounts; a != (inventory.Amounts{}) {
		t.Errorf("left is %+v", a)
	}
	address := inventory.Group{Resources: []inventory.Resource{{Endpoints: asked.Endpoints}}}
	if _, refusal := left.Reserve(address); refusal != nil || room.Addresses.InUse != 1 {
		t.Error("the last address is not given, or what was read has changed: ", refusal)
	}
	if _, refusal := left.Reserve(address); refusal == nil || refusal.Reason != inventory.InsufficientIPs {
		t.Errorf("a third address: %v", refusal)
	}
	if addressRoom(config.Default(), view.Contents{}, claims) != nil {
		t.Error("without pools there are addresses")
	}
}

func ranges(t *testing.T, texts ...string) (out []config.Range) {
	t.Helper()
	for _, text := range texts {
		r, err := config.ParseRange(text)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, r)
	}
	return out
}

// An order whose lease has claimed an endpoint has one address fewer reserved; one whose claim cannot be read has not.
func TestLeasesOf(t *testing.T) {
	id := lease.ID{Owner: "akash1a", DSeq: 7, GSeq: 1, OSeq: 2, Provider: "akash1p"}
	parts := []state.Part{{Lease: id}, {Lease: id}}
	got := leasesOf([]*state.Claim{{SharingKey: "k", Parts: parts}, {SharingKey: "l", Parts: parts, Unreadable: "why"}, {SharingKey: "m"}})
	if want := map[[2]string]bool{{"akash1a/7/1/2", "k"}: true}; !maps.Equal(got, want) {
		t.Errorf("they are %v", got)
	}
}

// The reservation of a bid becomes that of the lease that has won, whatever its end was; what is not the bid's stays as it is.
func TestWonBy(t *testing.T) {
	id := lease.ID{Owner: "akash1a", DSeq: 7, GSeq: 1, OSeq: 2, Provider: "akash1p"}
	soon, past := time.Now().Add(10*time.Second).UTC().Format(time.RFC3339), "2020-01-01T00:00:00Z"
	part := func(provider, expires string) *reserved.Part {
		return &reserved.Part{Asked: "a", Provider: provider, Expires: expires, By: "bob@host", Run: "r"}
	}
	full, said := errors.New("forbidden"), golden.Cases{}
	for name, tt := range map[string]struct {
		own   *reserved.Claim
		rooms map[string]bool
		err   error
	}{
		"a hold":                      {own: &reserved.Claim{Bound: part("", soon)}},
		"a bid without an end":        {own: &reserved.Claim{Bound: part("", "")}},
		"a hold that has ended":       {own: &reserved.Claim{Bound: part("", past)}},
		"one that moves":              {own: &reserved.Claim{Bound: part("", soon), Pending: part("", soon)}},
		"one whose move has crashed":  {own: &reserved.Claim{Bound: part("", soon), Pending: part("", past)}},
		"won before":                  {own: &reserved.Claim{Bound: part("akash1p", "")}, err: full},
		"won by another provider":     {own: &reserved.Claim{Bound: part("akash1q", "")}},
		"nothing":                     {},
		"one that is being deleted":   {own: &reserved.Claim{Bound: part("", ""), Deleting: true}},
		"one that is announced":       {own: &reserved.Claim{Pending: part("", soon)}},
		"announced before a crash":    {own: &reserved.Claim{Pending: part("", past)}},
		"room that is gone":           {own: &reserved.Claim{Bound: part("", soon)}, rooms: map[string]bool{"rs--own": true}},
		"room of another one":         {own: &reserved.Claim{Bound: part("", soon)}, rooms: map[string]bool{"rs--other": true}},
		"room that is not to be seen": {own: &reserved.Claim{Bound: part("", soon)}, err: full},
	} {
		t.Run(name, func(t *testing.T) {
			o := &Orders{nonce: "nonce", by: "me@host"}
			if tt.own != nil {
				tt.own.ObjectName = "rs--own"
			}
			claim, err := o.wonBy(tt.own, id, time.Now(), func() (map[string]bool, error) { return tt.rooms, tt.err })
			got := "unchanged"
			switch {
			case err != nil:
				got = err.Error()
			case claim != nil:
				got = fmt.Sprintf("won, pending %t", claim.Pending != nil)
				if b := claim.Bound; b.Provider != id.Provider || b.Expires != "" || b.Asked != "a" || b.Run != "nonce" || b.By != "me@host" || tt.own.Bound.Run != "r" {
					t.Errorf("it is %+v", b)
				}
			}
			said[name] = got + "\n"
		})
	}
	said.Check(t, "testdata/won.golden")
}
