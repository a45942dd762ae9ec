package capacity

import (
	"math"
	"slices"
	"testing"

	"github.com/akash-net/kubectl-akash-net/state/inventory"
)

// A lease that has claimed addresses yields to what is bound, waits for what is pending, and removes what is over; what takes
// no address is not in its way.
func TestBeside(t *testing.T) {
	takes := func(name string, n uint64) Claim { return Claim{Name: name, Hold: inventory.Hold{Addresses: n}} }
	bound := func(c Claim) Claim { c.Bound = true; return c }
	over := func(c Claim) Claim { c.Over = true; return c }
	for name, tt := range map[string]struct {
		total, used uint64
		orders      []Claim
		want        Step
		evict       []string
	}{
		"no orders":                       {4, 4, nil, Rest, nil},
		"no orders, more used than known": {4, 5, nil, Rest, nil},
		"room for all":                    {4, 1, []Claim{bound(takes("a", 1)), takes("b", 1), over(bound(takes("c", 1)))}, Rest, nil},
		"no addresses are reserved":       {4, 5, []Claim{bound(takes("a", 0)), takes("b", 0)}, Rest, nil},
		"the last one is bound":           {4, 4, []Claim{bound(takes("a", 1))}, Refuse, nil},
		"what is over is not asked for":   {4, 4, []Claim{bound(takes("a", 1)), over(takes("b", 1))}, Refuse, nil},
		"the last one is pending":         {4, 4, []Claim{takes("a", 1)}, Wait, nil},
		"bound, and one pending":          {4, 3, []Claim{bound(takes("a", 1)), takes("b", 1)}, Wait, nil},
		"only what is over is in the way": {4, 3, []Claim{bound(takes("a", 1)), over(takes("b", 1)), over(bound(takes("c", 2)))}, Evict, []string{"b", "c"}},
		"pending and over":                {4, 3, []Claim{takes("a", 1), over(takes("b", 1))}, Evict, []string{"b"}},
		"sums that overflow":              {math.MaxUint64, 1, []Claim{bound(takes("a", math.MaxUint64)), bound(takes("b", 2))}, Rest, nil},
		"more than there is":              {4, 1, []Claim{bound(takes("a", math.MaxUint64)), bound(takes("b", 2))}, Refuse, nil},
	} {
		next, evict := Beside(inventory.Addresses{Total: tt.total, InUse: tt.used}, tt.orders)
		if next != tt.want || !slices.Equal(evict, tt.evict) {
			t.Errorf("%s: step %d, evict %v; want %d, %v", name, next, evict, tt.want, tt.evict)
		}
	}
}
