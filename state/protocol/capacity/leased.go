package capacity

import (
	"cmp"

	"github.com/akash-net/kubectl-akash-net/state/inventory"
)

// Leased are the addresses that can be leased, as they were listed after a lease had claimed some: its claims are in use.
type Leased struct {
	inventory.Addresses
	// Yielding are those in use that runs under way have claimed which yield to this one, or have looked before it.
	Yielding uint64
}

// Yields is true for a run under way, by its mark, that yields to another where both have claimed what is left: of two runs of
// one command the later one does, of two commands that of which the mark sorts later.
func Yields(mark, to string) bool {
	return cmp.Or(cmp.Compare(len(mark), len(to)), cmp.Compare(mark, to)) > 0
}

// Beside decides whether addresses that a lease has claimed leave those that orders have reserved. Of an order that binds
// and a lease that claims, the one that looks last sees the other. Rest: nothing is in the way. Evict: only what is over is,
// and evict are its names. Wait: what is pending is, as orders yield to claims; or claims are that may be given back.
// Refuse: what is bound is.
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
