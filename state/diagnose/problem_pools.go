package diagnose

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/state"
)

// checkPool finds a claimed address that a Service asks for and no pool has.
func (p *problems) checkPool(base state.Problem, c *state.Claim) {
	name, pooled := p.Config.PoolFor(c.Addr())
	if p.Config.IP.Mode == config.ModePool {
		return
	}
	p.checkGrants(base, c)
	served := p.pools.Of(c.Addr()) != nil
	used := slices.ContainsFunc(p.services[c.SharingKey], func(s state.ServiceObject) bool { return ofClaim(c, s) })
	if served || !used {
		return
	}
	base = fill(base, state.AddressWithoutPool, "no pool of MetalLB has it, so that it cannot be granted",
		"make pool "+name, state.MakePool{Address: c.Addr()})
	if !pooled {
		base.Plan = "add it to ip.ranges, or make a pool of it alone, " + config.AddressPoolName(c.Addr())
		base.Mend = state.MakePool{Address: c.Addr(), Alone: true}
		base = base.ByName()
	}
	p.add(base)
}

// findOverlaps finds pools that share addresses. Pools of this program give way to others.
func (p *problems) findOverlaps() {
	byName := func(a, b state.PoolObject) int { return cmp.Compare(a.Name, b.Name) }
	pools := slices.SortedFunc(slices.Values(p.Contents.Pools), byName)
	at := make(map[*state.PoolObject]int, len(pools))
	for i := range pools {
		at[&pools[i]] = i
	}
	x := state.NewPoolIndex(pools)
	for i, a := range pools {
		var later []int
		for _, r := range a.Ranges {
			for _, o := range x.Sharing(r) {
				if j := at[o]; j > i {
					later = append(later, j)
				}
			}
		}
		slices.Sort(later)
		for _, j := range slices.Compact(later) {
			p.overlap(a, pools[j], a.Shares(pools[j]))
		}
	}
}

func (p *problems) overlap(a, b state.PoolObject, shared []config.Range) {
	gives, keeps := a, b
	if p.weight(a) < p.weight(b) {
		gives, keeps = b, a
	}
	var texts, excluded []string
	for _, r := range shared {
		texts, excluded = append(texts, r.MetalLB()), append(excluded, `"!`+r.MetalLB()+`"`)
	}
	both := strings.Join(texts, ", ")
	x := state.Problem{Problem: state.PoolOverlap, Thing: gives.Name}
	x.Message = fmt.Sprintf("pools %s and %s both have %s: MetalLB rejects its configuration", a.Name, b.Name, both)
	if p.weight(gives) == 0 {
		x.Plan, x.Manual = "it is not repair's: neither pool was made by this program. Take the addresses out of one of the two", true
		x.Command = fmt.Sprintf("kubectl -n %s edit ipaddresspools %s", gives.Ref.Namespace, gives.Name)
		p.add(x)
		return
	}
	exclude := p.weight(gives) == 1 && p.weight(keeps) == 0
	x.Mend = state.NarrowPool{Pool: gives.Ref, Ranges: shared, Exclude: exclude}
	x.Plan = fmt.Sprintf("take %s out of pool %s", both, gives.Name)
	if len(gives.Without(shared)) == 0 {
		x.Plan = "delete pool " + gives.Name
	}
	if x.Plan += ": pool " + keeps.Name + " serves it"; exclude {
		x.Plan += "; add " + strings.Join(excluded, ", ") + " to ip.ranges"
	}
	p.add(x)
}

// rangeOf returns the index of the configured range whose pool has the name of a pool, or -1.
func (p *problems) rangeOf(o state.PoolObject) int {
	return slices.IndexFunc(p.Config.IP.Ranges.Include, func(r config.Range) bool { return r.PoolName() == o.Name })
}

// weight returns which of two overlapping pools gives way, the heavier one: 0 for a pool of somebody else, 1 for a
// configured pool of this program, 2 for a pool of this program that is no longer configured.
func (p *problems) weight(o state.PoolObject) int {
	switch {
	case !o.Ours:
		return 0
	case p.Config.IP.Mode == config.ModeRange && p.rangeOf(o) >= 0:
		return 1
	case p.Config.IP.Mode == config.ModeDedicated && len(o.Ranges) == 1:
		if name, pooled := p.Config.PoolFor(o.Ranges[0].First); pooled && name == o.Name {
			return 1
		}
	}
	return 2
}

// findNodeAddresses finds addresses of nodes in the configured ranges. No lease gets one from now on, but MetalLB's pool has it.
func (p *problems) findNodeAddresses() {
	for _, u := range state.InRanges(p.Config, p.NodeUses) {
		a := u.Address.String()
		x := state.Problem{Problem: state.NodeAddress, Thing: a, Manual: true}
		x.Message = "ip.ranges has the address of " + u.String() + ": " + state.NodeAddressMeans
		x.Plan = state.ExcludeAddress(u.Address)
		if c := p.claims[state.AddressName(u.Address)]; c != nil && c.Held() {
			x.Message += "; " + c.Owner + " holds it"
			x.Plan = fmt.Sprintf("release it when its lease can do without, and %s", x.Plan)
		}
		x.Command = "kubectl akash-net config edit"
		p.add(x)
	}
}

// findExhausted finds pools without a free address, except pools for a single address. Addresses that other repairs
// give up count as the way to fix it.
func (p *problems) findExhausted() {
	for _, row := range p.Book.Pools {
		ours := func(o state.PoolObject) bool { return o.Name == row.Name && o.Ours }
		if row.Free > 0 || row.Addresses == 0 || row.Mode == config.ModePool && slices.ContainsFunc(p.Contents.Pools, ours) {
			continue
		}
		x := state.Problem{Problem: state.PoolExhausted, Thing: row.Name, Message: "no address is left"}
		var freed []string
		var leave []state.LeaveParts
		for _, c := range p.Claims {
			if c.Kind == state.Address && row.Contains(c.Addr()) {
				if mends := p.givenUp(c); len(mends) > 0 {
					freed, leave = append(freed, c.Thing), append(leave, mends...)
				}
			}
		}
		slices.Sort(freed)
		x.Plan, x.Mend = "give up what is not live: "+strings.Join(freed, ", "), state.FreeAddresses{Leave: leave}
		if len(freed) == 0 {
			x.Plan, x.Mend = "all of it is live: release leases that are over, or add a range to ip.ranges", nil
			x.Manual, x.Sound = true, true
			x.Command = "kubectl akash-net config edit"
		}
		p.add(x)
	}
}

// givenUp returns the repairs of other problems that give up all parts of the claim, or nil if some part would stay.
func (p *problems) givenUp(c *state.Claim) (mends []state.LeaveParts) {
	kept := slices.Clone(c.Parts)
	for _, x := range p.found {
		if leave, ok := x.Mend.(state.LeaveParts); ok && !x.Manual && leave.Parts.Claim == c {
			mends = append(mends, leave)
			kept = slices.DeleteFunc(kept, leave.Parts.Has)
		}
	}
	if len(kept) > 0 {
		return nil
	}
	return mends
}
