package capacity

import (
	"math"
	"slices"
	"testing"

	"github.com/akash-net/kubectl-akash-net/state/inventory"
)

// A lease that has claimed addresses yields to bound orders, waits for pending orders and for claims that may be given
// back, and removes expired ones. Orders without addresses do not matter to it.
func TestBeside(t *testing.T) {
	takes := func(name string, n uint64) Claim { return Claim{Name: name, Hold: inventory.Hold{Addresses: n}} }
	bound := func(c Claim) Claim { c.Bound = true; return c }
	over := func(c Claim) Claim { c.Over = true; return c }
	for name, tt := range map[string]struct {
		total, used, yielding uint64
		orders                []Claim
		want                  Step
		evict                 []string
	}{
		"no orders":                                  {4, 4, 0, nil, Rest, nil},
		"no orders, more used than known":            {4, 5, 0, nil, Rest, nil},
		"room for all":                               {4, 1, 0, []Claim{bound(takes("a", 1)), takes("b", 1), over(bound(takes("c", 1)))}, Rest, nil},
		"no addresses are reserved":                  {4, 5, 0, []Claim{bound(takes("a", 0)), takes("b", 0)}, Rest, nil},
		"the last one is bound":                      {4, 4, 0, []Claim{bound(takes("a", 1))}, Refuse, nil},
		"what is over is not asked for":              {4, 4, 0, []Claim{bound(takes("a", 1)), over(takes("b", 1))}, Refuse, nil},
		"the last one is pending":                    {4, 4, 0, []Claim{takes("a", 1)}, Wait, nil},
		"bound, and one pending":                     {4, 3, 0, []Claim{bound(takes("a", 1)), takes("b", 1)}, Wait, nil},
		"only what is over is in the way":            {4, 3, 0, []Claim{bound(takes("a", 1)), over(takes("b", 1)), over(bound(takes("c", 2)))}, Evict, []string{"b", "c"}},
		"pending and over":                           {4, 3, 0, []Claim{takes("a", 1), over(takes("b", 1))}, Evict, []string{"b"}},
		"only what is pending, more used than known": {4, 5, 0, []Claim{takes("a", 1)}, Wait, nil},
		"only what is over, more used than known":    {4, 5, 0, []Claim{over(takes("a", 1))}, Evict, []string{"a"}},
		"one that yields has the last one":           {4, 4, 1, []Claim{bound(takes("a", 1))}, Wait, nil},
		"one that yields has too few":                {4, 4, 1, []Claim{bound(takes("a", 2))}, Refuse, nil},
		"one that yields is in nobody's way":         {4, 3, 1, []Claim{bound(takes("a", 1))}, Rest, nil},
		"one that yields, and one pending":           {4, 4, 2, []Claim{bound(takes("a", 1)), takes("b", 4)}, Wait, nil},
		"all that yield is more than is used":        {4, 4, math.MaxUint64, []Claim{bound(takes("a", 4))}, Wait, nil},
		"nothing bound, sums that overflow to zero":  {4, 4, 0, []Claim{takes("a", math.MaxUint64), takes("b", 1)}, Wait, nil},
		"sums that overflow":                         {math.MaxUint64, 1, 0, []Claim{bound(takes("a", math.MaxUint64)), bound(takes("b", 2))}, Refuse, nil},
		"more than there is":                         {4, 1, 0, []Claim{bound(takes("a", math.MaxUint64)), bound(takes("b", 2))}, Refuse, nil},
	} {
		next, evict := Beside(Leased{Addresses: inventory.Addresses{Total: tt.total, InUse: tt.used}, Yielding: tt.yielding}, tt.orders)
		if next != tt.want || !slices.Equal(evict, tt.evict) {
			t.Errorf("%s: step %d, evict %v; want %d, %v", name, next, evict, tt.want, tt.evict)
		}
	}
}

// Of two leases that have claimed what is left, exactly one yields. No lease yields to itself.
func TestYields(t *testing.T) {
	for _, marks := range [][2]string{{"a", "b"}, {"a", "a-1"}, {"a-1", "a-2"}, {"a-2", "a-10"}, {"b", "a-1"}} {
		if Yields(marks[0], marks[1]) || !Yields(marks[1], marks[0]) || Yields(marks[0], marks[0]) {
			t.Errorf("%v", marks)
		}
	}
}
