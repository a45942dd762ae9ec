package diagnose

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// findDifferingPools finds pools of this program that do not match the configuration. It ignores a pool that shares no
// address with it, because that pool is in nobody's way.
func (p *problems) findDifferingPools() {
	if p.Config.IP.Mode == config.ModePool {
		return
	}
	used := view.UsedAddresses(p.Claims, p.Contents.Services)
	for _, o := range p.Contents.Pools {
		if o.Ours {
			p.checkMissingRanges(o)
			p.checkExtraRanges(o, used)
		}
	}
}

// checkMissingRanges finds configured addresses that the pool should have and no pool has.
func (p *problems) checkMissingRanges(o state.PoolObject) {
	i := p.rangeOf(o)
	if i < 0 || p.Config.IP.Mode != config.ModeRange {
		return
	}
	var had []config.Range
	for _, other := range p.Contents.Pools {
		had = append(had, other.Ranges...)
	}
	lacks := state.PoolObject{Ranges: p.Config.IP.Ranges.Pieces(p.Config.IP.Ranges.Include[i])}.Without(had)
	if len(lacks) == 0 {
		return
	}
	p.add(fill(state.Problem{Thing: o.Name}, state.PoolDiffers,
		"it lacks "+metalLB(lacks)+" of ip.ranges, which no pool has",
		"add "+metalLB(lacks)+" to it", state.MakePool{Address: lacks[0].First}))
}

// checkExtraRanges finds addresses of the pool that are neither configured nor in use.
func (p *problems) checkExtraRanges(o state.PoolObject, used []netip.Addr) {
	configured := state.PoolObject{Ranges: p.Config.IP.Ranges.Include}.Without(p.Config.IP.Ranges.Exclude)
	if len(o.Shares(state.PoolObject{Ranges: configured})) == 0 {
		return
	}
	for _, r := range o.Ranges {
		i, _ := slices.BinarySearchFunc(used, r.First, netip.Addr.Compare)
		for ; i < len(used) && r.Contains(used[i]); i++ {
			configured = append(configured, config.Range{First: used[i], Last: used[i]})
		}
		p.pools.Overlapping(r, func(other *state.PoolObject, theirs config.Range) bool {
			if !other.Ours {
				configured = append(configured, theirs) // an overlap is another problem
			}
			return true
		})
	}
	extra := o.Without(configured)
	if len(extra) == 0 {
		return
	}
	p.add(fill(state.Problem{Thing: o.Name}, state.PoolDiffers,
		"it has "+metalLB(extra)+", which ip.ranges does not have and nobody uses",
		"take "+metalLB(extra)+" out of it", state.NarrowPool{Pool: o.Ref, Ranges: extra, Unused: true}))
}

// metalLB formats ranges for MetalLB.
func metalLB(ranges []config.Range) string {
	var texts []string
	for _, r := range ranges {
		texts = append(texts, r.MetalLB())
	}
	return strings.Join(texts, ", ")
}
