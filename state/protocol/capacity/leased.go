package capacity

import "github.com/akash-net/kubectl-akash-net/state/inventory"

// Beside decides whether addresses that a lease has claimed leave those that orders have reserved. The addresses are as they
// were listed after the claim was written, which is in use then; so of an order that binds and a lease that claims, the one
// that looks last sees the other. Rest: nothing is in the way. Evict: only what is over is, and evict are its names. Wait:
// only what is pending is; orders yield to claims. Refuse: what is bound is.
func Beside(leased inventory.Addresses, orders []Claim) (next Step, evict []string) {
	var bound, pending, over uint64
	for _, c := range orders {
		switch {
		case c.Hold.Addresses == 0:
		case c.Over:
			over = inventory.Sum(over, c.Hold.Addresses)
			evict = append(evict, c.Name)
		case c.Bound:
			bound = inventory.Sum(bound, c.Hold.Addresses)
		default:
			pending = inventory.Sum(pending, c.Hold.Addresses)
		}
	}
	fits := func(reserved uint64) bool { return inventory.Sum(leased.InUse, reserved) <= leased.Total }
	switch {
	case bound+pending+over == 0, fits(inventory.Sum(inventory.Sum(bound, pending), over)):
		return Rest, nil
	case !fits(bound):
		return Refuse, nil
	case !fits(inventory.Sum(bound, pending)):
		return Wait, nil
	}
	return Evict, evict
}
