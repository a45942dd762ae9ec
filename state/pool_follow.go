package state

import (
	"net/netip"
	"slices"

	"github.com/akash-net/kubectl-akash-net/lease/config"
)

// PoolRanges are the addresses that a pool of this program is to have, where the configuration asks for
// wanted: those that no other of our pools has, for an address never moves to another pool, and those in
// use that it serves already and nobody else does. used are in order.
func PoolRanges(name string, wanted []config.Range, pools *PoolIndex, used []netip.Addr) []config.Range {
	var elsewhere []config.Range
	for _, r := range wanted {
		pools.Overlapping(r, func(o *PoolObject, theirs config.Range) bool {
			if o.Ours && o.Name != name {
				elsewhere = append(elsewhere, theirs)
			}
			return true
		})
	}
	ranges := PoolObject{Ranges: wanted}.Without(elsewhere)
	live := pools.named(name)
	if live == nil || !live.Ours {
		return ranges
	}
	has := NewPoolIndex([]PoolObject{{Ranges: slices.Clone(ranges)}})
	for _, r := range live.Ranges {
		i, _ := slices.BinarySearchFunc(used, r.First, netip.Addr.Compare)
		for ; i < len(used) && r.Contains(used[i]); i++ {
			a := config.Range{First: used[i], Last: used[i]}
			if has.Of(used[i]) == nil && !pools.other(a, live) {
				ranges = append(ranges, a)
			}
		}
	}
	return ranges
}

// ServedByOurs is true for an address that another pool of this program serves than the one of the name.
func ServedByOurs(a netip.Addr, name string, pools *PoolIndex) (served bool) {
	pools.Overlapping(config.Range{First: a, Last: a}, func(o *PoolObject, _ config.Range) bool {
		served = o.Ours && o.Name != name
		return !served
	})
	return served
}

// Stranded are the claims, by address, on addresses that a configuration no longer serves: was has them, next
// does not, and no pool of an administrator has them. Was is nil where it is not known.
func Stranded(was, next *config.ProviderConfig, claims []*Claim, pools []PoolObject) []*Claim {
	if was != nil && was.IP.Mode == config.ModePool {
		return nil
	}
	stranded := slices.DeleteFunc(slices.Clone(claims), func(c *Claim) bool {
		if c.Kind != Address || c.Unreadable != "" || len(c.Parts) == 0 {
			return true
		}
		if next.IP.Mode == config.ModePool {
			return false
		}
		had := was == nil
		if !had {
			_, had = was.PoolFor(c.Addr())
		}
		_, has := next.PoolFor(c.Addr())
		return has || !had || slices.ContainsFunc(pools, func(o PoolObject) bool { return !o.Ours && o.Has(c.Addr()) })
	})
	slices.SortFunc(stranded, func(a, b *Claim) int { return a.Addr().Compare(b.Addr()) })
	return stranded
}
