package resources

import "math"

// Commit is what of an amount is asked of a node where a provider leases out more than it has: the amount divided
// by the level, rounded half away from zero, and at least 1 of what is more than nothing. A level up to 1 changes
// nothing. The steps are those of Akash's provider (sdl/util), in float64; but nothing stays nothing, of which it
// makes 1.
func Commit(level float64, amount uint64) uint64 {
	if !(level > 1) || amount == 0 {
		return amount
	}
	return max(1, uint64(math.Round(float64(amount)*(1/level))))
}
