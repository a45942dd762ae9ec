package state

import (
	"net/netip"
	"slices"

	"github.com/akash-net/kubectl-akash-net/lease/config"
)

// PoolRanges returns the ranges of one of this program's pools, given the ranges that the configuration wants for it.
// It leaves out what other pools of this program have, because an address never moves to another pool. It keeps used
// addresses that the pool serves already and no other pool has. used must be sorted.
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
	live := pools.find(name)
	if live == nil || !live.Ours {
		return ranges
	}
	has := NewPoolIndex([]PoolObject{{Ranges: slices.Clone(ranges)}})
	for _, r := range live.Ranges {
		i, _ := slices.BinarySearchFunc(used, r.First, netip.Addr.Compare)
		for ; i < len(used) && r.Contains(used[i]); i++ {
			a := config.Range{First: used[i], Last: used[i]}
			if has.Of(used[i]) == nil && !pools.sharedWithOther(a, live) {
				ranges = append(ranges, a)
			}
		}
	}
	return ranges
}

// ServedByOurs reports whether a pool of this program with another name has the address.
func ServedByOurs(a netip.Addr, name string, pools *PoolIndex) (served bool) {
	pools.Overlapping(config.Range{First: a, Last: a}, func(o *PoolObject, _ config.Range) bool {
		served = o.Ours && o.Name != name
		return !served
	})
	return served
}

// Stranded returns the claims on addresses that the new configuration no longer serves, sorted by address: was serves
// them, next does not, and neither does a pool of an administrator. A nil was counts as serving all addresses.
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
