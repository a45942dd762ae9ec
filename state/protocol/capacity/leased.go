package capacity

import (
	"cmp"

	"github.com/akash-net/kubectl-akash-net/state/inventory"
)

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
