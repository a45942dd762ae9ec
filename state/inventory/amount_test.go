package inventory_test

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"github.com/akash-net/kubectl-akash-net/state/inventory"
)

const most = math.MaxInt64

// All that is left can be taken. If more is allocated than there is, 0 is left.
func TestAvailable(t *testing.T) {
	for _, c := range []struct {
		all, given int64
		want       uint64
	}{
		{0, 0, 0}, {5, 0, 5}, {5, 3, 2}, {5, 5, 0}, {5, 6, 0}, {5, most, 0}, {most, 0, most}, {most, most, 0}, {most, 1, most - 1},
		{inventory.Unlimited, 0, most}, {inventory.Unlimited, 7, most - 7}, {inventory.Unlimited, most, 0},
		// Invalid amounts count as 0 and do not wrap.
		{5, -1, 0}, {most, -1, 0}, {most, math.MinInt64, 0}, {-2, 0, 0}, {math.MinInt64, 0, 0}, {math.MinInt64, most, 0}, {inventory.Unlimited, -1, 0},
	} {
		a := inventory.Amount{Allocatable: c.all, Allocated: c.given}
		if got := a.Available(); got != c.want {
			t.Errorf("of %d with %d given out %d are left, want %d", c.all, c.given, got, c.want)
		}
		if a.Take(c.want+1) || a.Allocated != c.given {
			t.Errorf("%+v: more was taken than is left", a)
		}
		if !a.Take(c.want) || a.Available() != 0 && c.want > 0 {
			t.Errorf("%+v: what is left could not be taken", a)
		}
	}
}

// In whatever steps amounts are taken, their sum is at most what there was, and a refused one would have exceeded it.
func TestTakeNeverOversells(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := inventory.Amount{Allocatable: rapid.Int64Range(-1, most).Draw(t, "allocatable"), Allocated: rapid.Int64Range(0, most).Draw(t, "allocated")}
		all, sum := new(big.Int).SetUint64(a.Available()), new(big.Int)
		for range rapid.IntRange(1, 8).Draw(t, "steps") {
			n := rapid.OneOf(rapid.Uint64(), rapid.Uint64Max(9), rapid.Just(a.Available())).Draw(t, "n")
			next := new(big.Int).Add(sum, new(big.Int).SetUint64(n))
			if took, fits := a.Take(n), next.Cmp(all) <= 0; took != fits {
				t.Fatalf("%d of %+v: taken is %t, and %s of %s were", n, a, took, sum, all)
			} else if took {
				sum = next
			}
		}
	})
}

func TestFreeAddresses(t *testing.T) {
	const all = math.MaxUint64
	for _, c := range []struct{ total, used, taken, want uint64 }{
		{0, 0, 0, 0}, {5, 0, 0, 5}, {5, 2, 1, 2}, {5, 2, 3, 0}, {5, 9, 0, 0}, {5, 0, 9, 0}, {all, 0, 0, all}, {all, all, all, 0}, {5, all, all, 0}, {all, 1, 1, all - 2},
	} {
		if got := (inventory.Addresses{Total: c.total, InUse: c.used}).Free(c.taken); got != c.want {
			t.Errorf("of %d, %d in use and %d taken, %d are free, want %d", c.total, c.used, c.taken, got, c.want)
		}
	}
}

// Sums of amounts are limited to 2^64-1, differences to 0.
func TestAmountsDoNotWrap(t *testing.T) {
	const all = math.MaxUint64
	a := inventory.Amounts{CPU: all, GPU: 1, Memory: 5, EphemeralStorage: 0}
	b := inventory.Amounts{CPU: 1, GPU: 2, Memory: 3, EphemeralStorage: all}
	for what, c := range map[string]struct{ got, want inventory.Amounts }{
		"sum":              {a.Plus(b), inventory.Amounts{CPU: all, GPU: 3, Memory: 8, EphemeralStorage: all}},
		"difference":       {a.Minus(b), inventory.Amounts{CPU: all - 1, GPU: 0, Memory: 2, EphemeralStorage: 0}},
		"other difference": {b.Minus(a), inventory.Amounts{CPU: 0, GPU: 1, Memory: 0, EphemeralStorage: all}},
		"least":            {a.Least(b), inventory.Amounts{CPU: 1, GPU: 1, Memory: 3, EphemeralStorage: 0}},
	} {
		if c.got != c.want {
			t.Errorf("the %s is %+v, want %+v", what, c.got, c.want)
		}
	}
}
