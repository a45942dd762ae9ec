package state

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/akash-net/kubectl-akash-net/lease/config"
)

// PoolRanges are the addresses that a pool of this program is to have, where the configuration asks for
// wanted: those that no other of our pools has, for an address never moves to another pool, and those in
// use that it serves already and nobody else does. used are in order.
func PoolRanges(name string, wanted []config.Range, pools *PoolIndex, used []netip.Addr) []config.Range {
	var elsewhere []config.Range
	for _, r := range wanted {
		pools.overlapping(r, func(o *PoolObject, theirs config.Range) bool {
			if o.Ours && o.Name != name {
				elsewhere = append(elsewhere, theirs)
			}
			return true
		})
	}
	ranges := PoolObject{Ranges: wanted}.without(elsewhere)
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
	pools.overlapping(config.Range{First: a, Last: a}, func(o *PoolObject, _ config.Range) bool {
		served = o.Ours && o.Name != name
		return !served
	})
	return served
}

// differing finds pools of this program that do not follow the configuration. A pool that shares no address
// with it is left alone: it is in nobody's way.
func (p *problems) differing() {
	if p.Config.IP.Mode == config.ModePool {
		return
	}
	used := usedAddresses(p.Claims, p.Contents.Services)
	for _, o := range p.Contents.Pools {
		if o.Ours {
			p.lacking(o)
			p.surplus(o, used)
		}
	}
}

// lacking says that a pool lacks configured addresses that no pool has.
func (p *problems) lacking(o PoolObject) {
	i := slices.IndexFunc(p.Config.IP.Ranges.Include, func(r config.Range) bool { return r.PoolName() == o.Name })
	if i < 0 || p.Config.IP.Mode != config.ModeRange {
		return
	}
	var had []config.Range
	for _, other := range p.Contents.Pools {
		had = append(had, other.Ranges...)
	}
	lacks := PoolObject{Ranges: p.Config.IP.Ranges.Pieces(p.Config.IP.Ranges.Include[i])}.without(had)
	if len(lacks) == 0 {
		return
	}
	p.add(Problem{
		Problem: PoolDiffers, Thing: o.Name, Message: "it lacks " + metalLB(lacks) + " of ip.ranges, which no pool has",
		Plan: "add " + metalLB(lacks) + " to it", Mend: Mend{Pool: true, Address: lacks[0].First},
	})
}

// surplus says that a pool has addresses that are neither configured nor in use.
func (p *problems) surplus(o PoolObject, used []netip.Addr) {
	configured := PoolObject{Ranges: p.Config.IP.Ranges.Include}.without(p.Config.IP.Ranges.Exclude)
	if len(o.shares(PoolObject{Ranges: configured})) == 0 {
		return
	}
	for _, r := range o.Ranges {
		i, _ := slices.BinarySearchFunc(used, r.First, netip.Addr.Compare)
		for ; i < len(used) && r.Contains(used[i]); i++ {
			configured = append(configured, config.Range{First: used[i], Last: used[i]})
		}
		p.pools.overlapping(r, func(other *PoolObject, theirs config.Range) bool {
			if !other.Ours {
				configured = append(configured, theirs) // what overlaps is another problem
			}
			return true
		})
	}
	extra := o.without(configured)
	if len(extra) == 0 {
		return
	}
	p.add(Problem{
		Problem: PoolDiffers, Thing: o.Name, Message: "it has " + metalLB(extra) + ", which ip.ranges does not have and nobody uses",
		Plan: "take " + metalLB(extra) + " out of it", Mend: Mend{Narrow: &o.Ref, Ranges: extra, Unused: true},
	})
}

// metalLB are ranges as MetalLB reads them.
func metalLB(ranges []config.Range) string {
	var texts []string
	for _, r := range ranges {
		texts = append(texts, r.MetalLB())
	}
	return strings.Join(texts, ", ")
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
		return has || !had || slices.ContainsFunc(pools, func(o PoolObject) bool { return !o.Ours && o.has(c.Addr()) })
	})
	slices.SortFunc(stranded, func(a, b *Claim) int { return a.Addr().Compare(b.Addr()) })
	return stranded
}
