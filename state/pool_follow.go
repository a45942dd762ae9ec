package state

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/akash-net/kubectl-akash-net/lease/config"
)

// PoolRanges are the addresses that a pool of this program is to have, where the configuration asks for
// wanted: those that no other of our pools has, for an address never moves to another pool, and those in
// use that it serves already and nobody else does.
func PoolRanges(name string, wanted []config.Range, pools []PoolObject, used []netip.Addr) []config.Range {
	var live PoolObject
	var elsewhere, theirs []config.Range
	for _, o := range pools {
		switch {
		case !o.Ours:
			theirs = append(theirs, o.Ranges...)
		case o.Name == name:
			live = o
		default:
			elsewhere = append(elsewhere, o.Ranges...)
		}
	}
	ranges := PoolObject{Ranges: wanted}.without(elsewhere)
	for _, a := range used {
		has := func(r config.Range) bool { return r.Contains(a) }
		if live.has(a) && !slices.ContainsFunc(slices.Concat(ranges, elsewhere, theirs), has) {
			ranges = append(ranges, config.Range{First: a, Last: a})
		}
	}
	return ranges
}

// ServedByOurs is true for an address that another pool of this program serves than the one of the name.
func ServedByOurs(a netip.Addr, name string, pools []PoolObject) bool {
	return slices.ContainsFunc(pools, func(o PoolObject) bool { return o.Ours && o.Name != name && o.has(a) })
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
	for _, a := range used {
		configured = append(configured, config.Range{First: a, Last: a})
	}
	for _, other := range p.Contents.Pools {
		if !other.Ours {
			configured = append(configured, other.Ranges...) // what overlaps is another problem
		}
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
