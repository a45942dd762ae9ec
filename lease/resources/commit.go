package resources

import "math"

// Commit is what of an amount is asked of a node where a provider leases out more than it has: the amount divided
// by the level, rounded half away from zero, and at least 1 of what is more than nothing. A level up to 1 changes
// nothing. Both steps are in float64, as Akash's provider does them (sdl/util), so large amounts lose their low bits; but
// nothing stays nothing, of which it makes 1.
func Commit(level float64, amount uint64) uint64 {
	if !(level > 1) || amount == 0 {
		return amount
	}
	x := math.Round(float64(amount) * (1 / level))
	switch {
	case x < 1:
		return 1
	case x >= math.MaxUint64:
		return amount
	}
	return uint64(x)
}
