package diagnose

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/akash-net/kubectl-akash-net/lease/config"
	"github.com/akash-net/kubectl-akash-net/state"
	"github.com/akash-net/kubectl-akash-net/state/view"
)

// grantProblems finds Services of a claimed address that ask for another one or were granted another one, and that ask for it where no pool
// has it. MetalLB grants what a Service asks for. A different grant was left by another program, or by MetalLB when the Service asked
// for something else.
func grantProblems(w *World, base state.Problem, c *state.Claim) (out []state.Problem) {
	differs := func(a netip.Addr) bool { return a != c.Addr() && a.BitLen() == c.Addr().BitLen() }
	used := false
	for _, s := range w.services[c.SharingKey] {
		part := c.Part(state.PortKey(s.Protocol, s.Port))
		if part == nil || !s.Of(part.Lease.Group()) {
			continue
		}
		used = true
		o := w.named[[2]string{s.Namespace, s.Name}]
		asks, granted := slices.IndexFunc(s.Asked, differs), slices.IndexFunc(s.Granted, differs)
		x := base
		x.Namespace, x.Lease = s.Namespace, s.Lease.String()
		switch asked := slices.Contains(s.Asked, c.Addr()); {
		case o == nil:
		case !asked && asks >= 0:
			out = append(out, asksAnother(w, x, c, s, o, s.Asked[asks])...)
		case asked && granted >= 0:
			out = append(out, fill(x, state.GrantDiffers, fmt.Sprintf("%s asks for it and was granted %s", o, s.Granted[granted]),
				fmt.Sprintf("take the grant out of the status of %s, so that MetalLB grants anew", o), &state.Fix{Do: state.DropGrant, Objects: one(o)}))
		}
	}
	name, pooled := w.Config.PoolFor(c.Addr())
	if !used || w.pools.Of(c.Addr()) != nil {
		return out
	}
	x := fill(base, state.AddressWithoutPool, "no pool of MetalLB has it, so that it cannot be granted",
		"make pool "+name, &state.Fix{Do: state.MakePool, Address: c.Addr()})
	if !pooled {
		x = x.ByName()
		x.Plan, x.Fix.Alone = "add it to ip.ranges, or make a pool of it alone, "+config.AddressPoolName(c.Addr()), true
	}
	return append(out, x)
}

// asksAnother finds a Service that asks for an address on which its port is not claimed.
func asksAnother(w *World, base state.Problem, c *state.Claim, s *state.ServiceObject, o *state.OwnObject, asked netip.Addr) []state.Problem {
	rightful := w.elsewhere(s.Lease.Group(), state.Use{Address: asked, SharingKey: s.SharingKey}, state.PortKey(s.Protocol, s.Port))
	if !slices.Contains(rightful, c) {
		return nil
	}
	x := fill(base, state.GrantDiffers, fmt.Sprintf("%s asks for %s, the port is claimed on %s", o, asked, c.Thing),
		fmt.Sprintf("let %s ask for %s", o, c.Thing), &state.Fix{Do: state.AskAddress, Objects: one(o), Address: c.Addr()})
	if !o.Ours || len(rightful) > 1 {
		x = x.ByName()
	}
	return []state.Problem{x}
}

// squatters finds Services that use a claimed address and do not belong to its holder. It skips Services that this
// program wrote, which are compared with claims.
func squatters(w *World, base state.Problem, c *state.Claim) (out []state.Problem) {
	if len(c.Parts) == 0 {
		return nil
	}
	base.Namespace, base.Lease = c.Parts[0].Lease.Namespace(), c.Parts[0].Lease.String()
	for _, u := range c.Squatters(w.AddressUses[c.Addr()]) {
		if !w.written[string(u.UID)] || u.External {
			out = append(out, byHand(base, state.AddressSquatted, fmt.Sprintf("%s, and %s holds it", u.Takes("it"), state.Holders(c)),
				fmt.Sprintf("take the address out of %s, or delete it: it is not the holder's, and repair leaves it", u), u.Edit()))
		}
	}
	return out
}

// nodeAddresses finds addresses of nodes in the configured ranges. No lease gets one from now on, but MetalLB's pool has it.
func nodeAddresses(w *World) (out []state.Problem) {
	for _, u := range state.InRanges(w.Config, w.Contents.NodeUses) {
		message, plan := "ip.ranges has the address of "+u.String()+": "+state.NodeAddressMeans, state.ExcludeAddress(u.Address)
		if c := w.claims[state.AddressName(u.Address)]; c != nil && c.Held() {
			message += "; " + c.Owner + " holds it"
			plan = "release it when its lease can do without, and " + plan
		}
		out = append(out, byHand(state.Problem{Thing: u.Address.String()}, state.NodeAddress, message, plan, "kubectl akash-net config edit"))
	}
	return out
}

// findExhausted finds pools without a free address, except pools for a single address. Addresses that other repairs
// give up count as the way to fix it.
func (p *problems) findExhausted() {
	for _, row := range p.w.Book.Pools {
		ours := func(o state.PoolObject) bool { return o.Name == row.Name && o.Ours }
		if row.Free > 0 || row.Addresses == 0 || row.Mode == config.ModePool && slices.ContainsFunc(p.w.Contents.Pools, ours) {
			continue
		}
		var freed []string
		var leave []*state.Fix
		for _, c := range p.w.Contents.Claims {
			if c.Kind == state.Address && row.Contains(c.Addr()) {
				if fixes := p.givenUp(c); len(fixes) > 0 {
					freed, leave = append(freed, c.Thing), append(leave, fixes...)
				}
			}
		}
		base := state.Problem{Thing: row.Name}
		if len(freed) == 0 {
			base.Sound = true
			p.add(byHand(base, state.PoolExhausted, "no address is free",
				"all of it is live: release leases that are over, or add a range to ip.ranges", "kubectl akash-net config edit"))
			continue
		}
		slices.Sort(freed)
		p.add(fill(base, state.PoolExhausted, "no address is free", "give up what is not live: "+strings.Join(freed, ", "), &state.Fix{Do: state.GiveUp, Each: leave}))
	}
}

// givenUp returns the repairs of other problems that give up all parts of the claim, or nil if some part would stay.
func (p *problems) givenUp(c *state.Claim) (fixes []*state.Fix) {
	kept := slices.Clone(c.Parts)
	for _, i := range p.about[c.Thing] {
		if x := p.found[i]; x.Fix.Is(state.GiveUp) && !x.Manual && x.Fix.Parts.Claim == c {
			fixes = append(fixes, x.Fix)
			kept = slices.DeleteFunc(kept, x.Fix.Parts.Has)
		}
	}
	if len(kept) > 0 {
		return nil
	}
	return fixes
}

// poolProblems finds pools that share addresses, of which those of this program give way to others, and pools of this program that do not
// match the configuration.
func poolProblems(w *World) (out []state.Problem) {
	pools := slices.SortedFunc(slices.Values(w.Contents.Pools), func(a, b state.PoolObject) int { return cmp.Compare(a.Name, b.Name) })
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
			out = append(out, overlap(w, a, pools[j], a.Shares(pools[j])))
		}
	}
	if w.Config.IP.Mode == config.ModePool {
		return out
	}
	used := view.UsedAddresses(w.Contents.Claims, w.Contents.Services)
	for _, o := range w.Contents.Pools {
		base := state.Problem{Thing: o.Name}
		if lacks := missingRanges(w, o); len(lacks) > 0 {
			out = append(out, fill(base, state.PoolDiffers, "it lacks "+metalLB(lacks)+" of ip.ranges, which no pool has",
				"add "+metalLB(lacks)+" to it", &state.Fix{Do: state.MakePool, Address: lacks[0].First}))
		}
		if extra := extraRanges(w, o, used); len(extra) > 0 {
			out = append(out, fill(base, state.PoolDiffers, "it has "+metalLB(extra)+", which ip.ranges does not have and nobody uses",
				"take "+metalLB(extra)+" out of it", &state.Fix{Do: state.NarrowPool, Objects: []state.ObjectRef{o.Ref}, Ranges: extra, Unused: true}))
		}
	}
	return out
}

func overlap(w *World, a, b state.PoolObject, shared []config.Range) state.Problem {
	gives, keeps := a, b
	if weight(w, a) < weight(w, b) {
		gives, keeps = b, a
	}
	both, base := metalLB(shared), state.Problem{Thing: gives.Name}
	message := fmt.Sprintf("pools %s and %s both have %s: MetalLB rejects its configuration", a.Name, b.Name, both)
	if weight(w, gives) == 0 {
		return byHand(base, state.PoolOverlap, message, "it is not repair's: neither pool was made by this program. Take the addresses out of one of the two",
			fmt.Sprintf("kubectl -n %s edit ipaddresspools %s", gives.Ref.Namespace, gives.Name))
	}
	plan, exclude := fmt.Sprintf("take %s out of pool %s", both, gives.Name), weight(w, gives) == 1 && weight(w, keeps) == 0
	if len(gives.Without(shared)) == 0 {
		plan = "delete pool " + gives.Name
	}
	if plan += ": pool " + keeps.Name + " serves it"; exclude {
		plan += `; add "!` + strings.ReplaceAll(both, ", ", `", "!`) + `" to ip.ranges`
	}
	return fill(base, state.PoolOverlap, message, plan,
		&state.Fix{Do: state.NarrowPool, Objects: []state.ObjectRef{gives.Ref}, Ranges: shared, Exclude: exclude})
}

// rangeOf returns the index of the configured range whose pool has the name of a pool, or -1.
func rangeOf(w *World, o state.PoolObject) int {
	return slices.IndexFunc(w.Config.IP.Ranges.Include, func(r config.Range) bool { return r.PoolName() == o.Name })
}

// weight returns which of two overlapping pools gives way, the heavier one: 0 for a pool of somebody else, 1 for a
// configured pool of this program, 2 for a pool of this program that is no longer configured.
func weight(w *World, o state.PoolObject) int {
	switch {
	case !o.Ours:
		return 0
	case w.Config.IP.Mode == config.ModeRange && rangeOf(w, o) >= 0:
		return 1
	case w.Config.IP.Mode == config.ModeDedicated && len(o.Ranges) == 1:
		if name, pooled := w.Config.PoolFor(o.Ranges[0].First); pooled && name == o.Name {
			return 1
		}
	}
	return 2
}

// missingRanges returns the configured addresses that a pool of this program should have and no pool has.
func missingRanges(w *World, o state.PoolObject) []config.Range {
	i := rangeOf(w, o)
	if !o.Ours || i < 0 || w.Config.IP.Mode != config.ModeRange {
		return nil
	}
	var had []config.Range
	for _, other := range w.Contents.Pools {
		had = append(had, other.Ranges...)
	}
	return state.PoolObject{Ranges: w.Config.IP.Ranges.Pieces(w.Config.IP.Ranges.Include[i])}.Without(had)
}

// extraRanges returns the addresses of a pool of this program that are neither configured nor in use. A pool that shares no address with the
// configuration is in nobody's way.
func extraRanges(w *World, o state.PoolObject, used []netip.Addr) []config.Range {
	configured := state.PoolObject{Ranges: w.Config.IP.Ranges.Include}.Without(w.Config.IP.Ranges.Exclude)
	if !o.Ours || len(o.Shares(state.PoolObject{Ranges: configured})) == 0 {
		return nil
	}
	for _, r := range o.Ranges {
		i, _ := slices.BinarySearchFunc(used, r.First, netip.Addr.Compare)
		for ; i < len(used) && r.Contains(used[i]); i++ {
			configured = append(configured, config.Range{First: used[i], Last: used[i]})
		}
		w.pools.Overlapping(r, func(other *state.PoolObject, theirs config.Range) bool {
			if !other.Ours {
				configured = append(configured, theirs) // an overlap is another problem
			}
			return true
		})
	}
	return o.Without(configured)
}

// metalLB formats ranges for MetalLB.
func metalLB(ranges []config.Range) string {
	var texts []string
	for _, r := range ranges {
		texts = append(texts, r.MetalLB())
	}
	return strings.Join(texts, ", ")
}
