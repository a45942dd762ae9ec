package resources_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/akash-net/kubectl-akash-net/lease/resources"
)

// Akash's commit levels: the figures are its provider's.
func TestCommit(t *testing.T) {
	for _, c := range []struct {
		level        float64
		amount, want uint64
	}{
		{1, 7, 7}, {0.5, 7, 7}, {-1, 7, 7}, {math.NaN(), 7, 7},
		{2, 0, 0}, {2, 1, 1}, {2, 3, 2}, {2, 1000, 500}, {1000, 1, 1}, {math.Inf(1), 1, 1},
		{1.5, 1000, 667}, {2.7, 1000, 370}, {1.5, 1 << 30, 715827883}, {1.2, 1 << 30, 894784853}, {1.2, 5750000, 4791667},
		{2, math.MaxUint64, 1 << 63}, {1 + 1e-15, math.MaxUint64, math.MaxUint64 - 20479},
		// Low bits are lost as they are in float64.
		{2, 1<<62 + 2, 1 << 61},
	} {
		if got := resources.Commit(c.level, c.amount); got != c.want {
			t.Errorf("Commit(%v, %d) = %d, want %d", c.level, c.amount, got, c.want)
		}
	}
}

func TestCommitNeverTakesMore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		level, amount := rapid.Float64().Draw(t, "level"), rapid.Uint64().Draw(t, "amount")
		got := resources.Commit(level, amount)
		if got == 0 != (amount == 0) || got > amount && got-amount > 1<<11 {
			t.Errorf("Commit(%v, %d) = %d", level, amount, got)
		}
	})
}
