// Package capacity decides what a run does next to reserve resources, given what it wants and what it has read.
// Capacity is a sum, so no object name can lock it: a run announces what it takes of which node, lists all
// reservations, and binds if all of them fit. The package sends nothing and has no clock: test/model explores all
// interleavings of it, and docs/orders.md explains it.
package capacity

import (
	"cmp"
	"slices"

	"github.com/akash-net/kubectl-akash-net/state/inventory"
)

// Claim is a reservation as it was listed.
type Claim struct {
	// Name is the name of the claim's object. If two pending claims do not fit together, the one that sorts later
	// yields.
	Name string
	// Bound is true once its run has seen that everything fits. Until then the claim is pending: it takes room and may
	// yield.
	Bound bool
	// Over is true if the claim has expired by the API server's clock, as a hold or because its run has stayed pending.
	// It takes room until somebody removes it.
	Over bool
	// Hold is what the claim takes.
	Hold inventory.Hold
}

// Step is what a run does next.
type Step int

// The steps of a run. After every step except Rest and Refuse the run lists all reservations and decides again. Every
// write except the first is pinned to the claim as it was listed; if it fails, the run lists again.
const (
	// Announce writes the run's own claim as pending, with what it takes: a new claim, or the listed one with another
	// placement.
	Announce Step = iota
	// Bind marks the run's own claim as bound.
	Bind
	// Evict removes expired claims.
	Evict
	// Wait does nothing for a moment: other runs will yield or finish.
	Wait
	// Withdraw deletes the run's own claim. The next decision is to wait or to refuse.
	Withdraw
	// Refuse ends the run without a claim: what it wants does not fit beside the bound claims.
	Refuse
	// Rest ends the run: its claim is bound.
	Rest
)

// Room is what can be reserved, before any reservation.
type Room struct {
	Cluster   inventory.Cluster
	Addresses *inventory.Addresses
	Levels    inventory.Levels
}

// Place places a group beside other holds.
func (r Room) Place(g inventory.Group, beside []inventory.Hold) (inventory.Grant, *inventory.Refusal) {
	return inventory.New(r.Cluster.Less(beside...), r.free(beside), r.Levels).Reserve(g)
}

// Fits reports whether the hold fits beside other holds, on the nodes that it names.
func (r Room) Fits(h inventory.Hold, beside []inventory.Hold) bool {
	free := r.free(beside)
	return r.Cluster.Less(beside...).Has(h) && (h.Addresses == 0 || free != nil && h.Addresses <= free.Free(0))
}

// Stands reports whether a bound claim still has its room: it was checked once, and nodes and classes go, or close. rest is what
// the claim holds beyond what its lease uses; what is in use stands. The room is without the rest, and with all that is in use.
// Claims that have expired, or that are not bound, yield.
func (r Room) Stands(rest inventory.Hold, others []Claim) bool {
	return r.Fits(rest.Left(), holds(bound(live(others))))
}

// Less returns the room beside a hold.
func (r Room) Less(h inventory.Hold) Room {
	return Room{Cluster: r.Cluster.Less(h), Addresses: r.free([]inventory.Hold{h}), Levels: r.Levels}
}

// free returns the addresses with the addresses of other holds in use.
func (r Room) free(beside []inventory.Hold) *inventory.Addresses {
	if r.Addresses == nil {
		return nil
	}
	free := *r.Addresses
	for _, h := range beside {
		free.InUse = inventory.Sum(free.InUse, h.Addresses)
	}
	return &free
}

// Reserving is the input of Decide: what a run wants and what it has listed.
type Reserving struct {
	// Name is the name of the claim that the run wants to hold, Want the group to reserve.
	Name string
	Want inventory.Group
	Room Room
	// Own is the run's claim, or nil. If it is pending, it was announced before the list.
	Own *Claim
	// Others are all other reservations.
	Others []Claim
}

// Next is the result of Decide.
type Next struct {
	Step Step
	// Grant is what is announced, and Hold the part of it that the claim stores.
	Grant inventory.Grant
	Hold  inventory.Hold
	// Evict are the names of the claims to remove.
	Evict []string
	// Refusal says why nothing is reserved.
	Refusal *inventory.Refusal
}

// Decide returns what a run does next. docs/orders.md has the rules as a table.
func Decide(r Reserving) Next {
	switch {
	case r.Own == nil:
		return r.begin()
	case r.Own.Bound:
		return Next{Step: Rest}
	case r.Room.Fits(r.Own.Hold, holds(r.Others)):
		return Next{Step: Bind}
	case r.Room.Fits(r.Own.Hold, holds(live(r.Others))):
		return r.evict()
	case r.Room.Fits(r.Own.Hold, holds(r.before())):
		return Next{Step: Wait} // those in the way sort later: they yield
	}
	return r.move()
}

// begin decides for a run without a claim. It announces only what could be bound now: an announcement would make a run
// that sorts earlier wait for it forever.
func (r Reserving) begin() Next {
	if grant, refusal := r.Room.Place(r.Want, holds(r.Others)); refusal == nil {
		return r.announce(grant)
	}
	if _, refusal := r.Room.Place(r.Want, holds(live(r.Others))); refusal == nil {
		return r.evict()
	}
	if _, refusal := r.Room.Place(r.Want, holds(bound(live(r.Others)))); refusal != nil {
		return Next{Step: Refuse, Refusal: refusal}
	}
	return Next{Step: Wait}
}

// move decides for a run whose placement no longer fits: it announces another placement if there is one, else it
// yields.
func (r Reserving) move() Next {
	if grant, refusal := r.Room.Place(r.Want, holds(live(r.Others))); refusal == nil {
		return r.announce(grant)
	}
	return Next{Step: Withdraw}
}

func (r Reserving) announce(g inventory.Grant) Next {
	return Next{Step: Announce, Grant: g, Hold: g.Hold(r.Want)}
}

func (r Reserving) evict() Next {
	next := Next{Step: Evict}
	for _, c := range r.Others {
		if c.Over {
			next.Evict = append(next.Evict, c.Name)
		}
	}
	return next
}

// before returns the claims that do not yield to the run: bound ones, and pending ones that sort earlier.
func (r Reserving) before() []Claim {
	return slices.DeleteFunc(live(r.Others), func(c Claim) bool { return !c.Bound && c.Name > r.Name })
}

func live(claims []Claim) []Claim {
	return slices.DeleteFunc(slices.Clone(claims), func(c Claim) bool { return c.Over })
}

func bound(claims []Claim) []Claim {
	return slices.DeleteFunc(slices.Clone(claims), func(c Claim) bool { return !c.Bound })
}

func holds(claims []Claim) []inventory.Hold {
	out := make([]inventory.Hold, len(claims))
	for i, c := range claims {
		out[i] = c.Hold
	}
	return out
}

// Leased are the addresses that can be leased, listed after a lease claimed some. The claims of the lease count as in
// use.
type Leased struct {
	inventory.Addresses
	// Yielding is how many addresses in use were claimed by runs that have not ended and that yield to this run or
	// looked before it.
	Yielding uint64
}

// Yields reports whether the run with the mark yields to the run with the mark to when both have claimed what is left.
// Of two runs of one command the later one yields; of two commands the one whose mark sorts later.
func Yields(mark, to string) bool {
	return cmp.Or(cmp.Compare(len(mark), len(to)), cmp.Compare(mark, to)) > 0
}

// Beside decides whether the addresses that a lease has claimed leave enough for those that orders have reserved. When
// an order binds while a lease claims, the one that looks last sees the other. It returns Rest if nothing is in the
// way; Evict, with the names, if only expired claims are; Wait if pending orders are, which yield to claims, or claims
// that may be given back; and Refuse if bound orders are.
func Beside(leased Leased, orders []Claim) (next Step, evict []string) {
	var bound, pending, over uint64
	for _, c := range orders {
		switch n := c.Hold.Addresses; {
		case n == 0:
		case c.Over:
			over = inventory.Sum(over, n)
			evict = append(evict, c.Name)
		case c.Bound:
			bound = inventory.Sum(bound, n)
		default:
			pending = inventory.Sum(pending, n)
		}
	}
	firm := inventory.Sum(bound, pending)
	patient := leased.Addresses
	patient.InUse -= min(leased.Yielding, patient.InUse)
	switch room := leased.Free(0); {
	case inventory.Sum(firm, over) <= room:
		return Rest, nil
	case bound > patient.Free(0):
		return Refuse, nil
	case firm > room:
		return Wait, nil
	}
	return Evict, evict
}
