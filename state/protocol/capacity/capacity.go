// Package capacity decides what a run does next to reserve resources, from what it wants and what it has read. Capacity is a
// sum, so no name can lock it: a run announces what it takes of which node, looks at all reservations, and binds if all
// fit. It sends nothing and has no clock: test/model walks through all interleavings of it, docs/cluster-service.md
// explains it.
package capacity

import (
	"slices"

	"github.com/akash-net/kubectl-akash-net/state/inventory"
)

// Claim is a reservation as it was listed.
type Claim struct {
	// Name is that of the claim's object. Of two pending ones that do not fit together the one that sorts later yields.
	Name string
	// Bound is true once its run has seen that all fits. Until then the claim is pending: it takes room, and may yield.
	Bound bool
	// Over is true where its time is over, by the API server's clock: that of a hold, or of a run that pends. It takes
	// room until somebody has removed it.
	Over bool
	// Hold is what it takes.
	Hold inventory.Hold
}

// Step is what a run does next.
type Step int

// What a run may do next. After every step but Rest and Refuse it lists all reservations and decides again. Every write but the first is
// pinned to the claim as it was listed; where it fails the run lists again.
const (
	// Announce writes the own claim, pending, with what it takes: a new one, or the one that was listed with another
	// placement.
	Announce Step = iota
	// Bind makes the own claim bound.
	Bind
	// Evict removes claims whose time is over.
	Evict
	// Wait does nothing for a moment: others are under way, and yield or go on.
	Wait
	// Withdraw removes the own claim. The next look says whether the run waits or is refused.
	Withdraw
	// Refuse ends the run: what it wants does not fit beside what is bound. It has no claim then.
	Refuse
	// Rest ends the run: its claim is bound.
	Rest
)

// Room is what there is to give out, apart from reservations.
type Room struct {
	Cluster   inventory.Cluster
	Addresses *inventory.Addresses
	Levels    inventory.Levels
}

// Place places a group beside what others hold.
func (r Room) Place(g inventory.Group, beside []inventory.Hold) (inventory.Grant, *inventory.Refusal) {
	return inventory.New(r.Cluster.Less(beside...), r.free(beside), r.Levels).Reserve(g)
}

// Fits is true where what is held fits beside what others hold, on the nodes that it names.
func (r Room) Fits(h inventory.Hold, beside []inventory.Hold) bool {
	free := r.free(beside)
	return r.Cluster.Less(beside...).Has(h) && (h.Addresses == 0 || free != nil && h.Addresses <= free.Free(0))
}

// free are the addresses without those that are held.
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

// Reserving is what a run wants, and what it has listed.
type Reserving struct {
	// Name is that of the claim that the run is to hold, and Want what it is to take.
	Name string
	Want inventory.Group
	Room Room
	// Own is the run's claim; nil where there is none. One that was listed pending was announced before the list.
	Own *Claim
	// Others are all other reservations.
	Others []Claim
}

// Next is what a run does next.
type Next struct {
	Step Step
	// Grant is what is announced, and Hold what of it the claim notes.
	Grant inventory.Grant
	Hold  inventory.Hold
	// Evict are the names of the claims that are removed.
	Evict []string
	// Refusal says why nothing is reserved.
	Refusal *inventory.Refusal
}

// Decide decides what a run does next. docs/cluster-service.md has the rules as a table.
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
		return Next{Step: Wait} // those that are in the way sort later: they yield
	}
	return r.move()
}

// begin decides for a run without a claim. It announces nothing that could not be bound as things are: to announce while
// somebody who sorts first waits would make him wait for ever.
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

// move decides for a run whose placement cannot stay: it goes round the others if it can, else it yields.
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

// before are the claims that do not yield to the run's: those that are bound, and pending ones that sort first.
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
