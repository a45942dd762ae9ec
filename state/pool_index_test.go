package state

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/akash-net/kubectl-akash-net/lease/config"
)

// Dedicated mode has one pool per address. A lookup must not visit all pools.
func TestWorkOnAPoolIsItsOwn(t *testing.T) {
	perPool := func(n int) float64 {
		pools := make([]PoolObject, n)
		for i := range pools {
			a := netip.MustParseAddr(fmt.Sprintf("10.1.%d.%d", i/256, i%256))
			pools[i] = PoolObject{Name: a.String(), Ours: true, Ranges: []config.Range{{First: a, Last: a}}}
		}
		x := NewPoolIndex(pools)
		for i, o := range pools {
			if of := x.Of(o.Ranges[0].First); of != &pools[i] {
				t.Fatalf("the pool of %s is %v", o.Name, of)
			}
			if left := PoolRanges(o.Name, o.Ranges, x, nil); len(left) != 1 {
				t.Fatalf("%v is left for the pool %s", left, o.Name)
			}
			if other, _, overlaps := x.Overlap(o.Ranges, "", o.Name); overlaps {
				t.Fatalf("the pools %s and %s overlap", o.Name, other.Name)
			}
		}
		return float64(x.visited.Load()) / float64(n)
	}
	few, many := perPool(64), perPool(2048)
	if many > 2*few {
		t.Errorf("%.0f pools are looked at for one of 64, %.0f for one of 2048", few, many)
	}
}
