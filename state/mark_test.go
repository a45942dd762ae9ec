package state

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// The nonces of commands sort as the commands began, over the years too, and those of one moment differ. A mark is told from the nonce by
// what stands behind it.
func TestNewNonce(t *testing.T) {
	moments := []time.Time{
		time.Unix(0, 0), time.Date(2026, 11, 23, 11, 59, 59, 900e6, time.UTC), time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC),
		time.Date(2026, 11, 23, 12, 0, 0, 100e6, time.UTC), time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2078, 1, 1, 0, 0, 0, 0, time.UTC),
	}
	var nonces []string
	for _, at := range moments {
		one, other := NewNonce(at), NewNonce(at)
		if len(one) != 13 || strings.Trim(one, nonceAlphabet) != "" || one == other {
			t.Errorf("%s: %q and %q", at, one, other)
		}
		if NonceOf(Mark(one, 0)) != one || NonceOf(Mark(one, 12)) != one {
			t.Errorf("the marks of %q are not its own", one)
		}
		nonces = append(nonces, one)
	}
	if !slices.IsSorted(nonces) {
		t.Errorf("they do not sort as they began: %q", nonces)
	}
}
